"""Leases count by the server's clock, or by the time since the machine started: the date may say what it likes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    FileStore,
    FinalAnswer,
    MemoryStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    ToolCall,
    ToolSet,
    compile_policy,
    tool,
)
from bobcat.stores.protocol import LeaseLost, RunBusy
from bobcat.testing import run_store_contract
from bobcat.workers import Job, Jobs, Runner, Workers
from stores.appender import entry

ALLOW = compile_policy("rules: [{id: act, match: {tool: act}, decision: allow}]")

ABOUT_TIME = [
    "a_lease_keeps_others_out",
    "a_lease_ends",
    "a_renewal_counts_from_now",
    "a_taken_run_is_lost",
    "a_run_has_a_status",
    "runs_are_listed",
    "time_is_the_stores",
]
DAY = 86_400 * 10**9


@pytest.fixture(params=[-DAY, DAY], ids=["a day behind", "a day ahead"])
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    right = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right() + request.param)
    monkeypatch.setattr(time, "time", lambda: (right() + request.param) / 1e9)


@pytest.mark.usefixtures("wrong_clock")
def test_postgres_has_a_clock(postgres_url: str, schema: str) -> None:
    make = partial(PostgresStore, postgres_url, schema=schema, durability="warn")
    assert list(asyncio.run(run_store_contract(make, only=ABOUT_TIME)).kept) == ABOUT_TIME


@pytest.mark.usefixtures("wrong_clock")
@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_redis_has_a_clock(redis_url: str, prefix: str) -> None:
    make = partial(RedisStore, redis_url, prefix=prefix, durability="warn")
    assert list(asyncio.run(run_store_contract(make, only=ABOUT_TIME)).kept) == ABOUT_TIME


HOUR = 3600 * 10**9
Step = Callable[[int], None]
"""Sets the date of the machine: so many nanoseconds away from the right one."""


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Step:
    right_ns, right, right_datetime = time.time_ns, time.time, datetime
    away = 0

    class SetClock(right_datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return right_datetime.now(tz) + timedelta(microseconds=away / 1000)

    monkeypatch.setattr(time, "time_ns", lambda: right_ns() + away)
    monkeypatch.setattr(time, "time", lambda: right() + away / 1e9)
    monkeypatch.setattr("bobcat.stores.memory.datetime", SetClock)

    def to(nanoseconds: int) -> None:
        nonlocal away
        away = nanoseconds

    return to


@pytest.fixture(params=["memory", "sqlite", "file"])
def local(request: pytest.FixtureRequest, tmp_path: Path, step: Step) -> Callable[[], Any]:
    """Store objects over one storage of this machine."""
    if request.param == "memory":
        store = MemoryStore()
        return lambda: store
    if request.param == "sqlite":
        return lambda: SQLiteStore(tmp_path / "runs.db")
    return lambda: FileStore(tmp_path / "journals")


def test_an_hour_forward_ends_no_lease(local: Callable[[], Any], step: Step) -> None:
    async def main() -> None:
        async with aclosing(local()) as store, aclosing(local()) as other:
            lease = await store.acquire("r", owner="a", seconds=30)
            step(HOUR)
            with pytest.raises(RunBusy):
                await other.acquire("r", owner="b", seconds=30)
            await store.append_fenced(entry("r", 0), lease)
            assert (await other.run("r")).held
            await store.renew(lease, seconds=30)
            step(0)
            with pytest.raises(RunBusy):
                await other.acquire("r", owner="b", seconds=30)

    asyncio.run(main())


def test_an_hour_back_keeps_no_lease(local: Callable[[], Any], step: Step) -> None:
    async def main() -> None:
        async with aclosing(local()) as store, aclosing(local()) as other:
            lease = await store.acquire("r", owner="a", seconds=0.3)
            step(-HOUR)
            await asyncio.sleep(0.35)
            assert not (await other.run("r")).held
            taken = await other.acquire("r", owner="b", seconds=30)
            assert taken.fence == lease.fence + 1
            with pytest.raises(LeaseLost):
                await store.append_fenced(entry("r", 0), lease)

    asyncio.run(main())


@pytest.mark.parametrize("hours", [1, -1])
def test_a_worker_keeps_its_run_through_a_step_of_the_clock(local: Callable[[], Any], step: Step, hours: int) -> None:
    """Another worker that looks meanwhile finds the run busy, and the run ends as if nothing had been."""
    ran: list[int] = []

    async def main() -> tuple[str, str]:
        async with aclosing(local()) as store, aclosing(local()) as other:
            workers = Workers()

            @workers.run("slow")
            def slow(job: Job) -> dict[str, Any]:
                @tool
                async def act() -> str:
                    ran.append(1)
                    step(hours * HOUR)
                    delivery = await Runner(workers, other, lease_seconds=1.0).execute(job.run_id)
                    swept = await Runner(workers, other, lease_seconds=1.0).sweep()
                    assert (delivery.outcome, swept) == ("busy", [])
                    await asyncio.sleep(1.5)
                    delivery = await Runner(workers, other, lease_seconds=1.0).execute(job.run_id)
                    assert delivery.outcome == "busy"
                    return "done"

                class Once:
                    async def step(self, conversation: Any) -> Any:
                        return ToolCall("act", {}) if len(conversation) == 1 else FinalAnswer(conversation[-1].content)

                return {"agent": Once(), "task": "act", "tools": ToolSet.from_functions(act), "policy": ALLOW}

            await Jobs(store).enqueue("slow", run_id="r")
            delivery = await Runner(workers, store, lease_seconds=1.0).execute("r")
            return delivery.outcome, (await store.run("r")).status

    assert asyncio.run(main()) == ("succeeded", "succeeded")
    assert ran == [1]


def test_the_run_of_a_dead_worker_is_found_after_an_hour_back(local: Callable[[], Any], step: Step) -> None:
    async def main() -> None:
        async with aclosing(local()) as store:
            workers = Workers()
            runner = Runner(workers, store, lease_seconds=0.3)
            await Jobs(store).enqueue("any", run_id="r")
            await store.acquire("r", owner="dead", seconds=0.3)
            await store.set_status("r", "running")
            step(-HOUR)
            await asyncio.sleep(0.4)
            workers.run("any")(lambda job: {})
            assert await runner.sweep() == ["r"]

    asyncio.run(main())


def test_a_lease_of_an_earlier_start_of_the_machine_ends_by_its_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with aclosing(SQLiteStore(tmp_path / "runs.db")) as store:
            await store.acquire("r", owner="a", seconds=0.3)
            await store.acquire("s", owner="a", seconds=30)
        monkeypatch.setattr("bobcat.stores.lease_clock.boot_id", lambda: "another start")
        async with aclosing(SQLiteStore(tmp_path / "runs.db")) as store:
            await asyncio.sleep(0.35)
            await store.acquire("r", owner="b", seconds=30)
            with pytest.raises(RunBusy):
                await store.acquire("s", owner="b", seconds=30)

    asyncio.run(main())
