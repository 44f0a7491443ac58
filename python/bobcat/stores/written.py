"""What the shipped stores write: texts of records and documents, and the limits of both.

A body is kept as the JSON text of `bobcat.plain_json`: ASCII, so lone surrogates and NUL come through every database.
What a name may be is the same everywhere, so that a journal can move from one store to another.
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
from bobcat.frozen import FrozenDict
from bobcat.journal import StepRecord, step_record_from_json
from bobcat.plain_json import json_text

MAX_NAME_BYTES = 512
"""Run ids, owners, kinds and keys are at most this long in UTF-8."""

MAX_BODY_BYTES = 64 * 1024 * 1024
"""The JSON text of one body is at most this long. Redis and PostgreSQL end at 512 MB and 1 GB."""

MAX_SEQ = 2**53 - 1
"""The highest position of a record: every database and JSON reader holds it exactly."""

UNREADABLE = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, msgspec.ValidationError,
)  # fmt: skip
"""What reading raises when a store holds something else than was written."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


FENCE_JUMP = 2**20
"""A restored store gives fences from this far on: it cannot know how many were given since its backup."""


class Row(NamedTuple):
    """A record as a database keeps it. `timestamp` is the record's own, in ISO 8601; `head` its chain hash, or ""."""

    run_id: str
    seq: int
    kind: str
    idempotency_key: str
    body: str
    timestamp: str
    head: str


def row_of(record: StepRecord) -> Row:
    """The record, as it is written. Raises `StoreError` when a limit is passed."""
    if not 0 <= record.seq <= MAX_SEQ:
        raise StoreError("bad_seq", f"a record's position is between 0 and {MAX_SEQ}, not {record.seq}")
    key, head = record.idempotency_key, record.body.get("chain") if isinstance(record.body, Mapping) else None
    return Row(
        name_of("run id", record.run_id),
        record.seq,
        name_of("record kind", record.kind),
        name_of("idempotency key", key) if key else "",
        text_of("record", record.body),
        record.timestamp.isoformat(),
        head if isinstance(head, str) else "",
    )


def record_of(row: tuple[Any, ...]) -> StepRecord:  # Any: the columns of a `Row`
    """The record that was written. Raises one of `UNREADABLE` for what is none."""
    run_id, seq, kind, key, body, timestamp = row
    return checked(StepRecord(run_id, seq, kind, key, body_of(body), datetime.fromisoformat(timestamp)))


def record_of_line(line: bytes) -> StepRecord:
    """The record of one line of JSON. Raises one of `UNREADABLE` for what is none."""
    return checked(step_record_from_json(line.decode()))


def checked(record: StepRecord) -> StepRecord:
    """The record, whose parts are of their types. Raises `TypeError`."""
    texts = record.run_id, record.kind, record.idempotency_key
    if type(record.seq) is not int or not all(isinstance(text, str) for text in texts):
        raise TypeError("a record with a part of another type")
    return record


@contextmanager
def reading(what: str) -> Iterator[None]:
    """What cannot be read in here is damaged: a `StoreError`, which names it."""
    try:
        yield
    except UNREADABLE as error:
        told = f"{what} cannot be read: it is not what was written ({type(error).__name__})"
        raise StoreError("damaged", told) from error


def line_of(row: Row) -> str:
    """The record as one line of JSON: that of `step_record_to_json`, from texts that are there already."""
    key, kind, run_id = (json.dumps(text) for text in (row.idempotency_key, row.kind, row.run_id))
    return (
        f'{{"body":{row.body},"idempotency_key":{key},"kind":{kind},"run_id":{run_id},"seq":{row.seq},'
        f'"timestamp":"{row.timestamp}"}}'
    )


def name_of(what: str, name: str) -> str:
    """`name`, when every store can keep it. `what` names it in the error."""
    if not isinstance(name, str) or not name:
        raise StoreError("bad_name", f"the {what} must be a text of one character or more, not `{name!r}`")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise StoreError("bad_name", f"the {what} {name!a} has half a surrogate pair in it") from None
    if size > MAX_NAME_BYTES:
        raise StoreError("bad_name", f"the {what} has {size} bytes in UTF-8; at most {MAX_NAME_BYTES} are kept")
    if "\0" in name:
        raise StoreError("bad_name", f"the {what} {name!r} has a NUL character in it")
    return name


def text_of(what: str, body: Mapping[str, Any]) -> str:
    """The JSON text of a body. `what` names it in the error."""
    if not isinstance(body, Mapping):
        raise StoreError("bad_body", f"the body of a {what} must be a mapping, not a `{type(body).__name__}`")
    text = json_text(dict(body))
    if len(text) > MAX_BODY_BYTES:
        raise StoreError(
            "too_large", f"the body of a {what} takes {len(text)} bytes of JSON; a store keeps at most {MAX_BODY_BYTES}"
        )
    return text


def body_of(text: str | bytes) -> Mapping[str, Any]:
    """The body of a JSON text. Raises one of `UNREADABLE` for what is none."""
    body = json.loads(text)
    if not isinstance(body, dict):
        raise TypeError("a body that is no mapping")
    return FrozenDict(body)


def microseconds(moment: datetime) -> int:
    """A moment as a number: microseconds since 1970, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def time_of(clock: Callable[[], datetime] | None) -> Callable[[], int]:
    """What tells a store's time in microseconds since 1970: the machine's clock, unless another one is given."""
    return (lambda: time.time_ns() // 1000) if clock is None else (lambda: microseconds(clock()))


def moment_of(number: int) -> datetime:
    """The moment of a number of `microseconds`."""
    return _EPOCH + timedelta(microseconds=number)
