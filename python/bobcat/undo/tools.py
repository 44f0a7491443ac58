"""The tools `undo.apply` and `undo.list`: undo as an action that policy decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bobcat.model.run import Happened, NotHappened, Reconciled, Unknown
from bobcat.tools.action import uses_action
from bobcat.tools.decorator import tool
from bobcat.tools.toolset import ToolSet
from bobcat.undo.entry import EntryState, UndoEntry
from bobcat.undo.rollback import APPLY

LIST = "undo.list"
LISTED = 100
"""Most entries that `undo.list` returns."""


class Entries(Protocol):
    """What the tools call of an `Undo`."""

    async def apply(self, id: str, *, tool: str, target: str, to: str, force: bool) -> UndoEntry:
        """Undo one change."""

    async def entries(
        self, *, tool: str | None, target: str | None, states: Sequence[EntryState], limit: int
    ) -> list[UndoEntry]:
        """Return entries."""

    async def settled(self, key: str, undone: str) -> UndoEntry | None:
        """Return the undo of the action with this key, or the entry that it was to undo."""


def undo_tools(undo: Entries) -> ToolSet:
    """Return the tools over an `Undo`."""

    @tool(name=APPLY, effect="unsafe", scope=("undo",))
    @uses_action
    async def apply(id: str, tool: str, target: str, to: str = "", force: bool = False) -> dict[str, Any]:
        """Undo the change with this id, as `undo.list` shows it. `tool`, `target` and `to` must be those of the change.

        A resource that changed since is a conflict: with `force` its present state is overwritten, and can be restored.
        """
        made = await undo.apply(id, tool=tool, target=target, to=to, force=force)
        return {"id": made.id, "undoes": id, "target": made.target}

    @apply.reconcile
    async def applied(key: str, args: Mapping[str, Any]) -> Reconciled:
        """Report whether the entry was undone by the action with this key."""
        entry = await undo.settled(key, args["id"])
        if entry is None:
            return Unknown("no undo entry of the action")
        if entry.state == "done" and entry.undoes == args["id"]:
            return Happened({"id": entry.id, "undoes": entry.undoes, "target": entry.target})
        return NotHappened() if entry.state == "done" else Unknown("the undo was interrupted in between")

    @tool(name=LIST, effect="none")
    async def list_entries(tool: str = "", target: str = "") -> list[dict[str, Any]]:
        """List the changes that can be undone, the newest first: all, those of one tool, or those to one target."""
        found = await undo.entries(tool=tool or None, target=target or None, states=("done", "uncertain"), limit=LISTED)
        return [entry.to_json() for entry in found]

    return ToolSet.from_functions(apply, list_entries)
