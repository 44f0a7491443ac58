"""One simulated run with a fault schedule, from its first worker to its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bobcat.journal.records import StepRecord
from bobcat.model.run import RunResult
from bobcat.runtime.loop import run_agent
from bobcat.testing.crashsim.outside import Outside
from bobcat.testing.crashsim.process import Point, Process, alone
from bobcat.testing.crashsim.scenario import Scenario, ScenarioFactory, Stage, Worker
from bobcat.testing.crashsim.schedule import FaultSchedule
from bobcat.testing.crashsim.seams import SimAgent, with_points
from bobcat.testing.crashsim.stores import SimStore, SimTransactionalStore
from bobcat.testing.crashsim.world import Effect
from bobcat.tools.toolset import ToolSet

ENDS = ("succeeded", "suspended")
"""Final statuses of a run without a fault."""
ROUNDS = 4
"""Maximum workers that continue a run one after the other after the last fault."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a run."""

    schedule: FaultSchedule
    places: tuple[Point, ...]
    """Points at which workers were killed or stopped. Fewer than in the schedule if a worker ended earlier."""
    traces: tuple[tuple[Point, ...], ...]
    """The points that each worker passed, if traced."""
    lengths: tuple[int, ...]
    """The number of steps of each worker."""
    result: RunResult
    effects: tuple[Effect, ...]
    counts: Counter[str]
    steps: Mapping[str, int]
    """The run's step for each effect, if known."""
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
        """Return a new worker process. A patient one retries while another worker has the run."""
        name = f"worker {len(self.workers) + 1}"
        created = Process(name, self.stage.clock, lambda: self._work(name, patient=patient))
        if self.traced:
            created.trace, created.watch = [], self._watch
        self.workers.append(created)
        return created

    async def _work(self, name: str, *, patient: bool) -> RunResult:
        scenario = self.scenario
        while True:
            result = await self._drive(name)
            if result.status == "suspended" and scenario.answer is not None:
                await scenario.answer(result)
            elif result.status == "superseded" and patient:
                await asyncio.sleep(scenario.lease_seconds)
            else:
                return result

    async def _drive(self, name: str) -> RunResult:
        scenario = self.scenario
        if scenario.drive is not None:
            return await scenario.drive(Worker(name, self.store, self._create_tools()))
        return await run_agent(
            SimAgent(scenario.agent()), scenario.task,
            tools=self._create_tools(), policy=scenario.policy, store=self.store, run_id=scenario.run_id,
            on_approval=scenario.on_approval, lease_seconds=scenario.lease_seconds,
            **{"correlation_id": scenario.run_id, "owner": name, "clock": self.stage.clock, **scenario.options},
        )  # fmt: skip

    def _create_tools(self) -> ToolSet:
        """Return the tools of one worker, with points."""
        given = self.scenario.tools
        if not isinstance(given, ToolSet):
            return with_points(given())
        if self._tools is None:  # PERF: a tool's schema is created once for a run, not for every worker
            self._tools = with_points(given)
        return self._tools

    def _watch(self) -> None:
        """Detect new effects, and record their worker."""
        step = self.store.acting
        if step is not None and self.scenario.effects is not None:
            self._steps = {**dict.fromkeys(self.scenario.effects(), step), **self._steps}

    def steps(self) -> dict[str, int]:
        """Return the step of each effect."""
        observed = {each.name: each.step for each in self.stage.world.effects if each.step is not None}
        return {**self._steps, **observed}

    def advance(self, worker: Process, until: int | None = None) -> bool:
        """Advance a worker to a point and return true; run it to its end if there is no point or it ends earlier."""
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
        """Let workers continue the run until it has ended, at most `rounds` times."""
        for _ in range(rounds):
            if self.result is not None and self.result.status in ENDS:
                break
            self.stage.clock.seconds += self.scenario.lease_seconds
            self.advance(self.worker())
        if self.result is None:
            raise RuntimeError("no worker has ended")
        return self.result


def simulate(factory: ScenarioFactory, schedule: FaultSchedule, outside: Outside, *, traced: bool = False) -> Outcome:
    """Simulate the run with the faults of a schedule. Raises `SimulationError`, and the exceptions of the scenario."""
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


def _outcome(run: _Run, schedule: FaultSchedule, result: RunResult) -> Outcome:
    records: Sequence[StepRecord] = alone(run.stage.clock, lambda: run.store.load(run.scenario.run_id))
    counts = run.stage.world.counts()
    if run.scenario.effects is not None:
        counts.update(run.scenario.effects())
    return Outcome(
        schedule, tuple(run.places), tuple(tuple(each.trace or ()) for each in run.workers),
        tuple(each.steps for each in run.workers), result, tuple(run.stage.world.effects), counts, run.steps(),
        records,
    )  # fmt: skip
