"""Records of a run's journal, the store protocol that keeps them, and their JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from bobcat.model.fast_init import fast_init
from bobcat.model.frozen import FrozenDict
from bobcat.model.run import Usage
from bobcat.text.json_text import json_text


class DuplicateRecord(Exception):
    """A store already has a record at this `(run_id, seq)`: another worker writes the same run."""


@fast_init
@dataclass(frozen=True, slots=True)
class StepRecord:
    """One journal record. `seq` counts the records of a run; the step number is `body["step"]`."""

    run_id: str
    seq: int
    kind: str
    idempotency_key: str
    body: Mapping[str, Any]
    timestamp: datetime


@runtime_checkable
class RunStore(Protocol):
    """Storage of journals. Every guarantee rests on one: `append` is atomic and rejects a taken position."""

    async def append(self, record: StepRecord) -> None:
        """Store `record` durably, or raise `DuplicateRecord` when its `(run_id, seq)` is taken."""

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""


def usage_to_body(usage: Usage) -> dict[str, Any]:
    """A reply's usage as the journal keeps it."""
    return {field.name: getattr(usage, field.name) for field in fields(Usage)}


def usage_from_body(body: Mapping[str, Any] | None) -> Usage | None:
    """The usage of a journaled reply, or None when it had none."""
    return Usage(*(body.get(field.name) for field in fields(Usage))) if body else None


def step_record_to_json(record: StepRecord, *, text: Callable[[Any], str] = json_text) -> str:
    """One line of canonical JSON; `step_record_from_json` reads it back."""
    return text(
        {
            "run_id": record.run_id,
            "seq": record.seq,
            "kind": record.kind,
            "idempotency_key": record.idempotency_key,
            "body": dict(record.body),
            "timestamp": record.timestamp.isoformat(),
        }
    )


def step_record_from_json(line: str) -> StepRecord:
    """The record of one JSON line, as `step_record_to_json` writes it.

    Raises `ValueError` for invalid JSON, `KeyError` and `TypeError` for JSON that is not a record.
    """
    data = json.loads(line)
    body = data.get("body", {})
    if not isinstance(body, dict):
        raise TypeError(f"the body of a record must be a mapping, not {type(body).__name__}")
    return StepRecord(
        run_id=data["run_id"],
        seq=data["seq"],
        kind=data["kind"],
        idempotency_key=data.get("idempotency_key", ""),
        body=FrozenDict(body),
        timestamp=datetime.fromisoformat(data["timestamp"]),
    )
