"""Journals, under lynx-agent's path: the same records, keys and lines, so that each goes on with the other's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bobcat import journal
from bobcat.journal import (
    EFFECTFUL_VERDICTS,
    DuplicateRecord,
    RunStore,
    RunView,
    StepRecord,
    StepView,
    step_record_from_json,
    usage_from_body,
    usage_to_body,
)
from bobcat.model import AgentAction, FinalAnswer, ToolCall
from bobcat.plain_json import loose_json_text

__all__ = [
    "DuplicateRecord",
    "RunStore",
    "RunView",
    "StepRecord",
    "StepView",
    "idempotency_key",
    "replay",
    "step_record_from_json",
    "step_record_to_json",
]

UNCERTAIN_VERDICTS = EFFECTFUL_VERDICTS


def idempotency_key(run_id: str, step: int, tool: str, args: Mapping[str, Any]) -> str:  # Any: what a tool takes
    """The name of one proposed action: 32 hexadecimal digits."""
    return journal.idempotency_key(run_id, step, tool, dict(args), text=loose_json_text)


def step_record_to_json(record: StepRecord) -> str:
    """One line of canonical JSON."""
    return journal.step_record_to_json(record, text=loose_json_text)


def replay(records: Sequence[StepRecord]) -> RunView:
    """What happened in a run, step by step."""
    return journal.replay(records, doubt_stays=False)


# Any below: bodies of records.
@dataclass(frozen=True, slots=True)
class JournalIndex:
    """Where a journaled run stands."""

    records: int
    attempts: int
    proposals: Mapping[int, Mapping[str, Any]]
    orphan_intents: Mapping[int, StepRecord]
    results: Mapping[int, Mapping[str, Any]]
    final_body: Mapping[str, Any] | None
    last_bundle_id: str | None
    next_seq: int


def index_journal(records: Sequence[StepRecord]) -> JournalIndex:
    """Fold the records of one run."""
    found = journal.index_journal(records, doubt_stays=False)
    return JournalIndex(
        found.records,
        found.attempts,
        found.replies,
        found.orphans,
        found.results,
        found.final,
        found.bundle_id,
        found.next_seq,
    )


def is_uncertain(intent: StepRecord) -> bool:
    """Whether the action of an intent without a result may have happened."""
    return intent.body.get("verdict") in UNCERTAIN_VERDICTS


def action_to_body(action: AgentAction, step: int) -> dict[str, Any]:
    """A reply as the journal keeps it."""
    body: dict[str, Any]
    if isinstance(action, FinalAnswer):
        body = {"step": step, "type": "final_answer", "text": action.text}
    else:
        body = {"step": step, "type": "tool_call", "tool": action.tool, "args": dict(action.args)}
        body["call_id"] = action.call_id
    if action.usage is not None:
        body["usage"] = usage_to_body(action.usage)
    return body


def action_from_body(body: Mapping[str, Any]) -> AgentAction:
    """The reply of a journal's body."""
    usage = usage_from_body(body.get("usage"))
    if body.get("type") == "final_answer":
        return FinalAnswer(body["text"], usage)
    return ToolCall(body["tool"], dict(body.get("args", {})), body.get("call_id", ""), usage)
