"""`bobcat worker` on PostgreSQL goes on when its database is restarted under load, again and again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bobcat import Approvals
from bobcat.workers import ProcrastinateDispatcher, Runner
from services import Server
from workers.conftest import House, Processes
from workers.test_procrastinate import at_work, database

RUNS, RESTARTS = 60, 5


async def ended_well(house: House, run_id: str) -> bool:
    """Wait until a run has succeeded, or waits for an approval because an action of it may have happened.

    The second is right for an unsafe action in progress when the database is away for longer than the lease.
    """

    async def ended() -> bool:
        found = await house.store.run(run_id)
        if found is not None and found.status == "suspended":
            assert found.detail.get("uncertain") is True, found
        return found is not None and found.status in ("succeeded", "suspended")

    await house.until(ended, f"{run_id} to end", seconds=120)
    return await house.status(run_id) == "succeeded"


def test_workers_outlive_restarts_of_a_database_under_load(
    house: House, processes: Processes, own_postgres: Server
) -> None:
    ways = [signal.SIGQUIT, signal.SIGINT, signal.SIGKILL]

    async def main() -> None:
        async with database(house, own_postgres.url) as there:
            processes.house = there
            workers = [processes.worker("--concurrency", "8") for _ in range(3)]
            await there.until(partial(at_work, there.url, 3), "three workers to be at work")
            for number in range(RUNS):
                await there.jobs.enqueue("note", {"text": f"{number}"}, run_id=f"r{number}")
                if number % (RUNS // RESTARTS) == 5:
                    own_postgres.end(ways[number % len(ways)])
                    await asyncio.to_thread(own_postgres.start)
            uncertain = [f"r{number}" for number in range(RUNS) if not await ended_well(there, f"r{number}")]
            assert len(set(there.effects)) == len(there.effects), "an unsafe action happens twice after a grant only"
            for asked in await Approvals(there.store).list():
                await Approvals(there.store).grant(asked.id, approver="alice", uncertain=True)
            for run_id in uncertain:
                await there.until_status(run_id, "succeeded", seconds=120)
            assert set(map(int, there.effects)) == set(range(RUNS))
            assert [process.poll() for process in workers] == [None] * 3
            for process in workers:
                process.send_signal(signal.SIGTERM)
            for process in workers:
                _, reported = await asyncio.to_thread(process.communicate, timeout=60)
                assert process.returncode == 0, reported
                assert "worker stopped\n" in reported

    asyncio.run(main())


def test_an_unsafe_action_in_progress_during_an_outage_longer_than_the_lease_waits_for_an_approval(
    house: House, processes: Processes, own_postgres: Server, tmp_path: Path
) -> None:
    async def main() -> None:
        async with database(house, own_postgres.url) as there:
            processes.house = there
            process = processes.worker("--grace-seconds", "1", lease=1.0)
            await there.jobs.enqueue("waits", {"file": str(tmp_path / "there")}, run_id="r")
            await there.until_effect("waiting")
            own_postgres.end(signal.SIGQUIT)
            await asyncio.sleep(3)
            await asyncio.to_thread(own_postgres.start)
            assert not await ended_well(there, "r")
            (asked,) = await Approvals(there.store).list()
            assert (asked.uncertain, asked.tool, there.effects) == (True, "wait_for", ["waiting"])
            (tmp_path / "there").touch()
            await Approvals(there.store).grant(asked.id, approver="alice", uncertain=True)
            await there.until_status("r", "succeeded")
            assert there.effects == ["waiting", "waiting"]
            process.send_signal(signal.SIGTERM)
            _, reported = await asyncio.to_thread(process.communicate, timeout=60)
            assert reported.count("the lease is lost") == 1, "once, not with each renewal that fails"
            assert "was suspended" not in reported

    asyncio.run(main())


def test_a_worker_waits_for_a_database_that_stays_away(
    house: House, processes: Processes, own_postgres: Server
) -> None:
    async def main() -> None:
        async with database(house, own_postgres.url) as there:
            processes.house = there
            process = processes.worker("--grace-seconds", "1")
            await there.until(partial(at_work, there.url, 1), "the worker to be at work")
            own_postgres.end(signal.SIGQUIT)
            await asyncio.sleep(4)
            assert process.poll() is None
            await asyncio.to_thread(own_postgres.start)
            await there.jobs.enqueue("note", {"text": "x"}, run_id="r")
            await there.until_status("r", "succeeded")
            own_postgres.end(signal.SIGQUIT)
            await asyncio.sleep(1)
            process.send_signal(signal.SIGTERM)
            try:
                _, reported = await asyncio.to_thread(process.communicate, timeout=60)
            finally:
                await asyncio.to_thread(own_postgres.start)
            assert process.returncode == 0, reported

    asyncio.run(main())


@pytest.mark.parametrize("error", [RuntimeError("raw"), OSError("no route"), KeyError("job")])
def test_an_error_of_the_engine_starts_its_worker_again(
    house: House, postgres_url: str, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = 2

    async def main() -> None:
        async with database(house, postgres_url) as there:
            dispatcher, stop = ProcrastinateDispatcher(there.url, sweep_seconds=0.2), asyncio.Event()
            monkeypatch.setattr("procrastinate.App.run_worker_async", failing)
            runner = Runner(there.app.workers, there.store, dispatcher=dispatcher, lease_seconds=2)
            working = asyncio.create_task(dispatcher.work(runner, concurrency=2, stop=stop, grace_seconds=1))
            await there.jobs.enqueue("note", {"text": "x"}, run_id="r")
            await there.until_status("r", "succeeded")
            await there.until(restarted, "the engine to run again")
            stop.set()
            await asyncio.wait_for(working, 60)

    async def restarted() -> bool:
        return "running" in engine

    engine: list[str] = []
    from procrastinate import App

    right = App.run_worker_async

    async def failing(self: Any, **options: Any) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise error
        engine.append("running")
        await right(self, **options)

    with caplog.at_level(logging.WARNING, logger="bobcat.workers"):
        asyncio.run(main())
    assert caplog.text.count("the procrastinate worker ended") == 2


@pytest.mark.parametrize("place", ["opening", "working"])
def test_a_worker_stops_while_its_engine_waits_for_a_database(
    house: House, postgres_url: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = 4  # one after the other, each ended by one cancellation

    async def wait_again_and_again(*_: Any, **__: Any) -> None:
        for _ in range(waits):
            waiting.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)

    async def never(*_: Any) -> None:
        waiting.set()
        await asyncio.sleep(3600)

    async def ends_at_once(*_: Any, **__: Any) -> None:
        monkeypatch.setattr(ProcrastinateDispatcher, "_connect", never)

    waiting = asyncio.Event()
    engine = {"opening": ends_at_once, "working": wait_again_and_again}[place]
    monkeypatch.setattr("procrastinate.App.run_worker_async", engine)
    monkeypatch.setattr("bobcat.workers.procrastinate.STOPPING_SECONDS", 0.2)
    monkeypatch.setattr("bobcat.workers.procrastinate.CANCELLATION_SECONDS", 0.2)

    async def main() -> None:
        async with database(house, postgres_url) as there:
            dispatcher, stop = ProcrastinateDispatcher(there.url, sweep_seconds=3600), asyncio.Event()
            runner = Runner(there.app.workers, there.store, dispatcher=dispatcher, lease_seconds=2)
            working = asyncio.create_task(dispatcher.work(runner, concurrency=2, stop=stop, grace_seconds=0.1))
            await asyncio.wait_for(waiting.wait(), 60)
            stop.set()
            await asyncio.wait_for(working, 60)

    asyncio.run(main())
