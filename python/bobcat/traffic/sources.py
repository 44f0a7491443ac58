"""Logs as chunks of lines: files, compressed files, standard input and the databases of decision logs.

A chunk of a file is a range of bytes that a worker reads itself; any other chunk carries its lines. The lines of a
database are its entries, as a file of the same log would hold them.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Literal, NamedTuple

from bobcat.decision_log import open_log
from bobcat.decision_log.entry import Row, row_line
from bobcat.decision_log.pruning import pruned_base
from bobcat.decision_log.target import shown_target
from bobcat.errors import DecisionLogError
from bobcat.stores.urls import open_store
from bobcat.traffic.formats import FormatName, detect

CHUNK_BYTES = 4 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is damaged."""
DETECTED_LINES = 100
"""Lines from the beginning of a file that may show its format."""
STDIN = "-"

_GZIP = b"\x1f\x8b"
_SQLITE = b"SQLite format 3\0"


class Chunk(NamedTuple):
    """Consecutive lines of a log: a range of a file, or `data`. `first` is the number of the first line, or entry."""

    format: FormatName
    path: str | None
    start: int
    end: int
    data: bytes
    first: int | None
    """None for a range whose first line has no number yet."""

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its end; one beyond the limit is cut."""
        if self.path is None:
            yield from _lines(io.BytesIO(self.data))
            return
        with open(self.path, "rb") as file:
            file.seek(self.start)
            position = self.start
            for line in _lines(file):
                yield line
                position = file.tell() if len(line) > MAX_LINE_BYTES else position + len(line)
                if position >= self.end:
                    return


@dataclass(frozen=True, slots=True)
class Log:
    """A log to read: its name for messages, the kind of its places, and its size in bytes where that is known."""

    name: str
    target: str
    kind: Literal["file", "gzip", "stdin", "entries", "store"]
    format: FormatName | None
    size: int = 0

    def place(self, number: int) -> str:
        """The name of a line or an entry."""
        return f"{self.name}#{number}" if self.kind == "entries" else f"{self.name}:{number}"

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks of the log. Raises `OSError`, `DecisionLogError`; `CutShort` for a damaged compression."""
        if self.kind == "entries":
            return _entries(self.target)
        if self.kind == "stdin":
            return _streamed(self.target, self.kind, self.format)
        if self.format is None or self.kind == "store":
            return iter(())
        if self.kind == "file":
            return _ranges(self.target, self.format, self.size)
        return _streamed(self.target, self.kind, self.format)


class CutShort(Exception):
    """A compressed log that cannot be read further."""


class UnknownFormat(Exception):
    """A file that holds none of the known formats."""


def open_source(target: str, given: FormatName | None = None) -> Log:
    """Find out what a path, a URL or `-` holds. Raises `OSError`, `DecisionLogError`, `StoreError`, `UnknownFormat`."""
    name = shown_target(target)
    if target == STDIN:
        return Log("<stdin>", target, "stdin", given)
    if "://" in target or target.startswith("file:") or os.path.isdir(target):
        return _database(name, target)
    if not stat.S_ISREG(os.stat(target).st_mode):
        raise UnknownFormat("not a regular file; `-` is standard input")
    with open(target, "rb") as file:
        head = file.read(len(_SQLITE))
    if head == _SQLITE:
        return _database(name, f"sqlite:///{target}")
    kind: Literal["file", "gzip"] = "gzip" if head.startswith(_GZIP) else "file"
    return Log(name, target, kind, given or _detected(target, kind), os.stat(target).st_size)


def _database(name: str, url: str) -> Log:
    """A decision log at a URL, or else a store of journals there."""
    if re.match("(sqlite|postgres|postgresql)://", url):
        try:
            with open_log(url, must_exist=True, read_only=True) as log:
                log.medium.stored()
            return Log(name, url, "entries", "decision_log")
        except DecisionLogError as error:
            if error.code not in ("not_a_log", "not_there") or (url.startswith("sqlite") and error.code == "not_there"):
                raise
    asyncio.run(_check_store(url))
    return Log(name, url, "store", None)


async def _check_store(url: str) -> None:
    async with aclosing(open_store(url, must_exist=True)) as store:
        await store.runs(limit=1)


def is_marker(line: bytes) -> bool:
    """Return true for the entry of a decision log that stands for pruned ones."""
    return b'"pruned"' in line and json.loads(line)["kind"] == "pruned"


def carried_chunk(marker: bytes) -> Chunk:
    """The entries that the marker of a pruning has kept."""
    carried = json.loads(marker)["body"].get("carried", [])
    lines = [json.dumps(row).encode() for row in carried if isinstance(row, dict)]
    return Chunk("decision_log", None, 0, 0, b"\n".join(lines), 1)


def _detected(path: str, kind: str) -> FormatName | None:
    """The format of a file by its first lines; None for an empty file."""
    try:
        with _opened(path, kind) as file:
            return _format_of(_lines(file))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnknownFormat(f"the compression is damaged: {error}") from error


def _format_of(lines: Iterable[bytes]) -> FormatName | None:
    """The format that the first lines show; None if all of them are empty. Raises `UnknownFormat`."""
    seen = False
    for _, line in zip(range(DETECTED_LINES), lines, strict=False):
        if (found := detect(line)) is not None:
            return found
        seen = seen or bool(line.strip())
    if seen:
        raise UnknownFormat("not a decision log, audit events, or lines with `input` and `result`")
    return None


def _opened(path: str, kind: str) -> BinaryIO:
    if kind == "gzip":
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a reader of bytes
    return sys.stdin.buffer if kind == "stdin" else open(path, "rb")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines; of one beyond the limit the beginning, which is longer than the limit."""
    for line in iter(partial(file.readline, MAX_LINE_BYTES + 1), b""):
        if len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            _skip_line(file)
        yield line


def _skip_line(file: BinaryIO) -> None:
    while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
        pass


def _ranges(path: str, format: FormatName, size: int) -> Iterator[Chunk]:
    """Yield ranges that end at line ends. Lines that are written meanwhile are left out."""
    start = 0
    with open(path, "rb") as file:
        while start < size:
            file.seek(min(start + CHUNK_BYTES, size) - 1)
            _skip_line(file)
            end = file.tell()
            yield Chunk(format, path, start, end, b"", 1 if start == 0 else None)
            start = end


def _streamed(path: str, kind: str, format: FormatName | None) -> Iterator[Chunk]:
    """Yield the lines of a stream, which only this process reads. Raises `UnknownFormat`, `CutShort`."""
    number = 1
    try:
        with _opened(path, kind) as file:
            for lines in _blocks(_lines(file)):
                if format is None and (format := _format_of(lines)) is None:
                    continue
                yield Chunk(format, None, 0, 0, b"".join(lines), number)
                number += len(lines)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CutShort(f"the compressed file is damaged: {str(error).lower()}") from error


def _blocks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Collect lines into blocks of about `CHUNK_BYTES`; also before an error of the source."""
    block: list[bytes] = []
    size = 0
    try:
        for line in lines:
            block.append(line if line.endswith(b"\n") else line + b"\n")
            size += len(line)
            if size >= CHUNK_BYTES:
                yield block
                block, size = [], 0
    except (EOFError, zlib.error, gzip.BadGzipFile):
        if block:
            yield block
        raise
    if block:
        yield block


def _entries(target: str) -> Iterator[Chunk]:
    """Yield the entries of a database, those that a pruning has kept first."""
    with open_log(target, must_exist=True, read_only=True) as log:
        medium = log.medium
        carried = pruned_base(medium).carried
        for number, rows in _consecutive((*carried,)):
            yield _rows(number, rows)
        for number, rows in _consecutive(medium.rows()):
            yield _rows(number, rows)


def _rows(number: int, rows: list[Row]) -> Chunk:
    return Chunk("decision_log", None, 0, 0, b"\n".join([row_line(row).encode() for row in rows]), number)


def _consecutive(rows: Iterable[Row]) -> Iterator[tuple[int, list[Row]]]:
    """Collect rows with consecutive positions into blocks, with the position of the first one."""
    block: list[Row] = []
    size = 0
    for row in rows:
        if block and (row.seq != block[-1].seq + 1 or size >= CHUNK_BYTES):
            yield block[0].seq, block
            block, size = [], 0
        block.append(row)
        size += len(row.body)
    if block:
        yield block[0].seq, block


def problem_of(error: DecisionLogError | OSError | UnknownFormat) -> str:
    """The reason that a log cannot be read, in one sentence."""
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
