"""The undo of one entry: snapshot of the present state, restoration, and the record of both."""

from __future__ import annotations

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import ToolError, UndoError
from bobcat.model.snapshot import Snapshot
from bobcat.tools.action import current_action
from bobcat.undo.entry import EntryState, Row
from bobcat.undo.ledger import Ledger, log
from bobcat.undo.recovery import FindSnapshotter, Recovery

APPLY = "undo.apply"
"""Name of the tool that undoes, and of the entries that it makes."""


class _UndoKeeper:
    """The `Prepare` of an undo: keeps the snapshot of the present state, and claims the entry."""

    def __init__(self, ledger: Ledger, undone: Row, of: tuple[EntryState, ...]) -> None:
        self._ledger, self._undone, self._of = ledger, undone, of
        self.row: Row | None = None

    @property
    def max_bytes(self) -> int:
        """Maximum size of a snapshot's content."""
        return self._ledger.max_bytes

    async def __call__(self, snapshot: Snapshot, /) -> None:
        """Keep the snapshot. Raises `UndoError` when another process undoes the entry."""
        action = current_action()
        key = "" if action is None else action.key
        self.row = await self._ledger.prepare(
            APPLY,
            self._undone.kind,
            snapshot,
            origin=self._undone.origin,
            key=key,
            undoes=self._undone.id,
            of=self._of,
        )
        if action is not None:
            action.record(undo=self.row.id)


async def roll_back(ledger: Ledger, recovery: Recovery, find: FindSnapshotter, row: Row, *, force: bool) -> Row:
    """Undo an entry, and return the entry of the undo.

    Raises `UndoError`: `conflict` when the resource changed since, unless `force` is true; `state` for an entry that
    was undone already or is in use.
    """
    allowed: tuple[EntryState, ...] = ("done", "uncertain") if force else ("done",)
    if row.state not in allowed:
        raise UndoError("conflict" if row.state == "uncertain" else "state", _refusal(row))
    snapshot = ledger.sealer.snapshot(row)
    snapshotter = find(row, snapshot)
    expected = None if force else ledger.after(row)
    if expected is None and not force:
        raise UndoError("damaged", f"undo entry `{row.id}` is damaged: it has no state after the effect")
    keeper = _UndoKeeper(ledger, row, allowed)

    async def restore() -> Row:
        changed = await snapshotter.restore(snapshot, expected, keeper)
        undo = keeper.row
        if undo is None:
            raise UndoError("no_snapshot", f"undo entry `{row.id}` was restored without a snapshot")
        outcome = ledger.outcome(undo, changed)
        await ledger.in_thread(lambda: ledger.store.settle(undo.id, row.id, outcome))
        return undo

    ledger.active.add(row.id)
    try:
        made = await wait_shielded(restore())
    except Exception:
        await _settle_failure(ledger, recovery, keeper, row)
        raise
    finally:
        ledger.active.discard(row.id)
        if keeper.row is not None:
            ledger.active.discard(keeper.row.id)
    return await ledger.known(made.id)


async def _settle_failure(ledger: Ledger, recovery: Recovery, keeper: _UndoKeeper, row: Row) -> None:
    """Complete or take back an undo that failed in between, by the state that it left."""
    if keeper.row is None:
        return
    try:
        await recovery.settle(row._replace(state="applying"))
    except (ToolError, OSError) as error:
        log.warning("undo entry %s stays applying: %s", row.id, error)


def _refusal(row: Row) -> str:
    id = f"undo entry `{row.id}`"
    match row.state:
        case "applied":
            return f"{id} was undone already; undo that undo instead"
        case "uncertain":
            return f"{id} is uncertain: the state after the effect is unknown; `force` restores the one before"
        case "prepared":
            return f"{id} is unfinished: the action runs, or its process ended and `recover` was not called"
        case _:
            return f"{id} is being undone"
