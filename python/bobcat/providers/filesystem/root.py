"""A directory that is opened once, and files that are opened beneath it.

`openat2` resolves a path in the kernel, which refuses every way out of the directory. Where it is missing, the path is
walked: each component is opened without following links, from the descriptor of the one before. Both refuse alike.
Callers pass components without `.`, `..` and separators, as `paths` makes them.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import weakref
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from bobcat.providers.filesystem import syscalls

Symlinks: TypeAlias = Literal["refuse", "beneath"]
Mounts: TypeAlias = Literal["refuse", "allow"]
Resolver: TypeAlias = Literal["openat2", "walk"]
SYMLINKS: tuple[Symlinks, ...] = get_args(Symlinks)
MOUNTS: tuple[Mounts, ...] = get_args(Mounts)
RESOLVERS: tuple[Resolver, ...] = get_args(Resolver)

MAX_LINKS = 40
"""Maximum number of symbolic links in one path, as in Linux."""
_ATTEMPTS = 16
"""Attempts at a path that is renamed while the kernel resolves it."""

PROBE = DIRECTORY = -1  # no flags: `files` refuses Windows, which has none of them
if sys.platform != "win32":
    PROBE = getattr(os, "O_PATH", os.O_NONBLOCK) | os.O_CLOEXEC
    """Flags of an open that only identifies a file: no driver of a device gets to know."""
    DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


class Root:
    """An open directory. It stays the same one when it, or a directory above it, is renamed."""

    def __init__(
        self, name: str, directory: str, *, symlinks: Symlinks, mounts: Mounts, resolver: Resolver | None
    ) -> None:
        self.name = name
        self.components = tuple(part for part in directory.split("/") if part)
        self.resolver: Resolver = resolver or ("openat2" if syscalls.has_openat2() else "walk")
        self.symlinks = symlinks
        self.fd = os.open(directory, DIRECTORY)
        self._close = weakref.finalize(self, os.close, self.fd)
        self._mount = None if mounts == "allow" else syscalls.mount_of(self.fd)
        self._resolve = syscalls.RESOLVE_BENEATH | syscalls.RESOLVE_NO_MAGICLINKS
        if symlinks == "refuse":
            self._resolve |= syscalls.RESOLVE_NO_SYMLINKS
        if mounts == "refuse":
            self._resolve |= syscalls.RESOLVE_NO_XDEV

    def open(self, components: Sequence[str], flags: int) -> int:
        """Open an existing file beneath the directory. Raises `OSError`: `ELOOP` for a link that is refused, `EXDEV`
        for a way out of the directory or its mount.
        """
        if self.resolver == "walk":
            return self._walk(components, flags)
        path = "/".join(components) or "."
        for _ in range(_ATTEMPTS):
            try:
                return syscalls.openat2(self.fd, path, flags, self._resolve)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EINTR):
                    raise
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def check_mount(self, fd: int) -> None:
        """Raise `OSError` (`EXDEV`) for a descriptor on another mount than the directory, unless they are allowed."""
        if self._mount is not None and syscalls.mount_of(fd) != self._mount:
            raise _error(errno.EXDEV)

    def _walk(self, components: Sequence[str], flags: int) -> int:
        held = [os.dup(self.fd)]
        """The directories from the root down to the present one: `..` of a link goes back along them."""
        pending = list(reversed(components))
        links = 0
        try:
            while pending:
                name = pending.pop()
                if name in ("", "."):
                    continue
                if name == "..":
                    if len(held) == 1:
                        raise _error(errno.EXDEV)
                    os.close(held.pop())
                    continue
                status = os.stat(name, dir_fd=held[-1], follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode):
                    links += 1
                    pending += reversed(self._target_of(name, held[-1], links))
                elif pending:
                    held.append(self._checked(name, DIRECTORY, held[-1], status))
                else:
                    return self._checked(name, flags, held[-1], status)
            return os.open(".", flags | os.O_CLOEXEC, dir_fd=held[-1])
        finally:
            for fd in held:
                os.close(fd)

    def _target_of(self, name: str, directory: int, links: int) -> list[str]:
        """The components of a symbolic link, when links are followed."""
        if self.symlinks == "refuse" or links > MAX_LINKS:
            raise _error(errno.ELOOP)
        target = os.readlink(name, dir_fd=directory)
        if target.startswith("/"):
            raise _error(errno.EXDEV)
        return target.split("/")

    def _checked(self, name: str, flags: int, directory: int, status: os.stat_result) -> int:
        """Open one name without following it; it must still be the file of `status`, on the mount of the root."""
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            if not os.path.samestat(os.fstat(fd), status):
                raise _error(errno.EAGAIN)
            self.check_mount(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
