"""The values of a question about sequences: a sequence of calls, or the proof that none exists. All are frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bobcat.analysis.calls import call_data, plain
from bobcat.analysis.model import JsonData, Unknown
from bobcat.model.decision import ActionRequest, Decision
from bobcat.model.frozen import FrozenDict


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """A call of a sequence with its decision in the state of the run at that time.

    `ended`: the call succeeded with `result`, else it failed, or is the last one of the sequence. `args` are the
    arguments with which it ran: those after a transform.
    """

    request: ActionRequest
    decision: Decision
    args: Mapping[str, Any]  # Any: JSON
    ended: bool = False
    result: Any = field(default_factory=FrozenDict)  # Any: JSON

    def to_json(self) -> JsonData:
        """Return the step as JSON data."""
        found: JsonData = {
            "call": call_data(self.request),
            "verdict": self.decision.verdict.value,
            "rules": list(map(str, self.decision.matched_rules)),
        }
        return {**found, "result": plain(self.result)} if self.ended else found


@dataclass(frozen=True, slots=True)
class Sequence:
    """Calls one after the other, the last of which does what was asked for. True as a condition."""

    steps: tuple[SequenceStep, ...]

    @property
    def task(self) -> str | None:
        """The user's task in this run."""
        return self.steps[-1].request.context.task

    def to_json(self) -> JsonData:
        """Return the answer as JSON data."""
        return {"answer": "witness", "steps": [step.to_json() for step in self.steps]}


@dataclass(frozen=True, slots=True)
class NoSequence:
    """No sequence with so many earlier calls does what was asked for; `steps` is None for any number of them.

    False as a condition.
    """

    steps: int | None

    def __bool__(self) -> bool:
        return False

    def to_json(self) -> JsonData:
        """Return the answer as JSON data."""
        return {"answer": "none", "within": self.steps}


SequenceAnswer: TypeAlias = Sequence | NoSequence | Unknown
