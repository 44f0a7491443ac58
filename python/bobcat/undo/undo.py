"""`Undo`: snapshots of what tools change, and the way back.

undo = Undo("undo.db")
tools = undo.protect(files("workspace")).union(undo.tools())
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bobcat.aio.closing import Closing
from bobcat.errors import UndoError
from bobcat.model.run import ToolDef
from bobcat.model.snapshot import Snapshot, Snapshotter
from bobcat.tools.function_snapshots import FunctionSnapshotter
from bobcat.tools.toolset import ToolSet
from bobcat.undo.entry import STATES, EntryState, Row, UndoEntry, entry_of
from bobcat.undo.ledger import Ledger
from bobcat.undo.protection import protected
from bobcat.undo.recovery import STALE_SECONDS, Recovered, Recovery
from bobcat.undo.rollback import roll_back
from bobcat.undo.store import UndoStore

if TYPE_CHECKING:
    import os

    from bobcat.stores import PostgresStore, SQLiteStore

KEEP_SECONDS = 7 * 24 * 3600.0
MAX_BYTES = 16 * 1024 * 1024
LIMIT = 1000


class Undo(Closing):
    """Keeps a snapshot before each effect of the tools that it protects, and restores it; `docs/how-to/undo.md`.

    `store` is a path of a SQLite file, a URL (`sqlite:///PATH`, `postgres://...`), a SQLiteStore, beside whose file
    the entries are kept, or a PostgresStore. An entry is kept for `keep_seconds`, and removed then. With `key`, 32
    bytes or their hexadecimal digits, snapshots are encrypted; names of tools and targets are not. A snapshot has at
    most `max_bytes` of content.

    Raises `UndoError` for a store that cannot be opened, `TypeError` and `ValueError` for invalid arguments.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | SQLiteStore | PostgresStore,
        keep_seconds: float = KEEP_SECONDS,
        *,
        key: bytes | str | None = None,
        max_bytes: int = MAX_BYTES,
        must_exist: bool = False,
    ) -> None:
        if not keep_seconds > 0:
            raise ValueError(f"keep_seconds must be greater than 0, got {keep_seconds!r}")
        if max_bytes < 0:
            raise ValueError(f"max_bytes must be at least 0, got {max_bytes!r}")
        self._ledger = Ledger(UndoStore(store, must_exist=must_exist), keep_seconds, max_bytes, key)
        self._snapshotters: dict[str, Snapshotter] = {}
        self._recovery = Recovery(self._ledger, self._find)

    def protect(self, tools: ToolSet) -> ToolSet:
        """Return the tools, with a snapshot before each call of those that can be undone.

        These get the scope `undo`; the others stay as they are. A call whose snapshot cannot be kept fails before its
        effect. Raises `ValueError` for tools of which none can be undone, half of a function pair, and a transactional
        tool.
        """
        if not isinstance(tools, ToolSet):
            raise TypeError(f"protect takes a ToolSet, got {type(tools).__name__}")
        found = {name: self._protect(tool) for name, tool in tools.tools.items()}
        if all(found[name] is tool for name, tool in tools.tools.items()):
            raise ValueError("none of the tools can be undone; give one `@TOOL.snapshot()` and `@TOOL.undo`")
        return ToolSet(found)

    def restore_with(self, tools: ToolSet) -> None:
        """Let entries of these tools be restored, without protecting calls of them: for programs that only undo."""
        for name, tool in tools.tools.items():
            if tool.snapshotter is not None:
                self._snapshotters[name] = tool.snapshotter

    def tools(self) -> ToolSet:
        """Return the tools `undo.apply` and `undo.list`, for agents. A policy decides their calls as any others."""
        from bobcat.undo.tools import undo_tools

        return undo_tools(self)

    async def entries(
        self,
        *,
        tool: str | None = None,
        target: str | None = None,
        states: Sequence[EntryState] = STATES,
        limit: int = LIMIT,
    ) -> list[UndoEntry]:
        """Return entries that have not expired, the newest first."""
        store, now = self._ledger.store, time.time()
        rows = await self._ledger.in_thread(
            lambda: store.entries(tool=tool, target=target, states=states, limit=limit, alive=now)
        )
        return [entry_of(row) for row in rows]

    async def get(self, id: str) -> UndoEntry:
        """Return one entry. Raises `UndoError` for an unknown or expired one."""
        return entry_of(await self._ledger.known(id))

    async def texts(self, id: str) -> dict[str, tuple[str | None, str | None]]:
        """Return, for each resource of an entry, the texts of its snapshot and of its present state.

        A text is None for an absent resource, and for one whose content is not text.
        """
        row = await self._ledger.known(id)
        snapshot = self._ledger.sealer.snapshot(row)
        snapshotter = self._find(row, snapshot)
        present = snapshotter.texts(await snapshotter.present(snapshot, self._ledger.max_bytes))
        return {name: (text, present.get(name)) for name, text in snapshotter.texts(snapshot).items()}

    async def apply(
        self, id: str, *, tool: str | None = None, target: str | None = None, to: str | None = None, force: bool = False
    ) -> UndoEntry:
        """Undo one change, and return the entry of the undo, which can be undone in turn.

        `tool`, `target` and `to`, where given, must be those of the entry (`mismatch`). Raises `UndoError` (`conflict`)
        when the resource changed since; with `force`, its present state is overwritten.
        """
        row = await self._ledger.known(id)
        for name, given, known in (("tool", tool, row.tool), ("target", target, row.target), ("to", to, row.other)):
            if given is not None and given != known:
                raise UndoError("mismatch", f"undo entry `{id}` has {name} `{known}`, not `{given}`")
        return entry_of(await roll_back(self._ledger, self._recovery, self._find, row, force=force))

    async def recover(self, *, stale_seconds: float = STALE_SECONDS) -> Sequence[Recovered]:
        """Decide about entries whose process ended in between, by the present state of their resources.

        An undo that was interrupted is completed or taken back. Entries of another machine are taken after
        `stale_seconds`. Programs call it when they start.
        """
        return await self._recovery.all(stale_seconds)

    async def prune(self) -> int:
        """Remove the entries that have expired, and return their number. Every call of a tool does so, too."""
        return await self._ledger.in_thread(lambda: self._ledger.store.prune(time.time()))

    async def aclose(self) -> None:
        """Close the store."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close the store."""
        self._ledger.store.close()

    async def settled(self, key: str, undone: str) -> UndoEntry | None:
        """Return the undo that the action with this key made, or else the entry that it was to undo, out of use."""
        ledger, store = self._ledger, self._ledger.store
        entry = await ledger.in_thread(lambda: store.get(undone))
        if entry is None:
            return None
        if entry.state == "applying":
            if not self._recovery.is_abandoned(entry):
                return entry_of(entry)
            await self._recovery.settle(entry)
        made = [row for row in await ledger.in_thread(lambda: store.of_key(key)) if row.undoes == undone]
        return entry_of(made[0]) if made else entry_of(await ledger.known(undone))

    def _protect(self, tool: ToolDef) -> ToolDef:
        snapshotter = tool.snapshotter
        if snapshotter is None:
            return tool
        if isinstance(snapshotter, FunctionSnapshotter) and not snapshotter.complete():
            raise ValueError(f"{tool.name!r} needs both `.snapshot()` and `.undo` to be undone")
        if tool.metadata.effect == "transactional":
            raise ValueError(f"{tool.name!r} is transactional: its effect commits after its call, so no entry knows it")
        if tool.metadata.effect == "none":
            raise ValueError(f"{tool.name!r} declares that it has no effect to undo")
        self._snapshotters[tool.name] = snapshotter
        return protected(tool, snapshotter, self._ledger, self._recovery)

    def _find(self, row: Row, snapshot: Snapshot) -> Snapshotter:
        """The snapshotter of an entry: that of its tool, or of the tool whose undo it is."""
        found = self._snapshotters.get(row.origin)
        if found is None or found.kind != row.kind:
            raise UndoError("no_snapshotter", f"the tool `{row.origin}` is not among the protected tools")
        return found


def describe(texts: Mapping[str, tuple[str | None, str | None]]) -> str:
    """Return the difference between the present state and the one that an undo restores, as a unified diff."""
    from difflib import unified_diff

    lines: list[str] = []
    for name, (kept, present) in texts.items():
        one, other = ((text or "").splitlines(keepends=True) for text in (present, kept))
        lines += unified_diff(one, other, f"{name} (now)", f"{name} (after the undo)")
    lines = [line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines]
    return "".join(lines)
