"""Undo by a tool's own functions: one that reads the state, and one that writes it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from bobcat.errors import UndoError
from bobcat.model.frozen import thaw
from bobcat.model.snapshot import Args, Changed, Prepare, RunEffect, Snapshot
from bobcat.text.json_text import is_exact, json_digest, json_text

ReadState: TypeAlias = Callable[[Args], Awaitable[Any]]  # Any: JSON
WriteState: TypeAlias = Callable[[Any, Args], Awaitable[Any]]  # Any: JSON, and any result

_TARGET_CHARS = 200


@dataclass(frozen=True, slots=True)
class FunctionSnapshotter:
    """A `Snapshotter` of two functions.

    `read(args)` returns the state that the tool with these arguments changes, as JSON. `write(state, args)` makes it
    so. The fingerprint is the digest of what `read` returns. `target` names the argument that names the resource;
    without it, the target is the text of all arguments.
    """

    read: ReadState | None = None
    write: WriteState | None = None
    target: str | None = None
    kind: str = "function"
    proves_absence: bool = False
    """A function's state need not show the effect: a tool may send a message, too."""

    async def protect(self, args: Args, effect: RunEffect, prepare: Prepare) -> Changed:
        """Read the state, keep it, run the tool, and read the state again."""
        await prepare(await self._take(dict(args)))
        value = await effect()
        return Changed(value, (json_digest(await self._state(args)),))

    async def fingerprint(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Return the digest of the present state."""
        return (json_digest(await self._state(snapshot.data["args"])),)

    async def present(self, snapshot: Snapshot, max_bytes: int) -> Snapshot:
        """Read the present state with the same arguments."""
        return await self._take(snapshot.data["args"])

    async def restore(self, snapshot: Snapshot, expected: tuple[str, ...] | None, prepare: Prepare) -> Changed:
        """Call the tool's undo function with the state of the snapshot."""
        args = snapshot.data["args"]
        now = replace(await self._take(args), after=snapshot.before)
        if expected is not None and now.before != expected:
            raise UndoError("conflict", f"the state of `{snapshot.target}` changed since")
        await prepare(now)
        if self.write is None:
            raise UndoError("no_snapshotter", "the tool has no undo function; declare one with `@TOOL.undo`")
        value = await self.write(thaw(snapshot.data["state"]), thaw(args))
        return Changed(value, (json_digest(await self._state(args)),))

    def texts(self, snapshot: Snapshot) -> Mapping[str, str | None]:
        """Return the state as JSON."""
        return {snapshot.target: json_text(snapshot.data["state"])}

    async def clean(self, snapshot: Snapshot) -> None:
        """Do nothing: functions leave nothing behind."""

    def complete(self) -> bool:
        """Return true if the tool has both functions."""
        return self.read is not None and self.write is not None

    async def _take(self, args: Args) -> Snapshot:
        state = await self._state(args)
        text = json_text(state)
        return Snapshot(
            self._target(args), {"args": dict(args), "state": state}, (json_digest(state),), size=len(text.encode())
        )

    async def _state(self, args: Args) -> Any:  # Any: JSON
        if self.read is None:
            raise UndoError("no_snapshotter", "the tool has no function for its state; declare it by `@TOOL.snapshot`")
        state = await self.read(thaw(args))
        if not is_exact(state):
            raise UndoError("bad_snapshot", "the state that the tool's snapshot function returns must be JSON")
        return state

    def _target(self, args: Args) -> str:
        if self.target is not None:
            found = args.get(self.target)
            return found if isinstance(found, str) else json_text(found)
        text = json_text(args)
        return text if len(text) <= _TARGET_CHARS else json_digest(args)
