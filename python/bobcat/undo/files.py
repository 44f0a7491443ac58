"""Snapshots of files: bytes, mode, times, symbolic links, directories and absence, all opened beneath a root.

A file is restored whole or not at all: a temporary file in the same directory, synced, and renamed over the name.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from bobcat.errors import ToolError, UndoError
from bobcat.model.snapshot import Args, Changed, Prepare, RunEffect, Snapshot, matches
from bobcat.undo.file_state import (
    ABSENT,
    State,
    fingerprint_part,
    inode_of,
    name_fingerprint,
    read_state,
    remove_temporary,
    set_times,
    sync,
    write_state,
)  # fmt: skip

Content: TypeAlias = Callable[[Args, bytes | None], bytes | None]
"""Content of the file after the effect, from the arguments and the content before it; None where it is unknown."""


class Root(Protocol):
    """Opens names beneath the roots of a provider, and names the same file as the provider's own operations."""

    def parent(self, path: str) -> AbstractContextManager[tuple[int, str]]:
        """Open the directory of a path: its descriptor, and the last name. Raises `OSError`."""

    def canonical(self, path: str) -> str:
        """Return the absolute text of a path, as a policy's `within` reads it."""


@dataclass(frozen=True, slots=True)
class FileSnapshotter:
    """The `Snapshotter` of one operation on files. `names` are the arguments with paths: one, or two for a move.

    `content` computes what the file has after the effect, where arguments tell; `becomes` names another outcome:
    `absent`, `directory` or `moved`. A file that one `appends` to can be found with a part of the new content.
    """

    root: Root
    names: tuple[str, ...] = ("path",)
    content: Content | None = None
    becomes: str = ""
    appends: bool = False
    kind: str = "file"
    proves_absence: bool = True

    async def protect(self, args: Args, effect: RunEffect, prepare: Prepare) -> Changed:
        """Take a snapshot, keep it, run the operation, and read the state after it."""
        snapshot = await asyncio.to_thread(self._take, self._named(args), prepare.max_bytes, args)
        await prepare(snapshot)
        return Changed(await effect(), await self.fingerprint(snapshot))

    async def fingerprint(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Read the present state, without a limit on its size."""
        return await asyncio.to_thread(lambda: tuple(self._fingerprint(path) for path in _paths(snapshot)))

    async def present(self, snapshot: Snapshot, max_bytes: int) -> Snapshot:
        """Take a snapshot of the same names."""
        return await asyncio.to_thread(self._take, _paths(snapshot), max_bytes, None)

    async def restore(self, snapshot: Snapshot, expected: tuple[str, ...] | None, prepare: Prepare) -> Changed:
        """Keep the present state, then restore each name that differs."""
        now = await asyncio.to_thread(self._take, _paths(snapshot), prepare.max_bytes, None)
        if expected is not None and not matches(now.before, expected):
            raise UndoError("conflict", f"`{snapshot.target}` changed since")
        await prepare(dataclasses.replace(now, after=snapshot.before, to=snapshot.to))
        await asyncio.to_thread(self._restore, snapshot)
        return Changed(None, await self.fingerprint(snapshot))

    async def clean(self, snapshot: Snapshot) -> None:
        """Remove temporary files of an interrupted restoration."""
        for path in _paths(snapshot):
            await asyncio.to_thread(self._clean, path)
        if "whole" in snapshot.data:
            await asyncio.to_thread(self._take_back_append, snapshot)
        elif self.becomes == "directory" and len(snapshot.before) > 1:
            await asyncio.to_thread(self._take_back_directories, snapshot)

    def texts(self, snapshot: Snapshot) -> Mapping[str, str | None]:
        """Return the contents that are UTF-8 text."""
        return {path: _text(state) for path, state in zip(_paths(snapshot), _states(snapshot), strict=True)}

    def _take(self, paths: list[str], max_bytes: int, args: Args | None) -> Snapshot:
        names = [self.root.canonical(path) for path in paths]
        states, left = [], max_bytes
        for path, name in zip(paths, names, strict=True):
            states.append(self._read(path, left, name))
            left -= len(states[-1].content)
        data: dict[str, Any] = {"paths": names, "states": [list(state) for state in states]}  # Any: as in Snapshot
        if self.appends and args is not None and self.content is not None:
            data["whole"] = self.content(args, states[0].content)
            left -= len(data["whole"] or b"") - len(states[0].content)
        before = tuple(state.fingerprint() for state in states)
        after = None if args is None else self._expected(args, states)
        to = names[1] if len(self.names) > 1 else ""
        return Snapshot(names[0], data, before, after, to, max_bytes - left)

    def _named(self, args: Args) -> list[str]:
        """The paths that a call changes. A directory is made with those above it that are missing."""
        paths = [str(args[name]) for name in self.names]
        if self.becomes == "directory" and args.get("parents"):
            above = os.path.dirname(self.root.canonical(paths[0]))
            while self._is_within(above) and self._fingerprint(above) == ABSENT:
                paths.append(above)
                above = os.path.dirname(above)
        return paths

    def _is_within(self, path: str) -> bool:
        try:
            with self.root.parent(path):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (ToolError, OSError):
            return False

    def _expected(self, args: Args, states: list[State]) -> tuple[str, ...] | None:
        match self.becomes:
            case "absent":
                return (ABSENT,)
            case "directory":
                return (fingerprint_part("directory", None, ""),) * len(states)
            case "moved":
                return (ABSENT, states[0].fingerprint())
        first = states[0]
        content = None if self.content is None else self.content(args, first.content if first.type == "file" else None)
        if content is None:
            return None
        mode = first.mode if first.type == "file" else None
        return (fingerprint_part("file", mode, hashlib.sha256(content).hexdigest()),)

    def _read(self, path: str, max_bytes: int, name: str) -> State:
        """Read the state of a name; the content of a file, at most `max_bytes`."""
        try:
            with self.root.parent(path) as (directory, last):
                return read_state(directory, last, max_bytes, name)
        except (FileNotFoundError, NotADirectoryError):
            return State(ABSENT)

    def _fingerprint(self, path: str) -> str:
        try:
            with self.root.parent(path) as (directory, last):
                return name_fingerprint(directory, last)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT

    def _restore(self, snapshot: Snapshot) -> None:
        wanted = list(zip(_paths(snapshot), _states(snapshot), strict=True))
        if snapshot.to:
            self._move_back(wanted)
        # What is to be there comes first, from the top down; what is to be gone comes last, from the bottom up.
        for path, state in sorted(wanted, key=_order):
            if state.type == ABSENT and self._fingerprint(path) == ABSENT:
                continue
            with self.root.parent(path) as (directory, last):
                remove_temporary(directory, last)
                if name_fingerprint(directory, last) != state.fingerprint():
                    write_state(directory, last, state, self.root.canonical(path))
                elif state.type == "file":
                    set_times(directory, last, state)

    def _move_back(self, wanted: list[tuple[str, State]]) -> None:
        """Rename what was moved, where it still is the same: that keeps its inode, its owner and a directory's tree."""
        for (path, state), (other, replaced) in (wanted, wanted[::-1]):
            # INVARIANT: a file that the move had replaced must not be absent in between.
            if state.type not in ("file", "directory") or replaced.type not in (ABSENT, "directory"):
                continue
            with self.root.parent(path) as (directory, last), self.root.parent(other) as (other_directory, other_last):
                here, there = inode_of(directory, last), inode_of(other_directory, other_last)
                if there != state.inode or here == state.inode:
                    continue
                if state.type == "directory" and here is not None:
                    raise UndoError("conflict", f"`{self.root.canonical(path)}` is in the way of a moved directory")
                if name_fingerprint(other_directory, other_last) != state.fingerprint():
                    continue
                os.rename(other_last, last, src_dir_fd=other_directory, dst_dir_fd=directory)
                sync(directory)
                sync(other_directory)

    def _take_back_directories(self, snapshot: Snapshot) -> None:
        """Remove directories of which only the upper ones were made."""
        now = [self._fingerprint(path) for path in _paths(snapshot)]
        made = [matches([each], snapshot.after[:1]) for each in now] if snapshot.after else []
        if any(made) and not made[0] and now[0] == ABSENT:
            self._restore(snapshot)

    def _take_back_append(self, snapshot: Snapshot) -> None:
        """Restore a file that has a part of what was to be appended, as a process leaves it that ends in between."""
        (path,), (state,), whole = _paths(snapshot), _states(snapshot), snapshot.data["whole"]
        now = self._read(path, len(whole), path)
        if now.type != "file" or not whole.startswith(now.content) or len(now.content) == len(whole):
            return
        if len(now.content) > len(state.content) or state.type == ABSENT:
            self._restore(snapshot)

    def _clean(self, path: str) -> None:
        with suppress(OSError), self.root.parent(path) as (directory, last):
            remove_temporary(directory, last)


def _paths(snapshot: Snapshot) -> list[str]:
    return list(snapshot.data["paths"])


def _order(wanted: tuple[str, State]) -> tuple[bool, int]:
    path, state = wanted
    return (True, -len(path)) if state.type == ABSENT else (False, len(path))


def _states(snapshot: Snapshot) -> list[State]:
    return [State(*state) for state in snapshot.data["states"]]


def _text(state: State) -> str | None:
    if state.type not in ("file", "link") or b"\0" in state.content:
        return None
    try:
        return state.content.decode()
    except UnicodeDecodeError:
        return None
