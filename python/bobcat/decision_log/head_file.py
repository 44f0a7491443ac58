"""The file beside a JSONL log: its lock, and the position, hash and size up to which the log is known to be written."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import NamedTuple

from bobcat.decision_log.entry import Head
from bobcat.errors import DecisionLogError
from bobcat.stores.private_files import open_private

try:
    import fcntl
except ImportError:  # pragma: no cover - this platform has no such locks
    fcntl = None  # type: ignore[assignment]

BUSY_SECONDS = 30.0
"""Seconds that an append waits for other writers."""
POLL_SECONDS = 0.0005
"""Seconds between two attempts to lock: an append takes longer, as it waits for the disk."""
_LENGTH = 10 + 1 + 20 + 1 + 20 + 1 + 64 + 1 + 16 + 1
_TRIES = 20
"""Reads of a file that is being overwritten."""


class Mark(NamedTuple):
    """A head, and the number of bytes up to its end."""

    head: Head
    size: int


class HeadFile:
    """The opened file of one log, in the process that opened it."""

    def __init__(self, path: str) -> None:
        if fcntl is None:
            raise DecisionLogError("no_locks", "this platform has no `flock`: keep the log in SQLite")
        self._path = head_path(path)
        self._process = os.getpid()
        self._descriptor = open_private(self._path, os.O_RDWR)

    def is_mine(self) -> bool:
        """Return true in the process that opened the file, while its name leads to it: a fork shares the lock."""
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            return False
        opened = os.fstat(self._descriptor)
        return self._process == os.getpid() and (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise DecisionLogError(
                        "busy", f"`{self._path}` is locked by another writer for too long"
                    ) from error
                time.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def current(self) -> Mark | None:
        """The mark; None for an empty file. Raises `DecisionLogError` for a damaged one. Needs the lock."""
        data = os.pread(self._descriptor, _LENGTH + 1, 0)
        if not data:
            return None
        mark = _parsed(data)
        if mark is None:
            raise DecisionLogError("damaged", f"`{self._path}` is damaged: verify the log, and begin another one")
        return mark

    def write(self, mark: Mark, *, sync: bool = False) -> None:
        """Overwrite the mark in one write. Without `sync`, a mark that cannot be written stays behind."""
        text = f"bobcat-log {mark.head.seq:020d} {mark.size:020d} {mark.head.hash} "
        data = text.encode() + sha256(text.encode()).hexdigest()[:16].encode() + b"\n"
        if sync:
            os.pwrite(self._descriptor, data, 0)
            os.fsync(self._descriptor)
            return
        with suppress(OSError):
            os.pwrite(self._descriptor, data, 0)

    def close(self) -> None:
        """Close the file; in a fork, its copy."""
        os.close(self._descriptor)

    @classmethod
    def read(cls, path: str) -> Mark | None:
        """Read the mark of a log without the lock; None for a damaged one. Raises `FileNotFoundError`."""
        for _ in range(_TRIES):
            with open(head_path(path), "rb") as file:
                data = file.read(_LENGTH + 2)
            if not data:
                raise FileNotFoundError(head_path(path))
            mark = _parsed(data)
            if mark is not None:
                return mark
            time.sleep(0.005)
        return None


def head_path(path: str) -> str:
    """The file beside a log."""
    return f"{path}-head"


def _parsed(data: bytes) -> Mark | None:
    try:
        text, _, check = data.decode("ascii").removesuffix("\n").rpartition(" ")
        name, seq, size, hash = text.split(" ")
    except ValueError:
        return None
    if name != "bobcat-log" or sha256(f"{text} ".encode()).hexdigest()[:16] != check or not (seq + size).isdecimal():
        return None
    return Mark(Head(int(seq), hash), int(size))
