"""The file of one run: JSON Lines, of which only the last can be torn.

A record is one line, written and synced under a lock. A crash can leave a partial last line, which was never
acknowledged: readers skip it, the next writer removes it. A complete last line without its newline is a record.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bobcat.errors import StoreError
from bobcat.journal.records import StepRecord
from bobcat.stores.codec import UNREADABLE, RecordRow, line_of, record_of_line
from bobcat.stores.errors import duplicate_record
from bobcat.stores.file.disk import write_whole
from bobcat.stores.private_files import open_private

END = 128
"""Bytes of a file's end that are compared: they have the time of its last record."""


@dataclass(slots=True)
class JournalTail:
    """Known extent of a run's file, so that only records added since are read."""

    inode: int = 0
    size: int = 0
    end: bytes = b""
    """The last bytes up to `size`: an erased file's inode may be that of a new one."""
    positions: dict[int, int] = field(default_factory=dict)
    """Offset of the line of each position."""
    in_order: bool = True
    """True while the lines are in the order of their positions."""
    torn: int = 0
    """Bytes after `size` that are not a record."""
    lacks_newline: bool = False
    """True if the last line is complete but has no newline."""
    last: int = -1
    """The highest position."""
    head: str = ""
    """The chain hash at the highest position."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held during a refresh: readers share the lock of the file."""

    def add(self, seq: int, head: object, offset: int) -> None:
        """Register a record."""
        self.positions[seq] = offset
        if seq > self.last:
            self.last, self.head = seq, head if isinstance(head, str) else ""
        else:
            self.in_order = False

    def clear(self, inode: int) -> None:
        """Forget everything: another file is at the path."""
        self.inode, self.size, self.end, self.positions, self.in_order = inode, 0, b"", {}, True
        self.last, self.head = -1, ""


def read(
    path: Path, run_id: str, data: bytes, first: int = 1, *, known: bool = False
) -> Iterator[tuple[StepRecord, int]]:
    """The records in `data`, each with its end offset; `first` is the number of the first line.

    Unless all of them are `known` to be records, the last line can be torn.
    """
    start, number = 0, first
    while start < len(data):
        newline = data.find(b"\n", start)
        end = len(data) if newline < 0 else newline + 1
        try:
            record = record_of_line(data[start:end])
        except UNREADABLE as error:
            if end == len(data) and not known:
                return
            raise StoreError("damaged", f"`{path}`, line {number}: not a record ({type(error).__name__})") from error
        if record.run_id != run_id:
            raise StoreError("damaged", f"`{path}`, line {number}: a record of run `{record.run_id}`")
        yield record, end
        start, number = end, number + 1


def refresh(descriptor: int, path: Path, run_id: str, tail: JournalTail) -> None:
    """Read the records added since. INVARIANT: under the file's lock."""
    status = os.fstat(descriptor)
    end = os.pread(descriptor, len(tail.end), tail.size - len(tail.end))
    if status.st_ino != tail.inode or status.st_size < tail.size or end != tail.end:
        tail.clear(status.st_ino)
    start = tail.size
    data = _read_from(descriptor, start)
    tail.lacks_newline = False
    for record, end_of_line in read(path, run_id, data, len(tail.positions) + 1):
        tail.add(record.seq, record.body.get("chain"), tail.size)
        tail.size, tail.lacks_newline = start + end_of_line, not data[:end_of_line].endswith(b"\n")
    tail.end = (tail.end + data[: tail.size - start])[-END:]
    tail.torn = status.st_size - tail.size


def append(descriptor: int, row: RecordRow, tail: JournalTail) -> None:
    """Append a record, after a torn end was repaired. INVARIANT: under the file's lock, refreshed."""
    if row.seq in tail.positions:
        raise duplicate_record(row.run_id, row.seq)
    if tail.torn:
        os.ftruncate(descriptor, tail.size)
    line = (b"\n" if tail.lacks_newline else b"") + line_of(row).encode() + b"\n"
    write_whole(descriptor, line, tail.size)
    tail.add(row.seq, row.head, tail.size + tail.lacks_newline)
    tail.size, tail.torn, tail.lacks_newline = tail.size + len(line), 0, False
    tail.end = (tail.end + line)[-END:]


def write_mark(path: Path, tail: JournalTail) -> None:
    """Save the number of records and the last hash beside the journal.

    Written after the record was synced, without a sync of its own: a mark may be behind, never ahead, so a journal that
    is shorter than its mark was truncated.

    INVARIANT: under the file's lock.
    """
    with contextlib.suppress(OSError):  # the record is durable, and the mark stays behind
        descriptor = open_private(path, os.O_WRONLY)
        try:
            os.write(descriptor, f"{len(tail.positions):020d} {tail.head or '-':64}\n".encode())
        finally:
            os.close(descriptor)


def read_mark(path: Path) -> tuple[int, str] | None:
    """The number of records and the last hash; None without a valid mark."""
    try:
        count, head = path.read_bytes().decode().split()
        return int(count), "" if head == "-" else head
    except (OSError, ValueError):
        return None


def load(descriptor: int, path: Path, run_id: str, tail: JournalTail, seq: int, limit: int | None) -> list[StepRecord]:
    """Records from `seq` on, by position. INVARIANT: refreshed under the file's lock, which readers share.

    PERF: where the lines are in order, only those of the page are read.
    """
    if seq > tail.last:
        return []
    start, end = 0, tail.size
    if tail.in_order:
        start = tail.positions.get(seq, 0)
        if limit is not None and len(tail.positions) == tail.last + 1:
            end = tail.positions.get(seq + limit, end)
    try:
        found = [record for record, _ in read(path, run_id, _read(descriptor, start, end), known=True)]
    except StoreError:
        if not start:
            raise
        found = [
            record for record, _ in read(path, run_id, _read(descriptor, 0, tail.size), known=True)
        ]  # for its line
    return sorted([each for each in found if each.seq >= seq], key=lambda each: each.seq)[:limit]


def _read_from(descriptor: int, start: int) -> bytes:
    return _read(descriptor, start, os.fstat(descriptor).st_size)


def _read(descriptor: int, start: int, end: int) -> bytes:
    parts = []
    while start < end and (part := os.pread(descriptor, min(end - start, 1 << 20), start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)
