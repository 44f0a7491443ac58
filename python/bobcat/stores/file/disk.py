"""File operations of a store: locks, durable writes, atomic replacement, portable file names."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from bobcat.errors import StoreError
from bobcat.stores.private_files import open_private, private_directory

try:
    import fcntl
except ImportError:  # pragma: no cover - this platform has no such locks
    fcntl = None  # type: ignore[assignment]

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")

LONGEST_NAME = 180
"""Maximum length of a file's name in bytes without its suffix; longer names become a digest."""


def file_name(name: str) -> str:
    """The file name of a run, a kind or a key: in lower case, because some file systems ignore case."""
    raw = name.encode()
    encoded = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in raw)
    return encoded if len(encoded) <= LONGEST_NAME else "=" + hashlib.sha256(raw).hexdigest()


@contextlib.contextmanager
def locked(path: Path, *, shared: bool = False, create: bool = True) -> Iterator[int]:
    """Open a file and lock it against all other processes and threads. It is created when it is missing."""
    if fcntl is None:
        raise StoreError("no_locks", "this platform has no `flock`: take a `SQLiteStore`")
    while True:
        descriptor, fresh = _opened(path, shared=shared, create=create)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
            if not os.fstat(descriptor).st_nlink:  # removed meanwhile: another file may be at the path
                continue
            if fresh:
                sync_directory(path.parent)
            yield descriptor
            return
        finally:
            os.close(descriptor)  # also unlocks


def _opened(path: Path, *, shared: bool, create: bool) -> tuple[int, bool]:
    """Open a file; also return true for a file that was missing."""
    flags = (os.O_RDONLY if shared else os.O_RDWR | os.O_APPEND) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, flags), False
    except FileNotFoundError:
        if not create:
            raise
        private_directory(path.parent)
        return open_private(path, flags), True


def remove_file(path: Path) -> bool:
    """Remove a file; false for a missing one. `sync_directory` makes it durable."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def write_whole(descriptor: int, data: bytes, size: int) -> None:
    """Append `data` to a file of `size` bytes and sync, or leave the file unchanged."""
    try:
        _write(descriptor, data)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Replace the content of `path` atomically, or leave it unchanged. The caller holds its lock."""
    temporary = path.with_name(f".{path.name}.new")
    descriptor = open_private(temporary, os.O_WRONLY | os.O_TRUNC)
    try:
        with contextlib.suppress(FileNotFoundError):  # the replacement has the mode of the old file
            mode = stat.S_IMODE(os.stat(path).st_mode)
            if mode != stat.S_IMODE(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, mode)
        _write(descriptor, data)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Sync a directory, so that its entries are durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
