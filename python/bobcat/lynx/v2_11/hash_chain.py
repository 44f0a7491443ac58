"""Hash-chained audit lines in the format of lynx-agent 2.9 and later: each of both verifies the other's files.

A line is that of `jsonl_sink` with `prev_hash`, the hash of the line before it, and `hash`, the SHA-256 of `prev_hash`
followed by the line without these two. The chain has no key: a writer of the file can make another one, and a file cut
at its end verifies. `bobcat.decision_log` has signed checkpoints against both.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, Any

from bobcat.model.run import AuditEvent
from bobcat.sinks import Sink
from bobcat.sinks.lines import event_record, line_writer
from bobcat.text.json_text import json_text, loose_json_text, safe_str

GENESIS_HASH = "lynx-audit-genesis-v1"
"""The `prev_hash` of the first line."""
_LINKS = ("prev_hash", "hash")
_TAIL_BYTES = 65536
"""Bytes of a file's end that are read first for its last line."""

Record = dict[str, Any]  # Any: JSON values


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """Result of `verify_chain`: the number of lines read; of a broken chain, the first bad line from 1, and why."""

    intact: bool
    lines: int
    broken_at: int | None = None
    reason: str | None = None


def hash_chained_sink(handle: IO[str]) -> Sink:
    """Create a sink that writes one chained line per event, flushed at once, to a text file that the user opened.

    Where the file has lines already, the chain continues from the last one. Raises `ValueError` when that is not the
    complete line of a chain, or cannot be read, and `TypeError` for a path.
    """
    write = line_writer(handle)
    previous = _last_hash(handle)
    turn = asyncio.Lock()

    async def sink(event: AuditEvent) -> None:
        nonlocal previous
        # As a reader will have it: its keys are strings, in their order.
        record: Record = json.loads(json_text(event_record(event)))
        async with turn:
            linked = _hash(previous, record)
            line = json_text({**record, "prev_hash": previous, "hash": linked}) + "\n"
            try:
                await write(line)
            except asyncio.CancelledError:  # the thread that writes goes on
                previous = linked
                raise
            previous = linked

    return sink


def verify_chain(path: str | os.PathLike[str]) -> VerifyResult:
    """Verify a file that `hash_chained_sink` wrote. Raises `OSError` for a file that cannot be read.

    An edited, dropped, moved or incomplete line is found, a key that a line has twice too. Missing lines at the end are
    not.
    """
    previous, count = GENESIS_HASH, 0
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            count += 1
            try:
                record = _parsed(line)
                previous = _verified(record, previous)
            except BrokenLine as problem:
                return VerifyResult(False, count, number, str(problem))
    return VerifyResult(True, count)


class BrokenLine(ValueError):
    """A line that is not the next one of a chain."""


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line.decode().strip(), object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError:
        raise BrokenLine("not JSON: not UTF-8") from None
    except BrokenLine:
        raise
    except RecursionError:
        raise BrokenLine("not JSON: nested too deeply") from None
    except ValueError as error:
        raise BrokenLine(f"not JSON: {error}") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> Record:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BrokenLine("a key is there twice (line was modified)")
    return found


def _verified(record: object, previous: str) -> str:
    """Return the hash of the next line of a chain."""
    if not isinstance(record, dict) or not all(name in record for name in _LINKS):
        raise BrokenLine("missing hash/prev_hash (not a chained file?)")
    if record["prev_hash"] != previous:
        raise BrokenLine("prev_hash does not match previous line (line deleted or reordered)")
    linked = _hash(previous, {name: value for name, value in record.items() if name not in _LINKS})
    if record["hash"] != linked:
        raise BrokenLine("hash mismatch (line was modified)")
    return linked


def _hash(previous: str, record: Mapping[str, Any]) -> str:
    return sha256((previous + loose_json_text(record)).encode()).hexdigest()


def _last_hash(handle: IO[str]) -> str:
    """The hash from which the chain continues."""
    try:
        position = handle.tell()
    except (AttributeError, OSError, ValueError):  # a stream without positions, such as a pipe, begins here
        return GENESIS_HASH
    if position == 0:
        return GENESIS_HASH
    line = _last_line(handle)
    if not line:
        return GENESIS_HASH
    if not line.endswith(b"\n"):
        raise ValueError("hash_chained_sink: the last line of the file is not complete; verify the file, then move it")
    try:
        record = _parsed(line)
        return _verified(record, str(record.get("prev_hash")) if isinstance(record, dict) else "")
    except BrokenLine as problem:
        raise ValueError(f"hash_chained_sink: the file cannot be continued: its last line: {problem}") from None


def _last_line(handle: IO[str]) -> bytes:
    """The last line that is not blank, with its end; empty without one. Raises `ValueError` for an unreadable file."""
    getvalue = getattr(handle, "getvalue", None)
    if getvalue is not None:  # a stream in memory
        return _last_of(getvalue().encode("utf-8", "surrogatepass"))
    try:
        handle.flush()
        with open(handle.name, "rb") as file:
            if not os.path.samestat(os.fstat(handle.fileno()), os.fstat(file.fileno())):
                raise ValueError(f"{safe_str(handle.name)} is another file now")
            size = tail = file.seek(0, os.SEEK_END)
            found = b""
            take = _TAIL_BYTES
            while tail > 0 and b"\n" not in found.rstrip():
                tail = max(size - take, 0)
                file.seek(tail)
                found = file.read()
                take *= 2
            return _last_of(found)
    except (AttributeError, OSError, TypeError, ValueError) as error:
        raise ValueError(f"hash_chained_sink: the lines of the file before cannot be read: {error}") from error


def _last_of(text: bytes) -> bytes:
    rest = text.rstrip()
    start = rest.rfind(b"\n") + 1
    return text[start : len(rest)] + (b"\n" if b"\n" in text[len(rest) :] else b"") if rest else b""
