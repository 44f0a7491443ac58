"""The journal of a run: its records, the key of an action, and the fold that says where a run stands.

The kernel writes the records, a `RunStore` keeps them, a resumed run and the inspection tools read them through
`index_journal`. Pure: no file, no clock, no store is touched here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Protocol, runtime_checkable

from bobcat._core import action_key, chained_hash
from bobcat.frozen import FrozenDict
from bobcat.model import Usage
from bobcat.plain_json import json_text
from bobcat.quick import quick

EFFECTFUL_VERDICTS = frozenset({"allow", "transform", "approve_required"})
"""An intent under one of these, without a result, may have run. `deny` never runs, `dry_run` runs only the shadow."""

RUN_DOMAIN = b"bobcat/journal/v2\0"
"""What the hash of a run begins with: the version of the hashes is in it."""

_HASH = re.compile("[0-9a-f]{64}")


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
    begun: Mapping[int, int] = field(default_factory=dict)
    """How often the action of a step was begun: its intents that may have run."""
    open: Mapping[int, tuple[StepRecord, ...]] = field(default_factory=dict)
    """The intents of a step that may have run, and that neither a result nor an `action.abandoned` closes."""
    result_keys: Mapping[int, str] = field(default_factory=dict)
    task: str | None = None
    binding: Mapping[str, Any] | None = None
    """What the run was last bound to: see `bobcat.kernel.binding`."""
    extras: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """The facts that a provider gave for a step."""

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
    begun: dict[int, int] = {}
    unclosed: dict[int, tuple[StepRecord, ...]] = {}
    result_keys: dict[int, str] = {}
    task: str | None = None
    binding: Mapping[str, Any] | None = None
    extras: dict[int, Mapping[str, Any]] = {}
    for record in ordered:
        body = record.body
        if record.kind in ("run.started", "run.resumed"):
            attempts += record.kind == "run.resumed"
            bundle_id = body.get("bundle_id", bundle_id)
            task, binding = body.get("task", task), body.get("binding", binding)
        elif record.kind == "model.output":
            replies[int(body["step"])] = body
        elif record.kind == "step.extra":
            if "extra" in body:
                extras[int(body["step"])] = body["extra"]
        elif record.kind == "approval.granted":
            grants[int(body["step"])] = body
        elif record.kind == "action.intent":
            step = int(body["step"])
            grants.pop(step, None)  # a grant is good for one execution
            if body.get("verdict") in EFFECTFUL_VERDICTS:
                begun[step] = begun.get(step, 0) + 1
                unclosed[step] = (*unclosed.get(step, ()), record)
            # INVARIANT: an intent that may have run stays until a result closes it. A later attempt's `deny` intent
            # says nothing about whether the first attempt's action happened.
            earlier = orphans.get(step) if doubt_stays else None
            if earlier is None or earlier.body.get("verdict") not in EFFECTFUL_VERDICTS:
                orphans[step] = record
        elif record.kind == "action.result":
            step = int(body["step"])
            results[step] = body
            result_keys[step] = record.idempotency_key
            orphans.pop(step, None)
            unclosed.pop(step, None)
        elif record.kind == "action.abandoned":
            step = int(body["step"])
            left = tuple(intent for intent in unclosed.get(step, ()) if intent.seq not in body["intents"])
            unclosed[step] = left
            orphans.pop(step, None)
            if left:
                orphans[step] = left[0]
        elif record.kind == "final":
            final = body
    next_seq = ordered[-1].seq + 1 if ordered else 0
    return JournalIndex(
        len(ordered),
        attempts,
        replies,
        orphans,
        results,
        final,
        bundle_id,
        next_seq,
        grants,
        begun,
        unclosed,
        result_keys,
        task,
        binding,
        extras,
    )


def idempotency_key(
    run_id: str, step: int, tool: str, args: Mapping[str, Any], *, text: Callable[[Any], str] = json_text
) -> str:
    """The name of one proposed action: 32 hex digits over run, step, tool and proposed arguments.

    A retry of the same step has the same key, so a tool or a service can recognise it. `text` writes what is not plain:
    about everything else the manners agree.
    """
    key = action_key(run_id, step, tool, args)
    if key is not None:
        return key
    payload = f"{run_id}|{step}|{tool}|{text(args)}"
    return sha256(_encoded(payload)).hexdigest()[:32]


def action_key_of(
    run_id: str, step: int, tool: str, args: Mapping[str, Any], *, text: Callable[[Any], str] = json_text
) -> str:
    """`idempotency_key`, but no two actions share one whatever their names: `r` and `1|t` are not `r|1` and `t`."""
    if "|" not in run_id and "|" not in tool:
        return idempotency_key(run_id, step, tool, args, text=text)
    return sha256(_encoded(text([run_id, step, tool, args]))).hexdigest()[:32]


def chain_hash(
    previous: str,
    body: Mapping[str, Any],
    *,
    run_id: str,
    seq: int,
    kind: str,
    key: str,
    text: Callable[[Any], str] = json_text,
) -> str:
    """The hash of a record that follows the record with the hash `previous`: 64 hex digits. Before the first, "".

    SHA-256 over the 32 bytes of the previous hash, `seq` in eight bytes, the kind and the idempotency key, each after
    its length in four bytes, and the canonical JSON of the body to the end. Numbers have their most significant byte
    first, text is UTF-8. The first record follows the hash of the run: SHA-256 over `bobcat/journal/v2`, a null byte
    and the run id. The time of the record is not in it: stores keep times in their own precision. `text` as in
    `idempotency_key`. Raises `ValueError` for a `previous` that is no such hash, `OverflowError` for a `seq` below 0 or
    of more than eight bytes.

    PERF: `bobcat._core.chained_hash` is the same for plain bodies, in one call (0.3 µs); None for others.
    """
    made = chained_hash(previous, run_id, seq, kind, key, body)
    if made is not None:
        return made
    if previous and not _HASH.fullmatch(previous):
        raise ValueError(f"a previous hash is 64 hex digits, not {previous!r}")
    hashed = sha256(bytes.fromhex(previous) if previous else sha256(RUN_DOMAIN + _encoded(run_id)).digest())
    hashed.update(seq.to_bytes(8, "big"))
    for part in (kind, key):
        encoded = _encoded(part)
        hashed.update(len(encoded).to_bytes(4, "big") + encoded)
    hashed.update(_encoded(text(body)))
    return hashed.hexdigest()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


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
    """The record of one JSON line, as `step_record_to_json` writes it.

    Raises `ValueError` for what is no JSON, `KeyError` and `TypeError` for JSON that is no record.
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
