"""Views of a journaled run for people and inspection tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bobcat.journal.index import JournalIndex, index_journal
from bobcat.journal.records import StepRecord


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a run, from its journal. `tool` is None where the step is the final answer."""

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
    """A run, from its journal."""

    run_id: str
    records: int
    attempts: int
    steps: tuple[StepView, ...] = field(default_factory=tuple)
    final_answer: str | None = None


def replay(records: Sequence[StepRecord], *, keeps_uncertain: bool = True) -> RunView:
    """Convert the records of one run into a view of its steps. Raises like `index_journal`."""
    journal = index_journal(records, keeps_uncertain=keeps_uncertain)
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
