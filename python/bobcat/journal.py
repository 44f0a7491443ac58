"""The journal of a run: its records, the key of an action, and the fold that says where a run stands.

The kernel writes the records, a `RunStore` keeps them, a resumed run and the inspection tools read them through
`index_journal`. Pure: no file, no clock, no store is touched here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from bobcat.model import Usage
from bobcat.plain_json import json_text
from bobcat.quick import quick

EFFECTFUL_VERDICTS = frozenset({"allow", "transform", "approve_required"})
"""An intent under one of these, without a result, may have run. `deny` never runs, `dry_run` runs only the shadow."""


class DuplicateRecord(Exception):
    """A store already has a record at this `(run_id, seq)`: another worker writes the same run."""


@quick
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
    """Where journals are kept. One guarantee carries everything: `append` is atomic and refuses a taken position."""

    async def append(self, record: StepRecord) -> None:
        """Keep `record` durably, or raise `DuplicateRecord` when its `(run_id, seq)` is taken."""

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""


@dataclass(frozen=True, slots=True)
class JournalIndex:
    """Where a journaled run stands, step by step."""

    records: int = 0
    attempts: int = 1
    replies: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    orphans: Mapping[int, StepRecord] = field(default_factory=dict)
    results: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    final: Mapping[str, Any] | None = None
    bundle_id: str | None = None
    next_seq: int = 0
    grants: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """The approvals that were granted and on whose account nothing was begun yet."""

    def uncertain(self, step: int) -> StepRecord | None:
        """The intent of a step whose action may have run without a result on record."""
        orphan = self.orphans.get(step)
        if orphan is None or orphan.body.get("verdict") not in EFFECTFUL_VERDICTS:
            return None
        return orphan


EMPTY_JOURNAL = JournalIndex()


def index_journal(records: Sequence[StepRecord], *, doubt_stays: bool = True) -> JournalIndex:
    """Fold the records of one run. Unknown kinds are skipped; anything that is no record raises.

    Without `doubt_stays`, each intent of a step replaces the one before, as in lynx-agent.
    """
    ordered = sorted(records, key=lambda record: record.seq)
    attempts = 1
    replies: dict[int, Mapping[str, Any]] = {}
    orphans: dict[int, StepRecord] = {}
    results: dict[int, Mapping[str, Any]] = {}
    final: Mapping[str, Any] | None = None
    bundle_id: str | None = None
    grants: dict[int, Mapping[str, Any]] = {}
    for record in ordered:
        body = record.body
        if record.kind in ("run.started", "run.resumed"):
            attempts += record.kind == "run.resumed"
            bundle_id = body.get("bundle_id", bundle_id)
        elif record.kind == "model.output":
            replies[int(body["step"])] = body
        elif record.kind == "approval.granted":
            grants[int(body["step"])] = body
        elif record.kind == "action.intent":
            step = int(body["step"])
            grants.pop(step, None)  # a grant is good for one execution
            # INVARIANT: an intent that may have run stays until a result closes it. A later attempt's `deny` intent
            # says nothing about whether the first attempt's action happened.
            earlier = orphans.get(step) if doubt_stays else None
            if earlier is None or earlier.body.get("verdict") not in EFFECTFUL_VERDICTS:
                orphans[step] = record
        elif record.kind == "action.result":
            step = int(body["step"])
            results[step] = body
            orphans.pop(step, None)
        elif record.kind == "final":
            final = body
    next_seq = ordered[-1].seq + 1 if ordered else 0
    return JournalIndex(len(ordered), attempts, replies, orphans, results, final, bundle_id, next_seq, grants)


def _builtin_sha256() -> Callable[[bytes], Any]:  # Any: a hash object
    """Python's own SHA-256. PERF: on a short text OpenSSL's takes 1.7 µs more, most of it to be found."""
    for module in ("_sha2", "_sha256"):  # its name since Python 3.12, and before
        try:
            constructor: Callable[[bytes], Any] = import_module(module).sha256
        except (ImportError, AttributeError):
            continue
        return constructor
    return hashlib.sha256


_sha256 = _builtin_sha256()


def idempotency_key(
    run_id: str, step: int, tool: str, args: Mapping[str, Any], *, text: Callable[[Any], str] = json_text
) -> str:
    """The name of one proposed action: 32 hex digits over run, step, tool and proposed arguments.

    A retry of the same step has the same key, so a tool or a service can recognise it.
    """
    payload = f"{run_id}|{step}|{tool}|{text(args)}"
    digest: str = _sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()
    return digest[:32]


def usage_to_body(usage: Usage) -> dict[str, Any]:
    """A reply's usage as the journal keeps it."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "model": usage.model,
    }


def usage_from_body(body: Mapping[str, Any] | None) -> Usage | None:
    """The usage of a journaled reply, or None when it had none."""
    if not body:
        return None
    return Usage(
        body.get("input_tokens"),
        body.get("output_tokens"),
        body.get("cache_read_tokens"),
        body.get("cache_write_tokens"),
        body.get("model"),
    )


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
    """The record of one JSON line."""
    data = json.loads(line)
    return StepRecord(
        run_id=data["run_id"],
        seq=data["seq"],
        kind=data["kind"],
        idempotency_key=data.get("idempotency_key", ""),
        body=MappingProxyType(data.get("body", {})),
        timestamp=datetime.fromisoformat(data["timestamp"]),
    )


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a run, as its journal tells it. `tool` is None where the step is the final answer."""

    step: int
    tool: str | None
    args: Mapping[str, Any] | None
    verdict: str | None
    ok: bool | None
    message: str | None
    uncertain: bool = False
    resolved_uncertain: bool = False


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, as its journal tells it."""

    run_id: str
    records: int
    attempts: int
    steps: tuple[StepView, ...] = field(default_factory=tuple)
    final_answer: str | None = None


def replay(records: Sequence[StepRecord], *, doubt_stays: bool = True) -> RunView:
    """What happened in a run: the records of one run in, a view of every step out. Raises like `index_journal`."""
    journal = index_journal(records, doubt_stays=doubt_stays)
    steps: list[StepView] = []
    for first in sorted(journal.replies):
        reply = journal.replies[first]
        if reply.get("type") == "final_answer":
            steps.append(StepView(first, None, None, None, True, reply.get("text")))
            continue
        for step, call in enumerate(reply["calls"] if reply.get("type") == "tool_calls" else (reply,), first):
            steps.append(_step_view(journal, step, call))
    final = None if journal.final is None else journal.final.get("final_answer")
    run_id = records[0].run_id if records else ""
    return RunView(run_id, journal.records, journal.attempts, tuple(steps), final)


def _step_view(journal: JournalIndex, step: int, call: Mapping[str, Any]) -> StepView:
    result, intent = journal.results.get(step), journal.orphans.get(step)
    known = result if result is not None else {} if intent is None else intent.body
    return StepView(
        step,
        call.get("tool"),
        call.get("args"),
        known.get("verdict"),
        None if result is None else bool(result.get("ok")),
        None if result is None else result.get("message"),
        journal.uncertain(step) is not None,
        bool(result.get("uncertain_retry")) if result else False,
    )
