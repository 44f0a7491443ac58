"""Campaigns: a scenario, disturbed at every point, at every pair of points, and by a second worker."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Literal

from bobcat.display import safe_name, safe_names, safe_text
from bobcat.testing.crashsim.errors import SimulationError
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.process import Point
from bobcat.testing.crashsim.progress import OnProgress, Progress, on_terminal
from bobcat.testing.crashsim.report import Report
from bobcat.testing.crashsim.scenario import ScenarioFactory
from bobcat.testing.crashsim.schedule import UNDISTURBED, How, Schedule, parse_schedule
from bobcat.testing.crashsim.simulate import ENDS, Outcome, simulate
from bobcat.testing.crashsim.verdict import Row, Standard


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
    """Disturb the scenario's run everywhere, and count what happened twice, not at all, or perhaps.

    `kills=1`: its worker is killed at every point, and another one goes on when the lease has run out. `kills=2`: and
    that one is killed at every point of its own, and a third goes on. `workers=2`: the worker is stopped at every
    point; a second one takes the run up to every point of its own, and to its end; there the first goes on, to its
    end, then the second. Without `stop_in_tools` the first worker is not stopped while a tool is being called: what
    such a worker does when it wakes, only the receiver of the effect can refuse.

    `limit` is the most runs there are, drawn at random by `seed` where there would be more. `progress` is called after
    every run; by default there is a bar on the terminal, if standard error is one.

    Raises `SimulationError` for a scenario that cannot be simulated: it does not end, is not deterministic, or needs
    the world outside. What the scenario's factory raises comes through.
    """
    if kills not in (0, 1, 2) or workers not in (1, 2):
        raise ValueError(f"kills is 0, 1 or 2 and workers 1 or 2, got kills={kills!r} and workers={workers!r}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit!r}")
    with closing(Outside()) as outside, on_terminal(progress) as tell:
        return _Campaign(scenario, outside, _Sample(limit, random.Random(seed)), tell).run(
            kills, workers, stop_in_tools=stop_in_tools
        )


@dataclass(slots=True)
class _Sample:
    left: int | None
    chance: random.Random
    complete: bool = True

    def of(self, schedules: Sequence[Schedule]) -> Sequence[Schedule]:
        """As many of them as the limit leaves, in order."""
        if self.left is None:
            return schedules
        if len(schedules) > self.left:
            self.complete = False
            schedules = sorted(self.chance.sample(schedules, self.left))
        self.left -= len(schedules)
        return schedules


class _Campaign:
    def __init__(
        self, scenario: ScenarioFactory, outside: Outside, sample: _Sample, tell: Callable[[Progress], object]
    ) -> None:
        self._scenario, self._outside, self._sample, self._tell = scenario, outside, sample, tell
        self._undisturbed = simulate(scenario, UNDISTURBED, outside, traced=True)
        self._points = self._undisturbed.traces[0]
        self._standard = standard_of(self._undisturbed)
        self._check_repeatable(simulate(scenario, UNDISTURBED, outside, traced=True))
        self._rows: list[Row] = [self._standard.row(self._undisturbed)]
        self._faults = 0

    def run(self, kills: int, workers: int, *, stop_in_tools: bool) -> Report:
        once = [Schedule("kill", (point.number,)) for point in self._points] if kills else []
        lengths = self._all("killed once", once, 1)
        if kills > 1:
            self._all("killed twice", _pairs("kill", lengths), 2)
        if workers > 1:
            stops = [point.number for point in self._points if stop_in_tools or not point.in_tool]
            # How long the second worker's run is depends on where the first stands.
            lengths = self._all("stopped", [Schedule("stop", (at,)) for at in stops], 1)
            self._all("two workers", _pairs("stop", lengths), 1)
        return Report(_name(self._scenario), len(self._points), tuple(self._rows), self._sample.complete)

    def _all(self, phase: str, schedules: Sequence[Schedule], worker: int) -> dict[int, int]:
        """Have these runs. The steps that a worker took, by the point of the first."""
        chosen, lengths = self._sample.of(schedules), dict[int, int]()
        for done, schedule in enumerate(chosen):
            outcome = simulate(self._scenario, schedule, self._outside)
            self._check_place(outcome)
            row = self._standard.row(outcome)
            self._rows.append(row)
            self._faults += not row.clean
            if len(outcome.lengths) > worker:
                lengths[schedule.at[0]] = outcome.lengths[worker]
            self._tell(Progress(phase, done + 1, len(chosen), self._faults))
        return lengths

    def _check_repeatable(self, again: Outcome) -> None:
        if again.counts != self._undisturbed.counts:
            raise SimulationError(
                f"the scenario is not deterministic: undisturbed, it had {_counted(self._undisturbed)} the first time, "
                f"and {_counted(again)} the second"
            )
        for first, second in zip(self._points, again.traces[0], strict=False):
            _check_same(first, second)
        if len(self._points) != len(again.traces[0]):
            raise SimulationError(
                f"the scenario is not deterministic: undisturbed, it had {len(self._points)} points the first time, "
                f"and {len(again.traces[0])} the second"
            )

    def _check_place(self, outcome: Outcome) -> None:
        if outcome.places:
            _check_same(self._points[outcome.places[0].number - 1], outcome.places[0])


def standard_of(undisturbed: Outcome) -> Standard:
    """What others are measured by. Raises `SimulationError` when it did not end well itself."""
    result = undisturbed.result
    if result.status not in ENDS:
        raise SimulationError(f"undisturbed, the run ends as {result.status}: {result.error}")
    return Standard(undisturbed)


def replay(scenario: ScenarioFactory, schedule: str) -> Replay:
    """One run of a campaign again: `Row.schedule` names it. `print` shows it step by step.

    Raises `ValueError` for what is no schedule, and what `campaign` raises.
    """
    wanted = parse_schedule(schedule)
    with closing(Outside()) as outside:
        standard = standard_of(simulate(scenario, UNDISTURBED, outside))
        outcome = simulate(scenario, wanted, outside, traced=True)
        return Replay(standard.row(outcome), outcome)


@dataclass(frozen=True, slots=True)
class Replay:
    """One run: what came of it, and everything that happened in it."""

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


def _pairs(how: How, lengths: Mapping[int, int]) -> list[Schedule]:
    """The point of one worker, with every point of the other."""
    return [Schedule(how, (at, then)) for at, length in lengths.items() for then in range(1, length + 1)]


def _check_same(first: Point, second: Point) -> None:
    if first.place != second.place:
        raise SimulationError(
            f"the scenario is not deterministic: point {first.number} was {first.place}, and then {second.place}"
        )


def _counted(outcome: Outcome) -> str:
    return ", ".join(f"{count} × {name}" for name, count in sorted(outcome.counts.items())) or "no effects"


def _name(scenario: ScenarioFactory) -> str:
    while isinstance(scenario, partial):
        scenario = scenario.func
    return getattr(scenario, "__qualname__", None) or type(scenario).__qualname__
