"""Workers on the queue of every store: fair turns, starts without polling, takeovers, runs of earlier releases."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import Approvals, MemoryStore
from bobcat.workers import Job, Jobs, Runner, StoreDispatcher, Workers
from workers.conftest import House
from workers.test_dead_workers import make_store

KINDS = ["memory", "sqlite", "file", "postgres", "redis"]
FLOOD = 40
PROMPTLY = 60.0
"""Seconds until a run must have started, on a machine that has other work. A poll would come after an hour."""

pytestmark = pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any]:
    """Two objects over one storage: a worker's, and that of a program that queues runs."""
    kind = request.param
    first = make_store(kind, tmp_path, request)
    return first, first if kind == "memory" else make_store(kind, tmp_path, request)


@asynccontextmanager
async def worker(house: House, store: Any, app: Workers | None = None, concurrency: int = 4) -> AsyncIterator[Runner]:
    """A worker that only looks at the queue when something tells it to."""
    runner, stop = Runner(app or house.app.workers, store, lease_seconds=60), asyncio.Event()
    dispatcher = StoreDispatcher(poll_seconds=3600)
    working = asyncio.create_task(dispatcher.work(runner, concurrency=concurrency, stop=stop, grace_seconds=5))
    await asyncio.sleep(0.5)
    try:
        yield runner
    finally:
        stop.set()
        await asyncio.wait_for(working, 60)


async def until_status(store: Any, run_id: str, status: str, seconds: float = PROMPTLY) -> float:
    began = time.monotonic()
    while (run := await store.run(run_id)) is None or run.status != status:
        assert time.monotonic() - began < seconds, f"{run_id} is {run and run.status}, not {status}"
        await asyncio.sleep(0.01)
    return time.monotonic() - began


def test_a_flood_of_one_tenant_delays_another_by_one_run(house: House, stores: tuple[Any, Any]) -> None:
    store, other = stores

    async def main() -> None:
        jobs = Jobs(other)
        for number in range(FLOOD):
            await jobs.enqueue("note", {"text": f"flood-{number}"}, tenant="flood", priority=9)
        for number in range(3):
            await jobs.enqueue("note", {"text": f"few-{number}"}, tenant="few")
        async with worker(house, store, concurrency=1):
            await until_status(other, (await jobs.enqueue("note", {"text": "last"})).run_id, "succeeded", 60)
        few = [at for at, text in enumerate(house.effects) if text.startswith("few")]
        assert all(at <= 2 * number + 2 for number, at in enumerate(few)), house.effects
        flood = [text for text in house.effects if text.startswith("flood")]
        assert flood == [f"flood-{number}" for number in range(len(flood))], "in the order of queueing"
        await other.aclose()
        await store.aclose()

    asyncio.run(main())


def test_every_path_into_the_queue_starts_a_run_without_a_poll(house: House, stores: tuple[Any, Any]) -> None:
    store, other = stores

    async def main() -> None:
        jobs, desk = Jobs(other), Approvals(other)
        async with worker(house, store):
            await jobs.enqueue("note", {"text": "queued"}, run_id="queued")
            await until_status(other, "queued", "succeeded")
            await jobs.enqueue("asks", run_id="asks")
            await until_status(other, "asks", "suspended")
            (asked,) = await desk.list()
            await desk.grant(asked.id, approver="alice")
            await until_status(other, "asks", "succeeded")
            at = await other.now() + timedelta(seconds=0.5)
            await jobs.enqueue("note", {"text": "later"}, run_id="later", run_at=at)
            await until_status(other, "later", "succeeded")
            assert await other.now() >= at
            await jobs.enqueue("fails", {"times": 2}, run_id="fails")
            await until_status(other, "fails", "succeeded", 2 * PROMPTLY)
            await jobs.cancel((await jobs.enqueue("nobody has it", run_id="resumed")).run_id)
            await jobs.enqueue("note", {"text": "again"}, run_id="again", run_at=at + timedelta(hours=1))
            await jobs.resume("again")
            await until_status(other, "again", "succeeded")
        await other.aclose()
        await store.aclose()

    asyncio.run(main())


def test_a_run_that_becomes_due_while_the_worker_asks_for_the_next_time_starts_then(house: House) -> None:
    class Slow(MemoryStore):
        async def next_due(self) -> Any:
            await asyncio.sleep(0.3)
            return await super().next_due()

    async def main() -> None:
        store = Slow()
        async with worker(house, store):
            at = await store.now() + timedelta(seconds=0.15)
            await Jobs(store).enqueue("note", {"text": "late"}, run_id="r", run_at=at)
            await until_status(store, "r", "succeeded")

    asyncio.run(main())


def test_a_dead_worker_s_run_is_taken_over_within_a_second_of_its_lease(house: House, stores: tuple[Any, Any]) -> None:
    store, other = stores

    async def main() -> None:
        await Jobs(other).enqueue("note", {"text": "x"}, run_id="r")
        claim = await Runner(house.app.workers, other, lease_seconds=1.5).claim()
        assert claim is not None
        async with worker(house, store):
            await until_status(other, "r", "succeeded")
        late = (await other.now() - claim.lease.expires).total_seconds()
        assert (await Jobs(other).get("r")).attempts == 1, "the death is counted, the success is not"
        assert 0 <= late < 1.0 + PROMPTLY, "the end of the worker takes a part of it"
        await other.aclose()
        await store.aclose()

    asyncio.run(main())


def test_runs_of_an_earlier_release_are_adopted(house: House, stores: tuple[Any, Any]) -> None:
    store, other = stores

    async def main() -> None:
        now = await other.now()
        for run_id, status in (("queued", "queued"), ("dead", "running"), ("done", "succeeded")):
            job = Job(run_id, "note", {"text": run_id}, now, attempts=1)
            await other.put("job", run_id, job.to_json(), expected=0)
            await other.set_status(run_id, status, detail=job.detail())
        async with worker(house, store):
            await until_status(other, "queued", "succeeded")
            await until_status(other, "dead", "succeeded", 3 * PROMPTLY)
        assert sorted(house.effects) == ["dead", "queued"]
        assert (await other.get("queue", "adopted")) is not None
        await other.aclose()
        await store.aclose()

    asyncio.run(main())
