"""Index of a journal: the position of a run, folded from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bobcat.journal.records import StepRecord
from bobcat.model.frozen import FrozenDict

EFFECTFUL_VERDICTS = frozenset({"allow", "transform", "approve_required"})
"""Verdicts whose intents may have run, in the absence of a result. `deny` never runs, `dry_run` runs only the shadow.
"""


@dataclass(frozen=True, slots=True)
class JournalIndex:
    """The position of a journaled run, step by step."""

    records: int = 0
    attempts: int = 1
    replies: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    orphans: dict[int, StepRecord] = field(default_factory=dict)
    results: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    final: Mapping[str, Any] | None = None
    bundle_id: str | None = None
    next_seq: int = 0
    grants: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """Granted approvals that no started action has used yet."""
    started_counts: dict[int, int] = field(default_factory=dict)
    """Number of attempts per step: its intents that may have run."""
    open: dict[int, tuple[StepRecord, ...]] = field(default_factory=dict)
    """The intents of a step that may have run, closed neither by a result nor by an `action.abandoned`."""
    begun: dict[int, tuple[StepRecord, ...]] = field(default_factory=dict)
    """The intents of a step that may have run, results included; not those that were abandoned."""
    result_keys: dict[int, str] = field(default_factory=dict)
    task: str | None = None
    binding: Mapping[str, Any] | None = None
    """The most recent binding of the run: see `bobcat.runtime.resume_check`."""
    extras: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """The facts that a provider gave for a step."""
    asked: Mapping[str, str] = field(default_factory=FrozenDict)
    """The fingerprints of the questions that suspended the run, by their ids."""

    def uncertain(self, step: int) -> StepRecord | None:
        """The intent of a step whose action may have run, without a recorded result."""
        orphan = self.orphans.get(step)
        if orphan is None or orphan.body.get("verdict") not in EFFECTFUL_VERDICTS:
            return None
        return orphan


EMPTY_JOURNAL = JournalIndex()


def index_journal(records: Sequence[StepRecord], *, keeps_uncertain: bool = True) -> JournalIndex:
    """Fold the records of one run. Unknown kinds are skipped; an invalid record raises.

    Without `keeps_uncertain`, each intent of a step replaces the one before, as in lynx-agent.
    """
    ordered = sorted(records, key=lambda record: record.seq)
    found, attempts = JournalIndex(), 1
    final: Mapping[str, Any] | None = None
    bundle_id: str | None = None
    task: str | None = None
    binding: Mapping[str, Any] | None = None
    asked: dict[str, str] = {}
    for record in ordered:
        body = record.body
        if record.kind in ("run.started", "run.resumed"):
            attempts += record.kind == "run.resumed"
            bundle_id = body.get("bundle_id", bundle_id)
            task, binding = body.get("task", task), body.get("binding", binding)
        elif record.kind == "model.output":
            found.replies[int(body["step"])] = body
        elif record.kind == "step.extra":
            if "extra" in body:
                found.extras[int(body["step"])] = body["extra"]
        elif record.kind == "approval.granted":
            found.grants[int(body["step"])] = body
        elif record.kind == "run.suspended":
            asked.update(zip(body.get("approvals", ()), body.get("fingerprints", ()), strict=False))
        elif record.kind == "action.intent":
            step = int(body["step"])
            found.grants.pop(step, None)  # a grant is valid for one execution
            if body.get("verdict") in EFFECTFUL_VERDICTS:
                found.started_counts[step] = found.started_counts.get(step, 0) + 1
                found.open[step] = (*found.open.get(step, ()), record)
                found.begun[step] = (*found.begun.get(step, ()), record)
            # INVARIANT: an intent that may have run stays until a result closes it. A later attempt's `deny` intent
            # does not show whether the first attempt's action happened.
            earlier = found.orphans.get(step) if keeps_uncertain else None
            if earlier is None or earlier.body.get("verdict") not in EFFECTFUL_VERDICTS:
                found.orphans[step] = record
        elif record.kind == "action.result":
            step = int(body["step"])
            found.results[step] = body
            found.result_keys[step] = record.idempotency_key
            found.orphans.pop(step, None)
            found.open.pop(step, None)
        elif record.kind == "action.abandoned":
            step = int(body["step"])
            left = tuple(intent for intent in found.open.get(step, ()) if intent.seq not in body["intents"])
            found.open[step] = left
            found.begun[step] = tuple(each for each in found.begun.get(step, ()) if each.seq not in body["intents"])
            found.orphans.pop(step, None)
            if left:
                found.orphans[step] = left[0]
        elif record.kind == "final":
            final = body
    return replace(
        found,
        records=len(ordered),
        attempts=attempts,
        final=final,
        bundle_id=bundle_id,
        next_seq=ordered[-1].seq + 1 if ordered else 0,
        task=task,
        binding=binding,
        asked=FrozenDict(asked),
    )
