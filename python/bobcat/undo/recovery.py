"""Entries whose process ended in between: their state is decided by the fingerprints, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from bobcat.errors import ToolError
from bobcat.model.snapshot import Changed, Snapshot, Snapshotter, matches, part_matches
from bobcat.undo.entry import EntryState, Row
from bobcat.undo.ledger import Ledger
from bobcat.undo.owner import has_ended, this_process

STALE_SECONDS = 3600.0
"""Age from which an entry of another machine, whose processes cannot be seen from here, counts as abandoned."""

FindSnapshotter = Callable[[Row, Snapshot], Snapshotter]


@dataclass(frozen=True, slots=True)
class Recovered:
    """One entry after recovery. `state` is None for an entry without an effect, which was removed."""

    id: str
    tool: str
    target: str
    state: EntryState | None
    problem: str = ""


class _Kept:
    """A `Prepare` for a restoration that is repeated: its snapshot is kept already."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes

    async def __call__(self, snapshot: Snapshot, /) -> None:
        """Do nothing."""


class Recovery:
    """Decides about interrupted entries."""

    def __init__(self, ledger: Ledger, find: FindSnapshotter) -> None:
        self._ledger, self._store, self._find = ledger, ledger.store, find

    async def all(self, stale_seconds: float) -> list[Recovered]:
        """Settle the entries of processes that ended. One that cannot be settled keeps its state, with its problem."""
        found = []
        for row in await self._ledger.in_thread(self._store.unfinished):
            if row.undoes or not self.is_abandoned(row, stale_seconds):
                continue
            try:
                found.append(Recovered(row.id, row.tool, row.target, await self.settle(row)))
            except (ToolError, OSError) as error:
                found.append(Recovered(row.id, row.tool, row.target, row.state, str(error)))
        await self._ledger.in_thread(lambda: self._store.prune(time.time()))
        return found

    def is_abandoned(self, row: Row, stale_seconds: float = STALE_SECONDS) -> bool:
        """Return true if no process works on an entry any more."""
        if row.id in self._ledger.active:
            return False
        ended = has_ended(row.owner)
        if ended is False:
            return row.owner == this_process()
        return True if ended else time.time() - row.updated > stale_seconds

    async def settle(self, row: Row) -> EntryState | None:
        """Decide the state of an abandoned entry. Returns None for one that was removed."""
        return await (self._settle_undo(row) if row.state == "applying" else self._settle_effect(row))

    async def _settle_effect(self, row: Row) -> EntryState | None:
        ledger, store = self._ledger, self._store
        snapshot = ledger.sealer.snapshot(row)
        snapshotter = self._find(row, snapshot)
        await snapshotter.clean(snapshot)
        now = await snapshotter.fingerprint(snapshot)
        if matches(now, snapshot.after):
            await ledger.done(row, Changed(None, now))
            return "done"
        if snapshotter.proves_absence and matches(now, snapshot.before):
            await ledger.in_thread(lambda: store.remove(row.id, of=("prepared", "uncertain")))
            return None
        await ledger.in_thread(lambda: store.change(row.id, "uncertain", of=("prepared",)))
        return "uncertain"

    async def _settle_undo(self, row: Row) -> EntryState:
        """Complete an undo, or take it back: every resource is in the state before it or in the one after."""
        ledger, store = self._ledger, self._store
        undo = await ledger.in_thread(lambda: store.undoing(row.id))
        back: EntryState = "done" if row.outcome else "uncertain"
        if undo is None or undo.state != "prepared":
            state: EntryState = "applied" if undo is not None and undo.state == "done" else back
            await ledger.in_thread(lambda: store.change(row.id, state, of=("applying",)))
            return state
        snapshot, target = ledger.sealer.snapshot(undo), ledger.sealer.snapshot(row)
        snapshotter = self._find(row, target)
        await snapshotter.clean(target)
        now = await snapshotter.fingerprint(snapshot)
        if not matches(now, target.before) and matches(now, snapshot.before):
            await ledger.in_thread(lambda: store.give_up(undo.id, row.id, back))
            return back
        if not matches(now, target.before) and _is_between(now, snapshot.before, target.before):
            now = (await snapshotter.restore(target, None, _Kept(ledger.max_bytes))).after
        if matches(now, target.before):
            outcome = ledger.outcome(undo, Changed(None, now))
            await ledger.in_thread(lambda: store.settle(undo.id, row.id, outcome))
            return "applied"
        await ledger.in_thread(lambda: store.change(undo.id, "uncertain", of=("prepared",)))
        await ledger.in_thread(lambda: store.change(row.id, "uncertain", of=("applying",)))
        return "uncertain"


def _is_between(now: tuple[str, ...], before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Return true if each part is that before or that after."""
    parts = zip(now, before, after, strict=True)
    return all(part_matches(each, one) or part_matches(each, other) for each, one, other in parts)
