"""Campaigns: a scenario with faults at every point, at every pair of points, and with a second worker."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Literal

from bobcat.testing.crashsim.errors import SimulationError
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.process import Point
from bobcat.testing.crashsim.progress import OnProgress, Progress, on_terminal
from bobcat.testing.crashsim.report import Report
from bobcat.testing.crashsim.scenario import ScenarioFactory
from bobcat.testing.crashsim.schedule import UNDISTURBED, Fault, FaultSchedule, parse_schedule
from bobcat.testing.crashsim.simulate import ENDS, Outcome, simulate
from bobcat.testing.crashsim.verdict import Row, Standard
from bobcat.text.display import safe_name, safe_names, safe_text


def campaign(
    scenario: ScenarioFactory,
    *,
    kills: Literal[0, 1, 2] = 1,
    workers: Literal[1, 2] = 1,
    stop_in_tools: bool = True,
    limit: int | None = None,
    seed: int = 0,
    progress: OnProgress | None = None,
) -> Report:
    """Inject faults at every point of the scenario's run, and count double, lost and uncertain effects.

    `kills=1`: the worker is killed at every point, and another one continues after the lease has expired. `kills=2`:
    the second worker is also killed at every point of its own, and a third continues. `workers=2`: the worker is
    stopped at every point; a second one takes over and runs to every point of its own, and to its end; then the first
    continues to its end, then the second. Without `stop_in_tools`, the first worker is not stopped during a tool call:
    only the receiver of an effect can reject the effect of a worker that resumes there.

    `limit` is the maximum number of runs, sampled with `seed` if there would be more. `progress` is called after
    every run; the default is a progress bar if standard error is a terminal.

    Raises `SimulationError` for a scenario that cannot be simulated: it does not end, is not deterministic, or needs
    the outside world. Exceptions of the scenario's factory propagate.
    """
    if kills not in (0, 1, 2) or workers not in (1, 2):
        raise ValueError(f"kills must be 0, 1 or 2 and workers 1 or 2, got kills={kills!r} and workers={workers!r}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit!r}")
    with closing(Outside()) as outside, on_terminal(progress) as report_progress:
        return _Campaign(scenario, outside, _Sample(limit, random.Random(seed)), report_progress).run(
            kills, workers, stop_in_tools=stop_in_tools
        )


@dataclass(slots=True)
class _Sample:
    left: int | None
    random_source: random.Random
    complete: bool = True

    def of(self, schedules: Sequence[FaultSchedule]) -> Sequence[FaultSchedule]:
        """Return the schedules within the limit, in order."""
        if self.left is None:
            return schedules
        if len(schedules) > self.left:
            self.complete = False
            schedules = sorted(self.random_source.sample(schedules, self.left))
        self.left -= len(schedules)
        return schedules


class _Campaign:
    def __init__(
        self,
        scenario: ScenarioFactory,
        outside: Outside,
        sample: _Sample,
        report_progress: Callable[[Progress], object],
    ) -> None:
        self._scenario, self._outside, self._sample, self._report_progress = scenario, outside, sample, report_progress
        self._undisturbed = simulate(scenario, UNDISTURBED, outside, traced=True)
        self._points = self._undisturbed.traces[0]
        self._standard = standard_of(self._undisturbed)
        self._check_repeatable(simulate(scenario, UNDISTURBED, outside, traced=True))
        self._rows: list[Row] = [self._standard.row(self._undisturbed)]
        self._faults = 0

    def run(self, kills: int, workers: int, *, stop_in_tools: bool) -> Report:
        once = [FaultSchedule("kill", (point.number,)) for point in self._points] if kills else []
        lengths = self._all("killed once", once, 1)
        if kills > 1:
            self._all("killed twice", _pairs("kill", lengths), 2)
        if workers > 1:
            stops = [point.number for point in self._points if stop_in_tools or not point.in_tool]
            # The length of the second worker's run depends on the state of the first.
            lengths = self._all("stopped", [FaultSchedule("stop", (at,)) for at in stops], 1)
            self._all("two workers", _pairs("stop", lengths), 1)
        return Report(_name(self._scenario), len(self._points), tuple(self._rows), self._sample.complete)

    def _all(self, phase: str, schedules: Sequence[FaultSchedule], worker: int) -> dict[int, int]:
        """Run these schedules. Returns the number of steps of a worker by the point of the first."""
        chosen, lengths = self._sample.of(schedules), dict[int, int]()
        for done, schedule in enumerate(chosen):
            outcome = simulate(self._scenario, schedule, self._outside)
            self._check_place(outcome)
            row = self._standard.row(outcome)
            self._rows.append(row)
            self._faults += not row.clean
            if len(outcome.lengths) > worker:
                lengths[schedule.at[0]] = outcome.lengths[worker]
            self._report_progress(Progress(phase, done + 1, len(chosen), self._faults))
        return lengths

    def _check_repeatable(self, again: Outcome) -> None:
        if again.counts != self._undisturbed.counts:
            raise SimulationError(
                f"the scenario is not deterministic: without faults, it had "
                f"{_counted(self._undisturbed)} the first time, and {_counted(again)} the second"
            )
        for first, second in zip(self._points, again.traces[0], strict=False):
            _check_same(first, second)
        if len(self._points) != len(again.traces[0]):
            raise SimulationError(
                f"the scenario is not deterministic: without faults, it had {len(self._points)} points the first time, "
                f"and {len(again.traces[0])} the second"
            )

    def _check_place(self, outcome: Outcome) -> None:
        if outcome.places:
            _check_same(self._points[outcome.places[0].number - 1], outcome.places[0])


def standard_of(undisturbed: Outcome) -> Standard:
    """Return the reference for other runs. Raises `SimulationError` if the fault-free run did not end well."""
    result = undisturbed.result
    if result.status not in ENDS:
        raise SimulationError(f"without faults, the run ends as {result.status}: {result.error}")
    return Standard(undisturbed)


def replay(scenario: ScenarioFactory, schedule: str) -> Replay:
    """Replay one run of a campaign, named by `Row.schedule`. `print` shows it step by step.

    Raises `ValueError` for an invalid schedule, and the errors of `campaign`.
    """
    wanted = parse_schedule(schedule)
    with closing(Outside()) as outside:
        standard = standard_of(simulate(scenario, UNDISTURBED, outside))
        outcome = simulate(scenario, wanted, outside, traced=True)
        return Replay(standard.row(outcome), outcome)


@dataclass(frozen=True, slots=True)
class Replay:
    """One run: its result and its trace."""

    row: Row
    outcome: Outcome

    def __str__(self) -> str:
        lines = []
        for number, trace in enumerate(self.outcome.traces, 1):
            lines.append(f"worker {number}")
            lines += [f"  {point.number:>4}  {safe_text(point.place)}" for point in trace]
            if number <= len(self.outcome.places):
                place = self.outcome.places[number - 1]
                done = "killed" if self.outcome.schedule.how == "kill" else "stopped"
                lines.append(f"  {done} at {place.number}: {safe_text(place.place)}")
        lines.append("what happened")
        lines += [f"  {safe_name(effect.name)}, by {safe_name(effect.worker)}" for effect in self.outcome.effects]
        lines.append("journal")
        lines += [
            f"  {record.seq:>4}  {safe_text(record.kind)}{safe_text(_step(record.body))}"
            for record in self.outcome.records
        ]
        row = self.row
        lines.append(f"{row.schedule}: {row.status}{f', {safe_text(row.error)}' if row.error else ''}")
        for kind in ("double", "lost", "guessed", "uncertain", "failed"):
            if names := getattr(row, kind):
                lines.append(f"  {kind}: {safe_names(names)}")
        return "\n".join(lines)


def _step(body: object) -> str:
    step = body.get("step") if hasattr(body, "get") else None
    return "" if step is None else f" of step {step}"


def _pairs(how: Fault, lengths: Mapping[int, int]) -> list[FaultSchedule]:
    """Return schedules with the point of one worker and every point of the other."""
    return [FaultSchedule(how, (at, then)) for at, length in lengths.items() for then in range(1, length + 1)]


def _check_same(first: Point, second: Point) -> None:
    if first.place != second.place:
        raise SimulationError(
            f"the scenario is not deterministic: point {first.number} was {first.place}, then {second.place}"
        )


def _counted(outcome: Outcome) -> str:
    return ", ".join(f"{count} × {name}" for name, count in sorted(outcome.counts.items())) or "no effects"


def _name(scenario: ScenarioFactory) -> str:
    while isinstance(scenario, partial):
        scenario = scenario.func
    return getattr(scenario, "__qualname__", None) or type(scenario).__qualname__
