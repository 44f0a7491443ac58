"""The contract of dispatchers, kept by each engine, and violated by broken ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bobcat.stores import PostgresStore, RedisStore, SQLiteStore
from bobcat.testing import DispatcherContractError, Engine, run_dispatcher_contract
from bobcat.testing.dispatcher_contract.suite import CLAUSES
from bobcat.workers import ProcrastinateDispatcher, StoreDispatcher
from workers.conftest import House
from workers.test_procrastinate import database

EVERY = {clause.__name__ for clause in CLAUSES}


def keeps(make: Callable[[], Engine]) -> None:
    assert set(asyncio.run(run_dispatcher_contract(make)).kept) == EVERY


def test_the_store_as_the_queue_keeps_it(tmp_path: Path) -> None:
    keeps(lambda: Engine(SQLiteStore(tmp_path / "runs.db"), StoreDispatcher()))


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_redis_as_the_queue_keeps_it(redis_url: str) -> None:
    prefix = f"bobcat-test-{uuid4().hex[:12]}:"
    keeps(lambda: Engine(RedisStore(redis_url, prefix=prefix, durability="warn"), StoreDispatcher()))


def test_procrastinate_keeps_it(house: House, postgres_url: str) -> None:
    async def main() -> None:
        async with database(house, postgres_url) as there:
            report = await run_dispatcher_contract(
                lambda: Engine(PostgresStore(there.url, durability="warn"), ProcrastinateDispatcher(there.url))
            )
            assert set(report.kept) == EVERY

    asyncio.run(main())


class Deaf(StoreDispatcher):
    """Executes nothing."""

    async def work(self, runner: Any, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        await stop.wait()


class Single(StoreDispatcher):
    """One run at a time, whatever the concurrency."""

    async def work(self, runner: Any, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        await super().work(runner, concurrency=1, stop=stop, grace_seconds=grace_seconds)


class Greedy(StoreDispatcher):
    """More runs than it may."""

    async def work(self, runner: Any, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        await super().work(runner, concurrency=concurrency + 2, stop=stop, grace_seconds=grace_seconds)


class Abrupt(StoreDispatcher):
    """No grace."""

    async def work(self, runner: Any, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        await super().work(runner, concurrency=concurrency, stop=stop, grace_seconds=0)


class ByMessage(StoreDispatcher):
    """Executes only what it was sent, and when it was sent."""

    sent: asyncio.Queue[str]

    async def enqueue(self, job: Any) -> None:
        await self.sent.put(job.run_id)

    async def work(self, runner: Any, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        while not stop.is_set():
            try:
                async with asyncio.timeout(0.1):
                    run_id = await self.sent.get()
            except TimeoutError:
                continue
            await runner.execute(run_id)


@pytest.mark.parametrize(
    ("broken", "clause"),
    [
        (Deaf, "every_queued_run_is_executed_once"),
        (Single, "a_worker_executes_as_many_runs_at_once_as_it_may"),
        (Greedy, "a_worker_executes_as_many_runs_at_once_as_it_may"),
        (Abrupt, "a_worker_that_stops_lets_runs_end_and_begins_no_other"),
        (ByMessage, "a_run_that_the_engine_lost_is_executed"),
        (ByMessage, "a_higher_priority_goes_first"),
        (ByMessage, "no_run_begins_before_its_time"),
    ],
)
def test_a_broken_engine_violates_it(broken: type[StoreDispatcher], clause: str, tmp_path: Path) -> None:
    async def main() -> None:
        ByMessage.sent = asyncio.Queue()
        await run_dispatcher_contract(
            lambda: Engine(SQLiteStore(tmp_path / "runs.db"), broken()), only=[clause], seconds=4
        )

    with pytest.raises(DispatcherContractError) as violated:
        asyncio.run(main())
    assert [each.clause for each in violated.value.report.violations] == [clause]


def test_an_unknown_clause_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown clause `every_run`"):
        asyncio.run(run_dispatcher_contract(lambda: Engine(None, None), only=["every_run"]))  # type: ignore[arg-type]
