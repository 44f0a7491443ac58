"""Codec of the shipped stores: the text forms of records and documents, and their limits.

A body is kept as the JSON text of `bobcat.text.json_text`: ASCII, so that lone surrogates and NUL survive any database.
The rules for names are the same in every store, so that a journal can move from one store to another.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from bobcat.errors import StoreError
from bobcat.journal.records import StepRecord, step_record_from_json
from bobcat.model.frozen import FrozenDict
from bobcat.stores.protocol import QueueEntry
from bobcat.text.json_text import json_text

MAX_NAME_BYTES = 512
"""Maximum length in UTF-8 of run ids, owners, kinds and keys."""

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Maximum length of one body's JSON text. Redis and PostgreSQL end at 512 MB and 1 GB."""

MAX_SEQ = 2**53 - 1
"""The highest position of a record: every database and JSON reader represents it exactly."""

MAX_PRIORITY = 32_767
"""The highest priority and number of attempts of a queued run; the lowest priority is its negative."""

UNREADABLE = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, msgspec.ValidationError,
)  # fmt: skip
"""Exceptions of the readers for content that is not a valid record or document."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


FENCE_JUMP = 2**20
"""Increment of the fences in a restored store, which cannot know how many were given since its backup."""


class RecordRow(NamedTuple):
    """A record as a database stores it. `timestamp` is the record's own, in ISO 8601; `head` its chain hash, or ""."""

    run_id: str
    seq: int
    kind: str
    idempotency_key: str
    body: str
    timestamp: str
    head: str


def row_of(record: StepRecord) -> RecordRow:
    """Convert a record for storage. Raises `StoreError` when a limit is passed."""
    if not 0 <= record.seq <= MAX_SEQ:
        raise StoreError("bad_seq", f"a record's position is between 0 and {MAX_SEQ}, not {record.seq}")
    key, head = record.idempotency_key, record.body.get("chain") if isinstance(record.body, Mapping) else None
    return RecordRow(
        name_of("run id", record.run_id),
        record.seq,
        name_of("record kind", record.kind),
        name_of("idempotency key", key) if key else "",
        text_of("record", record.body),
        record.timestamp.isoformat(),
        head if isinstance(head, str) else "",
    )


def record_of(row: tuple[Any, ...]) -> StepRecord:  # Any: the columns of a `RecordRow`
    """Convert a stored row to its record. Raises one of `UNREADABLE` for an invalid row."""
    run_id, seq, kind, key, body, timestamp = row
    return checked(StepRecord(run_id, seq, kind, key, body_of(body), datetime.fromisoformat(timestamp)))


def record_of_line(line: bytes) -> StepRecord:
    """Parse the record of one line of JSON. Raises one of `UNREADABLE` for an invalid line."""
    return checked(step_record_from_json(line.decode()))


def checked(record: StepRecord) -> StepRecord:
    """Check the types of a record's parts. Raises `TypeError`."""
    texts = record.run_id, record.kind, record.idempotency_key
    if type(record.seq) is not int or not all(isinstance(text, str) for text in texts):
        raise TypeError("a record with a part of another type")
    return record


@contextmanager
def damaged_unless_readable(label: str) -> Iterator[None]:
    """Convert `UNREADABLE` exceptions inside the block to a `StoreError` (`damaged`) that names the content."""
    try:
        yield
    except UNREADABLE as error:
        problem = f"{label} cannot be read: its content was changed ({type(error).__name__})"
        raise StoreError("damaged", problem) from error


def line_of(row: RecordRow) -> str:
    """The record as one line of JSON, like `step_record_to_json`, assembled from texts that exist already."""
    key, kind, run_id = (json.dumps(text) for text in (row.idempotency_key, row.kind, row.run_id))
    return (
        f'{{"body":{row.body},"idempotency_key":{key},"kind":{kind},"run_id":{run_id},"seq":{row.seq},'
        f'"timestamp":"{row.timestamp}"}}'
    )


def name_of(label: str, name: str) -> str:
    """Return `name` if every store can keep it. `what` describes it in the error."""
    if not isinstance(name, str) or not name:
        raise StoreError("bad_name", f"the {label} must be a text of one character or more, not `{name!r}`")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise StoreError("bad_name", f"the {label} {name!a} has half a surrogate pair in it") from None
    if size > MAX_NAME_BYTES:
        raise StoreError("bad_name", f"the {label} has {size} bytes in UTF-8; at most {MAX_NAME_BYTES} are kept")
    if "\0" in name:
        raise StoreError("bad_name", f"the {label} {name!r} has a NUL character in it")
    return name


def checked_entry(entry: QueueEntry) -> QueueEntry:
    """Return the entry if every store can keep it. Raises `StoreError` (`bad_name`, `bad_entry`)."""
    name_of("kind", entry.kind)
    for label, text in (("tenant", entry.tenant), ("version", entry.version)):
        if text != "":
            name_of(label, text)
    if not isinstance(entry.run_at, datetime) or entry.run_at.tzinfo is None:
        raise StoreError("bad_entry", f"the time of a run must be a datetime with a time zone, not `{entry.run_at!r}`")
    for label, number, least in (
        ("priority", entry.priority, -MAX_PRIORITY),
        ("number of attempts", entry.attempts, 0),
    ):
        if type(number) is not int or not least <= number <= MAX_PRIORITY:
            raise StoreError("bad_entry", f"the {label} must be between {least} and {MAX_PRIORITY}, not `{number!r}`")
    return entry


def text_of(label: str, body: Mapping[str, Any]) -> str:
    """The JSON text of a body. `what` describes it in the error."""
    if not isinstance(body, Mapping):
        raise StoreError("bad_body", f"the body of a {label} must be a mapping, not a `{type(body).__name__}`")
    text = json_text(dict(body))
    if len(text) > MAX_BODY_BYTES:
        raise StoreError(
            "too_large",
            f"the body of a {label} takes {len(text)} bytes of JSON; a store keeps at most {MAX_BODY_BYTES}",
        )
    return text


def body_of(text: str | bytes) -> Mapping[str, Any]:
    """Parse the body of a JSON text. Raises one of `UNREADABLE` for an invalid text."""
    body = json.loads(text)
    if not isinstance(body, dict):
        raise TypeError("a body that is not a mapping")
    return FrozenDict(body)


def microseconds(moment: datetime) -> int:
    """A time as a number: microseconds since 1970, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def time_of(clock: Callable[[], datetime] | None) -> Callable[[], int]:
    """The function that returns a store's time in microseconds since 1970, by default from the machine's clock."""
    return (lambda: time.time_ns() // 1000) if clock is None else (lambda: microseconds(clock()))


def moment_of(number: int) -> datetime:
    """The time for a number of `microseconds`."""
    return _EPOCH + timedelta(microseconds=number)
