"""What came of a disturbed run, measured by what comes of it undisturbed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bobcat.journal import index_journal
from bobcat.testing.crashsim.simulate import Outcome


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one run. Effects are named as the world names them."""

    schedule: str
    """What was done to its workers; `replay` takes it."""
    places: tuple[str, ...]
    """Where they were at that."""
    status: str
    """Where the run stands in the end: `succeeded`, `suspended`, or what else `RunResult.status` says."""
    error: str | None
    double: tuple[str, ...]
    """Effects that happened more often than they do undisturbed, each as often as it is too many."""
    lost: tuple[str, ...]
    """Effects that did not happen, and that the run took for done, or ended without, and told nobody."""
    guessed: tuple[str, ...]
    """Effects that happened, and that the run took for not done: the model was told that they failed."""
    uncertain: tuple[str, ...]
    """Effects that may have happened, and the run says so: refused with a doubt, or waiting for an answer."""
    failed: tuple[str, ...]
    """Effects that did not happen, and the run says so: the model was told that the call failed."""

    @property
    def ended(self) -> bool:
        """Whether the run ended as one may: with an answer, or waiting for somebody."""
        return self.status in ("succeeded", "suspended")

    @property
    def clean(self) -> bool:
        """Nothing double, lost or guessed, and an end. A doubt or a failure that is told is no fault."""
        return self.ended and not (self.double or self.lost or self.guessed)


class Standard:
    """The undisturbed run: which effects it has, and which step of it each of them belongs to."""

    def __init__(self, undisturbed: Outcome) -> None:
        self.counts = undisturbed.counts
        self.status = undisturbed.result.status
        self.step_of = undisturbed.steps
        self.results = index_journal(undisturbed.records).results

    def row(self, outcome: Outcome) -> Row:
        """What came of another run of the same scenario."""
        journal, result = index_journal(outcome.records), outcome.result
        told = {step: body for step, body in journal.results.items() if _is_doubt(body)}
        doubtful = set(told) | (set(journal.open) if result.status != "succeeded" else set())
        double: list[str] = []
        lost: list[str] = []
        guessed: list[str] = []
        failed: list[str] = []
        for name in sorted({*self.counts, *outcome.counts}):
            usual, seen, step = self.counts[name], outcome.counts[name], self.step_of.get(name)
            double += [name] * (seen - max(usual, 1))
            body = None if step is None else journal.results.get(step)
            if step in doubtful:
                continue
            told_failure = body is not None and body.get("ok") is not True and self._was_ok(step)
            if told_failure:
                (guessed if seen else failed).append(name)
            elif seen < usual and (body is not None or result.status == "succeeded"):
                lost += [name] * (usual - seen)
        return Row(
            str(outcome.schedule), tuple(point.place for point in outcome.places), result.status, result.error,
            tuple(double), tuple(lost), tuple(guessed), tuple(self._name(step) for step in sorted(doubtful)),
            tuple(failed),
        )  # fmt: skip

    def _was_ok(self, step: int | None) -> bool:
        body = None if step is None else self.results.get(step)
        return body is not None and body.get("ok") is True

    def _name(self, step: int) -> str:
        names = [name for name, each in self.step_of.items() if each == step]
        return " + ".join(names) or f"step {step}"


def _is_doubt(body: Mapping[str, Any]) -> bool:  # Any: JSON
    return bool(body.get("uncertain_retry")) and body.get("ok") is not True
