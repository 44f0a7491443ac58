"""Journals in files: one record per line, as `step_record_to_json` writes them. `bobcat trace` reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bobcat.cli.failures import InputError
from bobcat.cli.inputs import decode, read_bytes
from bobcat.journal.records import StepRecord, step_record_from_json

_STEP_KINDS = ("model.output", "approval.requested", "approval.granted", "action.intent", "action.result")


def read_journals(path: str) -> dict[str, list[StepRecord]]:
    """Read the records of every run in a file (`-`: standard input), in the order of each run's first record."""
    data, name = read_bytes(path)
    runs: dict[str, list[StepRecord]] = {}
    for number, line in enumerate(decode(data, name).splitlines(), 1):
        if line.strip():
            record = _record(line, f"{name}:{number}")
            runs.setdefault(record.run_id, []).append(record)
    if not runs:
        raise InputError(f"{name}: no records found")
    return runs


def _record(line: str, place: str) -> StepRecord:
    try:
        data: Any = json.loads(line)  # Any: JSON
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON: {error}") from error
    if not isinstance(data, dict) or "run_id" not in data:
        if isinstance(data, dict) and "correlation_id" in data:
            raise InputError(
                f"{place}: an audit event, not a journal record",
                help="`jsonl_sink` writes audit events; a store keeps journals, see `step_record_to_json`",
            )
        raise InputError(f"{place}: not a journal record (no `run_id`)")
    try:
        record = step_record_from_json(line)
        _check(record)
    except KeyError as error:
        raise InputError(f"{place}: not a journal record (no {str(error).replace(chr(39), '`')})") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{place}: not a journal record: {error}") from error
    return record


def _check(record: StepRecord) -> None:
    """Check the assumptions of the fold over a journal."""
    fields: dict[str, tuple[object, type]] = {
        "run_id": (record.run_id, str),
        "seq": (record.seq, int),
        "kind": (record.kind, str),
        "idempotency_key": (record.idempotency_key, str),
        "body": (record.body, Mapping),
    }
    if record.kind in _STEP_KINDS:
        fields["body.step"] = (record.body["step"], int)
    calls = record.body.get("calls", [])
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise ValueError("`body.calls` must be a list of objects")
    args = [call.get("args", {}) for call in (record.body, *calls)]
    if not all(isinstance(value, dict) for value in (*args, record.body.get("edited") or {})):
        raise ValueError("`args` must be an object")
    if record.timestamp.tzinfo is None:
        raise ValueError("`timestamp` has no offset")
    for name, (value, kind) in fields.items():
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"`{name}` must not be {json.dumps(value, default=str)}")
