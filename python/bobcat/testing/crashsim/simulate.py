"""One simulated run after a schedule, from its first worker to its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bobcat.journal import StepRecord
from bobcat.kernel.loop import run_agent
from bobcat.model import RunResult
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.process import Point, Process, alone
from bobcat.testing.crashsim.scenario import Scenario, ScenarioFactory, Stage
from bobcat.testing.crashsim.schedule import Schedule
from bobcat.testing.crashsim.seams import SimAgent, with_points
from bobcat.testing.crashsim.stores import SimStore, SimTransactionalStore
from bobcat.testing.crashsim.world import Effect
from bobcat.tools import ToolSet

ENDS = ("succeeded", "suspended")
"""How a run that nothing is wrong with stands in the end."""
ROUNDS = 4
"""Workers that take up a run, one after the other, when none is disturbed any more."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    schedule: Schedule
    places: tuple[Point, ...]
    """Where the workers were killed or stopped. Fewer than the schedule names when a worker ended before."""
    traces: tuple[tuple[Point, ...], ...]
    """The points that each worker passed, where they were asked for."""
    lengths: tuple[int, ...]
    """The steps that each worker took."""
    result: RunResult
    effects: tuple[Effect, ...]
    counts: Counter[str]
    steps: Mapping[str, int]
    """Which step of the run an effect belongs to, where that is known."""
    records: Sequence[StepRecord]


class _Run:
    def __init__(self, factory: ScenarioFactory, outside: Outside, *, traced: bool) -> None:
        self.stage = Stage(outside)
        self.scenario: Scenario = factory(self.stage)
        self.store: SimStore = self.stage.store(self.scenario.store)
        self.traced = traced
        self.workers: list[Process] = []
        self.places: list[Point] = []
        self.result: RunResult | None = None
        self._tools: ToolSet | None = None
        self._steps: dict[str, int] = {}

    def worker(self, *, patient: bool = True) -> Process:
        """A new worker process. A patient one tries again when the run is another worker's."""
        name = f"worker {len(self.workers) + 1}"
        made = Process(name, self.stage.clock, lambda: self._work(name, patient=patient))
        if self.traced:
            made.trace, made.watch = [], self._watch
        self.workers.append(made)
        return made

    async def _work(self, name: str, *, patient: bool) -> RunResult:
        scenario = self.scenario
        while True:
            result = await run_agent(
                SimAgent(scenario.agent()), scenario.task,
                tools=self._made_tools(), policy=scenario.policy, store=self.store, run_id=scenario.run_id,
                on_approval=scenario.on_approval, lease_seconds=scenario.lease_seconds,
                **{"correlation_id": scenario.run_id, "owner": name, "clock": self.stage.clock, **scenario.options},
            )  # fmt: skip
            if result.status == "suspended" and scenario.answer is not None:
                await scenario.answer(result)
            elif result.status == "superseded" and patient:
                await asyncio.sleep(scenario.lease_seconds)
            else:
                return result

    def _made_tools(self) -> ToolSet:
        """The tools of one worker, with points."""
        given = self.scenario.tools
        if not isinstance(given, ToolSet):
            return with_points(given())
        if self._tools is None:  # PERF: a tool's schema is made once for a run, not for every worker
            self._tools = with_points(given)
        return self._tools

    def _watch(self) -> None:
        """See which effects are there that were not, and note on whose account."""
        step = self.store.acting
        if step is not None and self.scenario.effects is not None:
            self._steps = {**dict.fromkeys(self.scenario.effects(), step), **self._steps}

    def steps(self) -> dict[str, int]:
        """Which step an effect belongs to."""
        told = {each.name: each.step for each in self.stage.world.effects if each.step is not None}
        return {**self._steps, **told}

    def advance(self, worker: Process, until: int | None = None) -> bool:
        """Whether the worker was brought to that point; without one, or when it ended before, it ran to its end."""
        found = worker.advance(until)
        if found is None:
            self.result = worker.result()
            return False
        self.places.append(found)
        return True

    def kill(self, worker: Process) -> None:
        if isinstance(self.store, SimTransactionalStore):
            self.store.forget(worker.loop)
        worker.kill()

    def finish(self, rounds: int) -> RunResult:
        """Let workers take the run up until it has ended, so many at most."""
        for _ in range(rounds):
            if self.result is not None and self.result.status in ENDS:
                break
            self.stage.clock.seconds += self.scenario.lease_seconds
            self.advance(self.worker())
        if self.result is None:
            raise RuntimeError("no worker has ended")
        return self.result


def simulate(factory: ScenarioFactory, schedule: Schedule, outside: Outside, *, traced: bool = False) -> Outcome:
    """Have the run, disturbed as the schedule says. Raises `SimulationError`, and what the scenario itself raises."""
    run = _Run(factory, outside, traced=traced)
    try:
        if schedule.how == "stop":
            _interleave(run, *schedule.at)
        else:
            for number, at in enumerate(schedule.at):
                if number:
                    run.stage.clock.seconds += run.scenario.lease_seconds
                worker = run.worker()
                if not run.advance(worker, at):
                    break
                run.kill(worker)
            if not schedule.at:
                run.advance(run.worker())
        result = run.finish(ROUNDS if schedule.at else 0)
        return _outcome(run, schedule, result)
    finally:
        for worker in run.workers:
            if not worker.loop.dead:
                run.kill(worker)
        run.stage.close()


def _interleave(run: _Run, first: int, second: int | None = None) -> None:
    stopped = run.worker(patient=False)
    if not run.advance(stopped, first):
        return
    other = run.worker()
    if run.advance(other, second):
        run.advance(stopped)
        run.advance(other)
    else:
        ended = run.result
        run.advance(stopped)
        run.result = ended


def _outcome(run: _Run, schedule: Schedule, result: RunResult) -> Outcome:
    records: Sequence[StepRecord] = alone(run.stage.clock, lambda: run.store.load(run.scenario.run_id))
    counts = run.stage.world.counts()
    if run.scenario.effects is not None:
        counts.update(run.scenario.effects())
    return Outcome(
        schedule, tuple(run.places), tuple(tuple(each.trace or ()) for each in run.workers),
        tuple(each.steps for each in run.workers), result, tuple(run.stage.world.effects), counts, run.steps(),
        records,
    )  # fmt: skip
