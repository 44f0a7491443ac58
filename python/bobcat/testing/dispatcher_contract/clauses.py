"""The clauses: what an engine must do, whatever it is."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

from bobcat.stores.protocol import RunStatus
from bobcat.testing.contract.subject import Violated
from bobcat.testing.dispatcher_contract.subject import LEASE_SECONDS, Behaviour, EngineUnderTest, until, until_status
from bobcat.workers.jobs import Jobs

RUNS = 12


def _demand(true: bool, seen: str) -> None:
    if not true:
        raise Violated(seen)


async def every_queued_run_is_executed_once(subject: EngineUnderTest) -> None:
    """Runs that are queued before and after the workers start are executed, each once, by any of several workers."""
    jobs, _ = await subject.producer()
    runs = Behaviour()
    wanted = [f"{runs.kind}-{each}" for each in range(RUNS)]
    for run_id in wanted[: RUNS // 2]:
        await jobs.enqueue(runs.kind, run_id=run_id)
    async with subject.working(runs.app()), subject.working(runs.app()):
        for run_id in wanted[RUNS // 2 :]:
            await jobs.enqueue(runs.kind, run_id=run_id)
        await until(lambda: len(runs.finished) >= RUNS, f"{RUNS} runs finished: {runs.finished}")
    _demand(sorted(runs.names()) == sorted(wanted), f"started: {runs.names()}")


async def a_run_that_is_queued_twice_is_executed_once(subject: EngineUnderTest) -> None:
    """Queueing is idempotent, and an additional delivery has no effect."""
    jobs, store = await subject.producer()
    runs = Behaviour()
    async with subject.working(runs.app()):
        for _ in range(3):
            await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-r")
        await until_status(store, f"{runs.kind}-r", "succeeded")
        await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-r")
        await asyncio.sleep(0.5)
    _demand(len(runs.started) == 1, f"started: {runs.names()}")


async def no_run_begins_before_its_time(subject: EngineUnderTest) -> None:
    """A run with a later `run_at` begins then, although others are executed before."""
    jobs, store = await subject.producer()
    runs = Behaviour()
    at = await store.now() + timedelta(seconds=1.5)
    began = time.monotonic()
    await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-later", run_at=at)
    async with subject.working(runs.app()):
        await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-now")
        await until(lambda: len(runs.finished) == 2, "both runs finished")
    _demand(runs.names() == [f"{runs.kind}-now", f"{runs.kind}-later"], f"started: {runs.names()}")
    waited = runs.started[1][1] - began
    _demand(waited >= 1.4, f"it began after {waited:.2f} s")


async def a_higher_priority_goes_first(subject: EngineUnderTest) -> None:
    """Of the runs that wait, those of higher priority begin first, then those that were queued first."""
    jobs, _ = await subject.producer()
    runs = Behaviour()
    for each, priority in enumerate((0, 5, 0, 9)):
        await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-{each}", priority=priority)
    async with subject.working(runs.app(), concurrency=1):
        await until(lambda: len(runs.finished) == 4, "all runs finished")
    wanted = [f"{runs.kind}-{each}" for each in (3, 1, 0, 2)]
    _demand(runs.names() == wanted, f"started: {runs.names()}, not {wanted}")


async def a_worker_executes_as_many_runs_at_once_as_it_may(subject: EngineUnderTest) -> None:
    """`concurrency` runs at once, and no more."""
    jobs, _ = await subject.producer()
    runs = Behaviour()
    runs.seconds = 0.3
    for each in range(RUNS):
        await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-{each}")
    async with subject.working(runs.app(), concurrency=3):
        await until(lambda: len(runs.finished) == RUNS, "all runs finished")
    _demand(runs.most_at_once == 3, f"{runs.most_at_once} runs at once")


async def the_limit_of_a_tenant_holds_for_all_workers(subject: EngineUnderTest) -> None:
    """A tenant at its limit waits, and the runs of others go on."""
    jobs, _ = await subject.producer()
    runs = Behaviour()
    runs.seconds = 0.2
    for each in range(4):
        await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-{each}", tenant=runs.kind)
    async with subject.working(runs.app(tenant_limit=1)), subject.working(runs.app(tenant_limit=1)):
        await until(lambda: len(runs.finished) == 4, "all runs finished")
    _demand(runs.most_at_once == 1, f"{runs.most_at_once} runs of the tenant at once")


async def a_failed_attempt_is_made_again_later(subject: EngineUnderTest) -> None:
    """A run whose agent raised is tried again, by the rules of the app."""
    jobs, store = await subject.producer()
    runs = Behaviour()
    run_id = f"{runs.kind}-r"
    runs.failures[run_id] = 2
    async with subject.working(runs.app()):
        await jobs.enqueue(runs.kind, run_id=run_id)
        await until_status(store, run_id, "succeeded")
    _demand(runs.names() == [run_id] * 3, f"started: {runs.names()}")


async def a_cancelled_run_is_not_executed(subject: EngineUnderTest) -> None:
    """A run that was cancelled while it waited does not begin."""
    jobs, store = await subject.producer()
    runs = Behaviour()
    await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-no")
    await jobs.cancel(f"{runs.kind}-no")
    async with subject.working(runs.app()):
        await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-yes")
        await until_status(store, f"{runs.kind}-yes", "succeeded")
        await asyncio.sleep(0.3)
    _demand(runs.names() == [f"{runs.kind}-yes"], f"started: {runs.names()}")


async def a_worker_that_stops_lets_runs_end_and_begins_no_other(subject: EngineUnderTest) -> None:
    """`work` returns within the grace period, the run in progress has ended, and the others still wait."""
    jobs, store = await subject.producer()
    runs = Behaviour()
    runs.seconds = 0.6
    for each in range(3):
        await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-{each}")
    async with subject.working(runs.app(), concurrency=1) as stop:
        await until(lambda: len(runs.started) == 1, "a run started")
        stop.set()
    _demand(runs.finished == [f"{runs.kind}-0"], f"finished: {runs.finished}")
    left = [run.run_id for run in await store.runs(status="queued") if run.run_id.startswith(runs.kind)]
    _demand(len(left) == 2, f"left: {left}")
    async with subject.working(runs.app()):
        await until(lambda: len(runs.finished) == 3, "all runs finished")


async def a_run_without_time_to_end_continues_elsewhere(subject: EngineUnderTest) -> None:
    """After the grace period `work` gives its runs back at once, and another worker continues them."""
    jobs, store = await subject.producer()
    runs = Behaviour()
    runs.seconds = 60.0
    await jobs.enqueue(runs.kind, run_id=f"{runs.kind}-r")
    async with subject.working(runs.app(), grace_seconds=0.1):
        await until(lambda: len(runs.started) == 1, "the run started")
    runs.seconds = 0.0
    began = time.monotonic()
    async with subject.working(runs.app()):
        await until_status(store, f"{runs.kind}-r", "succeeded")
    waited = time.monotonic() - began
    _demand(waited < LEASE_SECONDS * 5, f"it continued after {waited:.1f} s")


async def a_run_of_a_dead_worker_is_taken_over(subject: EngineUnderTest) -> None:
    """A run whose worker died is executed when its lease has ended."""
    jobs, store = await subject.producer()
    runs = Behaviour()
    run_id = f"{runs.kind}-r"
    await jobs.enqueue(runs.kind, run_id=run_id)
    queued: tuple[RunStatus, ...] = ("queued",)
    await store.set_status(run_id, "running", expected=queued)  # as a worker does that dies then
    await store.acquire(run_id, owner="dead", seconds=LEASE_SECONDS)
    async with subject.working(runs.app()):
        await until_status(store, run_id, "succeeded")
    _demand(runs.names() == [run_id], f"started: {runs.names()}")


async def a_run_that_the_engine_lost_is_executed(subject: EngineUnderTest) -> None:
    """A run is in the store before the engine hears of it: without its message, it is found."""
    _, store = await subject.producer()
    runs = Behaviour()
    async with subject.working(runs.app()):
        await Jobs(store).enqueue(runs.kind, run_id=f"{runs.kind}-r")
        await until_status(store, f"{runs.kind}-r", "succeeded")


async def a_run_of_another_kind_is_left(subject: EngineUnderTest) -> None:
    """A worker leaves the runs that its app does not have to a worker whose app has them."""
    jobs, store = await subject.producer()
    mine, other = Behaviour(), Behaviour()
    async with subject.working(mine.app()):
        await jobs.enqueue(other.kind, run_id=f"{other.kind}-r")
        await jobs.enqueue(mine.kind, run_id=f"{mine.kind}-r")
        await until_status(store, f"{mine.kind}-r", "succeeded")
        await asyncio.sleep(0.3)
        run = await store.run(f"{other.kind}-r")
        _demand(run is not None and run.status == "queued", f"the other run is {run and run.status}")
        async with subject.working(other.app()):
            await until_status(store, f"{other.kind}-r", "succeeded")
