"""Journals, under lynx-agent's path: the same records, keys and lines, so that each can resume the other's runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bobcat.journal import index, keys, views
from bobcat.journal import records as journal_records
from bobcat.journal.index import EFFECTFUL_VERDICTS
from bobcat.journal.records import (
    DuplicateRecord,
    RunStore,
    StepRecord,
    step_record_from_json,
    usage_from_body,
    usage_to_body,
)
from bobcat.journal.views import RunView, StepView
from bobcat.model.run import AgentAction, FinalAnswer, ToolCall
from bobcat.text.json_text import loose_json_text

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
    """Return the key of one proposed action: 32 hexadecimal digits."""
    return keys.idempotency_key(run_id, step, tool, dict(args), text=loose_json_text)


def step_record_to_json(record: StepRecord) -> str:
    """Return one line of canonical JSON."""
    return journal_records.step_record_to_json(record, text=loose_json_text)


def replay(records: Sequence[StepRecord]) -> RunView:
    """Return the events of a run, step by step."""
    return views.replay(records, keeps_uncertain=False)


# Any below: bodies of records.
@dataclass(frozen=True, slots=True)
class JournalIndex:
    """The state of a journaled run."""

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
    found = index.index_journal(records, keeps_uncertain=False)
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
    """Return true if the action of an intent without a result may have happened."""
    return intent.body.get("verdict") in UNCERTAIN_VERDICTS


def action_to_body(action: AgentAction, step: int) -> dict[str, Any]:
    """Return a reply in the form of the journal."""
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
    """Return the reply of a journal body."""
    usage = usage_from_body(body.get("usage"))
    if body.get("type") == "final_answer":
        return FinalAnswer(body["text"], usage)
    return ToolCall(body["tool"], dict(body.get("args", {})), body.get("call_id", ""), usage)
