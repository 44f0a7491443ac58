"""Paths as tools get them: parsed by the facet `path`, and found beneath one of the roots."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bobcat import facets
from bobcat.errors import ToolError
from bobcat.providers.filesystem.root import DIRECTORY, PROBE, Root
from bobcat.tools.action import Action

_CAUSES: Mapping[int, tuple[str, str]] = {
    errno.ENOENT: ("missing", "does not exist"),
    errno.EEXIST: ("exists", "exists already"),
    errno.ENOTDIR: ("not_a_directory", "is, or passes, a file that is not a directory"),
    errno.EISDIR: ("directory", "is a directory"),
    errno.ENOTEMPTY: ("not_empty", "is a directory that is not empty; delete what is in it first"),
    errno.ELOOP: ("symlink", "is, or passes, a symbolic link, which is not followed"),
    errno.EXDEV: ("leads_out", "leads out of its root: by a symbolic link, or to another file system"),
    errno.EACCES: ("permission", "may not be accessed by this process"),
    errno.EPERM: ("permission", "may not be accessed by this process"),
    errno.EROFS: ("permission", "is on a read-only file system"),
    errno.ENAMETOOLONG: ("too_long", "has a name that is too long for the file system"),
    errno.ENOSPC: ("no_space", "cannot be written: the file system is full"),
    errno.EDQUOT: ("no_space", "cannot be written: the quota is exhausted"),
    errno.EAGAIN: ("changed", "was changed by another process meanwhile; try again"),
    errno.EBUSY: ("busy", "is in use by the system"),
    errno.EINVAL: ("invalid", "cannot be used so: a directory does not move into itself"),
}
KINDS: Mapping[int, str] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def kind_of(status: os.stat_result) -> str:
    """The type of a file by name."""
    return KINDS.get(stat.S_IFMT(status.st_mode), "unknown")


@dataclass(frozen=True, slots=True)
class Place:
    """A path beneath a root, and the action that uses it. Errors name the path as it was given."""

    given: str
    root: Root
    components: tuple[str, ...]
    action: Action | None = None

    def error(self, text: str, code: str) -> ToolError:
        """A refusal that names the path."""
        return ToolError(f"`{self.given}` {text}", code)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the system into refusals that name the path as given, and no other one."""
        try:
            yield
        except OSError as error:
            code, text = _CAUSES.get(error.errno or 0, ("failed", f"failed: {error.strerror or type(error).__name__}"))
            raise self.error(text, code) from None

    def open(self, flags: int) -> int:
        """Open the file itself, which must exist."""
        return self.root.open(self.components, flags)

    @contextmanager
    def parent(self) -> Iterator[tuple[int, str]]:
        """The descriptor of the directory that the name is in, and the name."""
        if not self.components:
            raise self.error("is a root, which stays as it is", "root")
        fd = self.root.open(self.components[:-1], DIRECTORY)
        try:
            yield fd, self.components[-1]
        finally:
            os.close(fd)

    def open_regular(self, flags: int, *, links: bool) -> tuple[int, os.stat_result]:
        """Open the file, which must be a regular one. Without `links`, it must have no other name.

        It is identified before it is opened: opening a device has effects, and opening a FIFO may wait.
        """
        probe = self.open(PROBE)
        try:
            status = os.fstat(probe)
        finally:
            os.close(probe)
        self.check_regular(status, links=links)
        fd = self.open(flags | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            opened = os.fstat(fd)
            if not os.path.samestat(opened, status):
                raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            self.check_regular(opened, links=links)
        except BaseException:
            os.close(fd)
            raise
        return fd, opened

    def check_regular(self, status: os.stat_result, *, links: bool) -> None:
        """Raise `ToolError` for what is not a regular file, and, without `links`, for a file with other names."""
        kind = kind_of(status)
        if kind == "directory":
            raise self.error("is a directory; `fs.list` lists it", "directory")
        if kind == "symlink":
            raise self.error(_CAUSES[errno.ELOOP][1], "symlink")
        if kind != "file":
            raise self.error(f"is a {kind}, not a file", "special")
        if not links and status.st_nlink > 1:
            text = f"has {status.st_nlink} hard links: it is also a file of another place"
            raise self.error(text, "hard_link")

    def begin(self) -> None:
        """Record the path, where an effect comes before the file is known. Raises as `record`."""
        if self.action is not None:
            self.action.record(path=self.given, root=self.root.name)

    def record(self, status: os.stat_result, **more: Any) -> None:  # Any: JSON
        """Record which file is used. Raises `RuntimeError` when the action has ended meanwhile: nothing may follow."""
        if self.action is not None:
            facts = {"path": self.given, "root": self.root.name, "inode": status.st_ino, "device": status.st_dev}
            self.action.record(**facts, **more)


class Roots:
    """The directories of a provider, by name, and the directory that relative paths start from."""

    def __init__(self, roots: Sequence[Root], base: str, max_depth: int) -> None:
        self._roots = sorted(roots, key=lambda root: -len(root.components))  # the innermost one first
        self._base = tuple(part for part in base.split("/") if part)
        self._max_depth = max_depth

    def find(self, given: str, action: Action | None = None, *, directory: bool = False) -> Place:
        """The place of a path. Raises `ToolError` for an undecidable one, and for one that is not within a root.

        A path that ends with `/`, `/.` or `/..` names a directory, and is refused without `directory`.
        """
        try:
            path = facets.path(given)
        except facets.Undecidable as error:
            raise ToolError(f"the path {given!r} is undecidable: {error.detail}", error.code) from None
        if not directory and given.endswith(("/", "/.", "/..")):
            raise ToolError(f"`{given}` names a directory; leave out the end", "directory")
        components = tuple(path.components) if path.is_absolute else (*self._base, *path.components)
        for root in self._roots:
            depth = len(root.components)
            if components[:depth] == root.components:
                below = components[depth:]
                if len(below) > self._max_depth:
                    raise ToolError(f"`{given}` is more than {self._max_depth} directories deep", "too_deep")
                return Place(given, root, below, action)
        names = ", ".join(f"`{root.name}`" for root in self._roots)
        raise ToolError(f"`{given}` is not within {names}", "outside")
