"""Comparison of a run with faults to the fault-free run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bobcat.journal.index import index_journal
from bobcat.testing.crashsim.simulate import Outcome


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one run. Effects have the names of the world."""

    schedule: str
    """The faults of its workers; an argument of `replay`."""
    places: tuple[str, ...]
    """Positions of the faults."""
    status: str
    """The final status: `succeeded`, `suspended`, or another `RunResult.status`."""
    error: str | None
    double: tuple[str, ...]
    """Surplus effects compared with the fault-free run, once for each surplus occurrence."""
    lost: tuple[str, ...]
    """Effects that did not happen, but that the run treated as done or silently omitted."""
    guessed: tuple[str, ...]
    """Effects that happened, but that the run treated as not done: it reported a failure to the model."""
    uncertain: tuple[str, ...]
    """Effects that may have happened, reported by the run: denied as uncertain, or waiting for an answer."""
    failed: tuple[str, ...]
    """Effects that did not happen, reported by the run: it reported a failed call to the model."""

    @property
    def ended(self) -> bool:
        """Return true if the run ended properly: with an answer, or waiting for an approval."""
        return self.status in ("succeeded", "suspended")

    @property
    def clean(self) -> bool:
        """Return true if the run ended and nothing is double, lost or guessed. A reported uncertainty or failure is not
        a fault.
        """
        return self.ended and not (self.double or self.lost or self.guessed)


class Standard:
    """The fault-free run: its effects, and the step of each."""

    def __init__(self, undisturbed: Outcome) -> None:
        self.counts = undisturbed.counts
        self.status = undisturbed.result.status
        self.step_of = undisturbed.steps
        self.results = index_journal(undisturbed.records).results

    def row(self, outcome: Outcome) -> Row:
        """Return the result of another run of the same scenario."""
        journal, result = index_journal(outcome.records), outcome.result
        uncertain_results = {step: body for step, body in journal.results.items() if _is_uncertain(body)}
        doubtful = set(uncertain_results) | (set(journal.open) if result.status != "succeeded" else set())
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
            reported_failure = body is not None and body.get("ok") is not True and self._was_ok(step)
            if reported_failure:
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


def _is_uncertain(body: Mapping[str, Any]) -> bool:  # Any: JSON
    return bool(body.get("uncertain_retry")) and body.get("ok") is not True
