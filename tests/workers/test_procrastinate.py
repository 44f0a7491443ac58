"""The queue on PostgreSQL: delivered, delayed, woken, taken over from a killed process, drained."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from bobcat import Approvals
from bobcat.workers import Jobs, ProcrastinateDispatcher, Runner
from bobcat.workers.procrastinate import TASK
from services import Server
from workers.conftest import House, Processes

CHILD = """
import asyncio, sys
from bobcat.stores import SQLiteStore
from bobcat.workers import ProcrastinateDispatcher, Runner
sys.path.insert(0, {tests!r})
from workers.conftest import APP, load
async def main():
    runner = Runner(load(APP).workers, SQLiteStore({store!r}), lease_seconds=2)
    await ProcrastinateDispatcher({url!r}).work(runner, concurrency=2, stop=asyncio.Event(), grace_seconds=1)
asyncio.run(main())
"""


@asynccontextmanager
async def worker(house: House, url: str, lease: float = 2.0) -> AsyncIterator[asyncio.Event]:
    """A worker in this process until the block ends."""
    stop, dispatcher = asyncio.Event(), ProcrastinateDispatcher(url, sweep_seconds=0.2)
    runner = Runner(house.app.workers, house.store, dispatcher=dispatcher, lease_seconds=lease)
    at_work = asyncio.create_task(dispatcher.work(runner, concurrency=4, stop=stop, grace_seconds=5))
    try:
        yield stop
    finally:
        stop.set()
        await asyncio.wait_for(at_work, 60)


def test_what_is_queued_is_made_once(house: House, postgres_url: str) -> None:
    async def main() -> None:
        client = ProcrastinateDispatcher(postgres_url)
        jobs = Jobs(house.store, client)
        async with worker(house, postgres_url), worker(house, postgres_url):
            for number in range(10):
                await jobs.enqueue("note", {"text": f"{number}"}, run_id=f"r{number}")
                await jobs.enqueue("note", {"text": f"{number}"}, run_id=f"r{number}")
            for number in range(10):
                await house.until_status(f"r{number}", "succeeded")
        await client.aclose()
        assert sorted(house.effects) == [str(number) for number in range(10)]

    asyncio.run(main())


def test_what_was_queued_without_the_queue_is_found(house: House, postgres_url: str) -> None:
    """As `bobcat runs queue` does, and an approval that wakes a run."""

    async def main() -> None:
        job = await house.jobs.enqueue("asks")
        later = await house.jobs.enqueue("note", {"text": "x"}, run_at=await house.store.now() + timedelta(seconds=1))
        async with worker(house, postgres_url):
            await house.until_status(job.run_id, "suspended")
            (asked,) = await Approvals(house.store).list()
            await Approvals(house.store).grant(asked.id, approver="alice")
            await house.until_status(job.run_id, "succeeded")
            await house.until_status(later.run_id, "succeeded")
        assert sorted(house.effects) == ["paid 40", "x"]

    asyncio.run(main())


def test_a_run_that_waits_for_its_time_is_made_at_once_when_it_is_resumed(house: House, postgres_url: str) -> None:
    """The job that waits in the queue has the run's lock, and must not keep it until then."""

    async def main() -> None:
        client = ProcrastinateDispatcher(postgres_url)
        jobs = Jobs(house.store, client)
        later = await house.store.now() + timedelta(hours=1)
        async with worker(house, postgres_url):
            by_queue, urgent, by_store = [
                (await jobs.enqueue("note", {"text": text}, run_at=later, priority=priority)).run_id
                for text, priority in (("by the queue", 0), ("of high priority", 9), ("by the store", 0))
            ]
            await jobs.resume(by_queue)
            await jobs.resume(urgent)
            await house.jobs.resume(by_store)
            for run_id in (by_queue, urgent, by_store):
                await house.until_status(run_id, "succeeded", seconds=20)
        await client.aclose()
        assert sorted(house.effects) == ["by the queue", "by the store", "of high priority"]

    asyncio.run(main())


def test_the_engine_has_one_job_however_many_runs_of_a_kind_wait(house: House, postgres_url: str) -> None:
    async def main() -> None:
        async with database(house, postgres_url) as there:
            client = ProcrastinateDispatcher(there.url)
            jobs = Jobs(there.store, client)
            later = await there.store.now() + timedelta(hours=1)
            runs = [(await jobs.enqueue("note", {"text": f"{number}"})).run_id for number in range(20)]
            for number in range(20):
                await jobs.enqueue("note", {"text": f"later {number}"}, run_at=later)
            assert len(list(await client._app.job_manager.list_jobs_async(task=TASK))) == 1
            async with worker(there, there.url):
                for run_id in runs:
                    await there.until_status(run_id, "succeeded")
            assert list(await client._app.job_manager.list_jobs_async(task=TASK)) == []
            await client.aclose()

    asyncio.run(main())


def test_a_failure_that_may_pass_is_tried_again(house: House, postgres_url: str) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("fails", {"times": 2})
        async with worker(house, postgres_url):
            await house.until_status(job.run_id, "succeeded")
        assert house.effects == ["tried"] * 3

    asyncio.run(main())


def test_a_killed_worker_is_taken_over(house: House, postgres_url: str) -> None:
    go = house.path / "go"
    source = CHILD.format(tests=str(Path(__file__).parents[1]), store=str(house.path / "runs.db"), url=postgres_url)

    async def main() -> None:
        job = await house.jobs.enqueue("two", {"file": str(go)})
        child = await asyncio.to_thread(subprocess.Popen, [sys.executable, "-c", source], env=os.environ.copy())
        try:
            await house.until_effect("thinking")
            await house.until_recorded(job.run_id, "action.result")
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(60)
        go.touch()
        async with worker(house, postgres_url):
            await house.until_status(job.run_id, "succeeded")
        assert [line for line in house.effects if line in ("one", "two")] == ["one", "two"]

    asyncio.run(main())


def test_a_stopped_worker_gives_its_run_away(house: House, postgres_url: str) -> None:
    go = house.path / "go"

    async def main() -> None:
        job = await house.jobs.enqueue("two", {"file": str(go)})
        dispatcher, stop = ProcrastinateDispatcher(postgres_url, sweep_seconds=0.2), asyncio.Event()
        runner = Runner(house.app.workers, house.store, dispatcher=dispatcher, lease_seconds=60)
        at_work = asyncio.create_task(dispatcher.work(runner, concurrency=1, stop=stop, grace_seconds=0.2))
        await house.until_effect("thinking")
        stop.set()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(at_work, 60)
        assert await house.status(job.run_id) == "queued"
        go.touch()
        async with worker(house, postgres_url, lease=60):
            await house.until_status(job.run_id, "succeeded")
        assert [line for line in house.effects if line in ("one", "two")] == ["one", "two"]

    asyncio.run(main())


def test_a_cancelled_worker_leaves_nothing_behind(house: House, postgres_url: str) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("two", {"file": str(house.path / "go")})
        dispatcher = ProcrastinateDispatcher(postgres_url, sweep_seconds=0.2)
        runner = Runner(house.app.workers, house.store, dispatcher=dispatcher, lease_seconds=60)
        at_work = asyncio.create_task(dispatcher.work(runner, concurrency=1, stop=asyncio.Event(), grace_seconds=0.2))
        await house.until_effect("thinking")
        at_work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(at_work, 60)
        assert await house.status(job.run_id) == "queued"
        await house.store.aclose()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@asynccontextmanager
async def database(house: House, url: str) -> AsyncIterator[House]:
    """A house whose store is a database of its own."""
    name = f"workers_{uuid4().hex[:12]}"
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(f'CREATE DATABASE "{name}"')
    there = House(house.path, urlsplit(url)._replace(path=f"/{name}").geturl())
    try:
        yield there
    finally:
        await there.store.aclose()
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def test_workers_on_postgres_take_over_from_a_killed_one_and_drain(
    house: House, processes: Processes, postgres_url: str
) -> None:
    go = house.path / "go"

    async def main() -> None:
        async with database(house, postgres_url) as there:
            processes.house = there
            job = await there.jobs.enqueue("two", {"file": str(go)})
            first = processes.worker()
            await there.until_effect("thinking")
            await there.until_recorded(job.run_id, "action.result")
            first.send_signal(signal.SIGKILL)
            first.wait(60)
            second = processes.worker()
            go.touch()
            await there.until_status(job.run_id, "succeeded")
            assert [line for line in there.effects if line in ("one", "two")] == ["one", "two"]
            second.send_signal(signal.SIGTERM)
            _, reported = await asyncio.to_thread(second.communicate, timeout=60)
            assert second.returncode == 0, reported
            assert "worker stopped" in reported

    asyncio.run(main())


def test_an_approval_on_the_command_line_wakes_a_worker_on_postgres(
    house: House, processes: Processes, postgres_url: str
) -> None:
    async def main() -> None:
        async with database(house, postgres_url) as there:
            processes.house = there
            queued = await asyncio.to_thread(processes.bobcat, "runs", "queue", "asks", "--run-id", "order-7")
            assert queued.stdout == "order-7\n", queued.stderr
            processes.worker()
            await there.until_status("order-7", "suspended")
            (asked,) = await Approvals(there.store).list()
            granted = await asyncio.to_thread(processes.bobcat, "approvals", "grant", asked.id, "--approver", "alice")
            assert "run order-7 is queued" in granted.stdout, granted.stderr
            await there.until_status("order-7", "succeeded")
            assert there.effects == ["paid 40"]

    asyncio.run(main())


async def at_work(url: str, count: int) -> bool:
    """True if so many workers have registered."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        with suppress(psycopg.errors.UndefinedTable):
            found = await (await connection.execute("SELECT count(*) FROM procrastinate_workers")).fetchone()
            return found == (count,)
    return False


def test_workers_outlive_a_restart_of_their_database(house: House, processes: Processes, own_postgres: Server) -> None:
    async def main() -> None:
        async with database(house, own_postgres.url) as there:
            processes.house = there
            workers = [processes.worker() for _ in range(2)]
            await there.until(partial(at_work, there.url, 2), "two workers to be at work")
            for number in range(30):
                await there.jobs.enqueue("note", {"text": f"{number}"}, run_id=f"r{number}")
                if number in (10, 20):
                    own_postgres.end(signal.SIGQUIT)
                    await asyncio.to_thread(own_postgres.start)
            for number in range(30):
                await there.until_status(f"r{number}", "succeeded", seconds=120)
            assert sorted(map(int, there.effects)) == list(range(30))
            for process in workers:
                process.send_signal(signal.SIGTERM)
            for process in workers:
                _, reported = await asyncio.to_thread(process.communicate, timeout=60)
                assert process.returncode == 0, reported
                assert "worker stopped\n" in reported

    asyncio.run(main())
