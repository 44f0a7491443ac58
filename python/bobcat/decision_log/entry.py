"""Entries of a decision log, their canonical text, and the hash that chains them.

The hash of an entry is SHA-256 over `DOMAIN`, the 32 bytes of the previous entry's hash, and the canonical JSON of
`at`, `body`, `kind`, `record_id` and `seq`. Before the first entry the hash is `GENESIS`. Every medium stores the body
as the text that was hashed, so that a verification needs no conversion. This module reads no file and no clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from bobcat.errors import DecisionLogError
from bobcat.text.json_text import json_text

DOMAIN = b"bobcat/decision-log/v1\0"
GENESIS = "0" * 64
"""The hash before the first entry."""
MAX_RECORD_ID = 512
"""Characters of a record id."""
MAX_ENTRY_BYTES = 16 * 1024 * 1024
"""Bytes of an entry's text; a longer one is refused."""

Kind = Literal["decision", "outcome", "resume", "checkpoint", "pruned"]
RECORD_KINDS = frozenset(("decision", "outcome", "resume"))
"""Kinds of the entries that belong to a record."""
KINDS = RECORD_KINDS | {"checkpoint", "pruned"}


class Row(NamedTuple):
    """An entry as a medium stores it: `at` and `body` are text, the hashes 64 hexadecimal digits."""

    seq: int
    record_id: str
    kind: str
    at: str
    body: str
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry. `seq` counts from 1; `previous` and `hash` are hexadecimal SHA-256 digests. Any: JSON."""

    seq: int
    record_id: str
    kind: Kind
    at: datetime
    body: Mapping[str, Any]
    previous: str
    hash: str

    def to_json(self) -> dict[str, Any]:
        """The entry as plain data, with the fields of a line of a JSONL log."""
        return {
            "seq": self.seq,
            "record_id": self.record_id,
            "kind": self.kind,
            "at": time_text(self.at),
            "body": dict(self.body),
            "previous": self.previous,
            "hash": self.hash,
        }


class Head(NamedTuple):
    """The end of a log: the position and the hash of its last entry."""

    seq: int
    hash: str


EMPTY = Head(0, GENESIS)


def entry_row(head: Head, record_id: str, kind: str, *, at: str, body: str) -> Row:
    """Make the entry that follows `head`. `body` is canonical JSON. Raises `DecisionLogError` for one too long."""
    if len(body) > MAX_ENTRY_BYTES:
        raise DecisionLogError("too_large", f"an entry has {len(body)} bytes, and the limit is {MAX_ENTRY_BYTES}")
    row = Row(head.seq + 1, record_id, kind, at, body, head.hash, "")
    return row._replace(hash=row_hash(row))


def row_hash(row: Row) -> str:
    """Compute the hash of an entry from its other fields."""
    hashed = sha256(DOMAIN + bytes.fromhex(row.previous))
    text = (
        f'{{"at":{json_text(row.at)},"body":{row.body},"kind":{json_text(row.kind)},'
        f'"record_id":{json_text(row.record_id)},"seq":{row.seq}}}'
    )
    hashed.update(text.encode())
    return hashed.hexdigest()


def row_line(row: Row) -> str:
    """The entry as one line of JSON, with sorted keys and without a line end."""
    return (
        f'{{"at":{json_text(row.at)},"body":{row.body},"hash":"{row.hash}","kind":{json_text(row.kind)},'
        f'"previous":"{row.previous}","record_id":{json_text(row.record_id)},"seq":{row.seq}}}'
    )


def line_row(line: str) -> Row:
    """Parse a line. Raises `ValueError` unless `row_line` writes exactly this line for the result."""
    data = json.loads(line)
    if not isinstance(data, dict) or set(data) != set(Row._fields):
        raise ValueError("not an entry of a decision log")
    body = json_text(data["body"])
    row = Row(**{**data, "body": body})
    texts = (row.record_id, row.kind, row.at, row.previous, row.hash)
    if type(row.seq) is not int or not all(type(text) is str for text in texts):
        raise ValueError("a field has another type")
    if row_line(row) != line:
        raise ValueError("not in the canonical form")
    return row


def row_entry(row: Row) -> LogEntry:
    """The entry of a stored row. Raises `DecisionLogError` (`damaged`) for an unreadable one."""
    try:
        body = json.loads(row.body)
        at = datetime.fromisoformat(row.at)
    except (ValueError, TypeError, RecursionError) as error:
        raise DecisionLogError("damaged", f"entry {row.seq} cannot be read: {error}") from error
    if not isinstance(body, dict) or row.kind not in KINDS or at.tzinfo is None:
        raise DecisionLogError("damaged", f"entry {row.seq} cannot be read: its kind, time or body is invalid")
    kind: Any = row.kind  # Any: a member of the literal type, as just checked
    return LogEntry(row.seq, row.record_id, kind, at, body, row.previous, row.hash)


def time_text(moment: datetime) -> str:
    """The text of a time in an entry: ISO 8601 in UTC with microseconds, so that texts sort as times do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def check_record_id(record_id: object) -> str:
    """Return a valid record id, or raise `DecisionLogError` (`bad_record`)."""
    if not isinstance(record_id, str) or not record_id or len(record_id) > MAX_RECORD_ID:
        raise DecisionLogError("bad_record", f"a record id is a text of 1 to {MAX_RECORD_ID} characters")
    if not record_id.isprintable() or "\x00" in record_id:
        raise DecisionLogError("bad_record", "a record id has only printable characters")
    return record_id
