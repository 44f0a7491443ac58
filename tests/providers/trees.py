"""Directory trees for the table of the files provider, made of real files, links, devices and mounts."""

from __future__ import annotations

import ctypes
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECRET = "the secret outside"
_MNT_DETACH = 2


class Tree:
    """A directory `base` with the root `ws` (`a/f` in it) and `outside` (`secret` in it)."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._mounts: list[Path] = []
        self.file("ws/a/f")
        (base / "outside").mkdir()
        (base / "outside/secret").write_text(SECRET)

    def make(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            ((kind, value),) = step.items()
            getattr(self, kind)(*(value if isinstance(value, list) else [value]))

    def dir(self, path: str) -> None:
        (self.base / path).mkdir(parents=True)

    def file(self, path: str) -> None:
        target = self.base / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("inside")

    def sparse(self, path: str) -> None:
        self.file(path)
        os.truncate(self.base / path, 4000)

    def link(self, path: str, target: str) -> None:
        (self.base / path).symlink_to(target.replace("{base}", str(self.base)))

    def hard(self, path: str, existing: str) -> None:
        (self.base / path).hardlink_to(self.base / existing)

    def fifo(self, path: str) -> None:
        os.mkfifo(self.base / path)

    def socket(self, path: str) -> None:
        here = os.getcwd()
        os.chdir((self.base / path).parent)  # the path of a socket has at most 108 bytes
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(Path(path).name)
        finally:
            os.chdir(here)

    def device(self, path: str) -> None:
        try:
            os.mknod(self.base / path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
        except PermissionError:
            pytest.skip("only root makes devices")

    def mount(self, path: str) -> None:
        target = self.base / path
        target.mkdir()
        source = self.base / "mounted"
        source.mkdir()
        (source / "f").write_text("inside")
        libc = ctypes.CDLL(None, use_errno=True)
        bind = ctypes.c_ulong(4096)
        if libc.mount(os.fsencode(source), os.fsencode(target), None, bind, None) < 0:
            pytest.skip("only root mounts")
        self._mounts.append(target)

    def rename(self, old: str, new: str) -> None:
        (self.base / old).rename(self.base / new)

    def state(self) -> list[Any]:
        """Every file with its type, permissions, links, inode and content."""
        found: list[Any] = []
        for directory, names, files in os.walk(self.base):
            for name in sorted((*names, *files)):
                path = os.path.join(directory, name)
                status = os.lstat(path)
                regular = stat.S_ISREG(status.st_mode) and status.st_size < 100_000
                content = Path(path).read_bytes() if regular else None
                target = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
                found.append((path, status.st_mode, status.st_nlink, status.st_ino, status.st_size, content, target))
        return sorted(found, key=repr)

    def close(self) -> None:
        for target in self._mounts:
            ctypes.CDLL(None).umount2(os.fsencode(target), _MNT_DETACH)


@contextmanager
def tree(base: Path) -> Iterator[Tree]:
    base.mkdir()
    made = Tree(base)
    try:
        yield made
    finally:
        made.close()
