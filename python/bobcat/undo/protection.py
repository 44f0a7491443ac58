"""Protected tools: snapshot, effect and record of each call, and the reconciler that reads them."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from bobcat.errors import ToolError, UndoError
from bobcat.model.run import Happened, NotHappened, Reconcile, Reconciled, ToolDef, Unknown
from bobcat.model.snapshot import Changed, Snapshot, Snapshotter, matches
from bobcat.tools.action import current_action, uses_action
from bobcat.tools.signature import supplied_parameters
from bobcat.undo.entry import Row
from bobcat.undo.ledger import Ledger, log
from bobcat.undo.recovery import Recovery

SCOPE = "undo"
"""Scope of a protected tool, which the policy's `undo: required` asks for."""


class Keeper:
    """The `Prepare` of one call: keeps its snapshot, and then permits the effect."""

    def __init__(self, ledger: Ledger, tool: str, kind: str) -> None:
        self._ledger, self._tool, self._kind = ledger, tool, kind
        self.row: Row | None = None
        self.snapshot: Snapshot | None = None

    @property
    def max_bytes(self) -> int:
        """Maximum size of a snapshot's content."""
        return self._ledger.max_bytes

    async def __call__(self, snapshot: Snapshot, /) -> None:
        """Keep the snapshot, and record its id as a fact of the running action."""
        action = current_action()
        key = "" if action is None else action.key
        self.row = await self._ledger.prepare(self._tool, self._kind, snapshot, origin=self._tool, key=key)
        self.snapshot = snapshot
        if action is not None:
            action.record(undo=self.row.id)


def protected(tool: ToolDef, snapshotter: Snapshotter, ledger: Ledger, recovery: Recovery) -> ToolDef:
    """Return the tool whose calls can be undone."""
    supplied = supplied_parameters(tool)

    @uses_action
    @functools.wraps(tool.fn, updated=())
    async def call(**arguments: Any) -> Any:  # Any: arguments and results of tools have any type
        args = {name: value for name, value in arguments.items() if name not in supplied}
        keeper = Keeper(ledger, tool.name, snapshotter.kind)
        try:
            changed = await snapshotter.protect(args, lambda: tool.fn(**arguments), keeper)
            await _record(ledger, keeper, changed)
        except asyncio.CancelledError:
            await _leave_uncertain(ledger, keeper)
            raise
        except Exception:
            await _settle_failure(ledger, snapshotter, keeper)
            raise
        finally:
            if keeper.row is not None:
                ledger.active.discard(keeper.row.id)
        return changed.value

    scope = tool.metadata.scope if SCOPE in tool.metadata.scope else (*tool.metadata.scope, SCOPE)
    return dataclasses.replace(
        tool,
        fn=call,
        metadata=dataclasses.replace(tool.metadata, scope=scope),
        reconcile_fn=reconciler(ledger, recovery, tool.reconcile_fn),
    )


def reconciler(ledger: Ledger, recovery: Recovery, own: Reconcile | None) -> Reconcile:
    """Return the reconciler of a protected tool: the tool's `own` one answers what the entry leaves unknown.

    An action without an entry stays unknown: the undo store may have been restored together with the run's, and an
    entry may have expired.
    """

    async def reconcile(key: str, args: Mapping[str, Any]) -> Reconciled:  # Any: arguments of any call
        answer = await by_entry(key)
        return answer if own is None or not isinstance(answer, Unknown) else await own(key, args)

    async def by_entry(key: str) -> Happened | NotHappened | Unknown:
        rows = await ledger.in_thread(lambda: ledger.store.of_key(key)) if key else []
        if not rows:
            return Unknown("no undo entry of the action")
        row = rows[0]
        if row.state in ("prepared", "uncertain") and not row.undoes:
            if not recovery.is_abandoned(row):
                return Unknown("the process that began the action is still running")
            state = await recovery.settle(row)
            if state is None:
                return NotHappened()
            row = await ledger.known(row.id)
        if row.state == "uncertain":
            return Unknown(f"the state of `{row.target}` is neither that before the action nor that after it")
        return Happened(ledger.value(row))

    return reconcile


async def _record(ledger: Ledger, keeper: Keeper, changed: Changed) -> None:
    """Record the effect. One that cannot be recorded has happened nevertheless: recovery finds it by its state."""
    if keeper.row is None:
        raise UndoError("no_snapshot", "the tool was run without a snapshot")
    try:
        await ledger.done(keeper.row, changed)
    except UndoError as error:
        log.warning("undo entry %s stays prepared: %s", keeper.row.id, error)


async def _leave_uncertain(ledger: Ledger, keeper: Keeper) -> None:
    """Mark the entry of a call that was cancelled: its effect may still go on in a thread."""
    row = keeper.row
    if row is not None:
        try:
            await ledger.in_thread(lambda: ledger.store.change(row.id, "uncertain", of=("prepared",)))
        except UndoError as error:
            log.warning("undo entry %s stays prepared: %s", row.id, error)


async def _settle_failure(ledger: Ledger, snapshotter: Snapshotter, keeper: Keeper) -> None:
    """Remove the entry of a failed call without an effect, and keep any other."""
    row, snapshot = keeper.row, keeper.snapshot
    if row is None or snapshot is None:
        return
    try:
        now = await snapshotter.fingerprint(snapshot)
        if snapshotter.proves_absence and matches(now, snapshot.before):
            await ledger.in_thread(lambda: ledger.store.remove(row.id, of=("prepared",)))
        elif matches(now, snapshot.after):
            await ledger.done(row, Changed(None, now))
        else:
            await ledger.in_thread(lambda: ledger.store.change(row.id, "uncertain", of=("prepared",)))
    except (ToolError, OSError) as error:
        log.warning("undo entry %s stays prepared: %s", row.id, error)
