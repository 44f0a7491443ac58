"""An attempt whose worker died is an attempt: a run that ends every process ends after as many as it may take."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat.workers import Jobs, Runner
from workers.conftest import House
from workers.test_procrastinate import database

DEADLY = Path(__file__).parent / "crashing_app.py"


async def work_until_over(house: House, run_id: str, *options: str, most: int = 12) -> int:
    """Start one worker after the other, as a supervisor does, until the run is over; how many died."""
    died = 0
    for _ in range(most):
        command = [
            sys.executable, "-m", "bobcat", "worker", str(DEADLY),
            "--store", house.url, "--lease-seconds", "0.5", *options,
        ]  # fmt: skip
        process = await asyncio.to_thread(subprocess.Popen, command, stderr=subprocess.PIPE, text=True, env=os.environ)
        try:
            while process.poll() is None:
                await asyncio.sleep(0.05)
                if await house.status(run_id) in ("succeeded", "failed", "dead"):
                    return died
            died += process.returncode == 9
        finally:
            if process.poll() is None:
                process.terminate()
            await asyncio.to_thread(process.communicate, timeout=60)
    return died


@pytest.mark.parametrize("queue", ["store", "procrastinate"])
def test_a_run_that_ends_every_worker_is_dead_after_its_last_attempt(
    house: House, queue: str, request: pytest.FixtureRequest
) -> None:
    async def main(there: House, *options: str) -> None:
        await there.jobs.enqueue("deadly", {"times": 1000}, run_id="r")
        assert await work_until_over(there, "r", *options) == 3
        run = await there.store.run("r")
        assert run is not None
        assert run.status == "dead"
        assert run.detail["error"] == "attempts exhausted (3 of 3): the last worker died"
        job = await there.jobs.get("r")
        assert (job.attempts, job.error) == (3, run.detail["error"])
        assert there.effects == ["crash"] * 3
        assert await Runner(there.app.workers, there.store).sweep() == []

    async def on_postgres(url: str) -> None:
        async with database(house, url) as there:
            await main(there)

    if queue == "store":
        asyncio.run(main(house))
    else:
        asyncio.run(on_postgres(request.getfixturevalue("postgres_url")))


def test_a_run_that_ends_fewer_workers_succeeds_and_can_be_tried_again_when_it_does_not(house: House) -> None:
    async def main() -> None:
        await house.jobs.enqueue("deadly", {"times": 2}, run_id="r")
        assert await work_until_over(house, "r") == 2
        assert await house.status("r") == "succeeded"
        house.effects_file.write_text("")
        await house.jobs.enqueue("deadly", {"times": 4}, run_id="s")
        assert await work_until_over(house, "s") == 3
        assert await house.status("s") == "dead"
        await house.jobs.resume("s")
        assert await work_until_over(house, "s") == 1
        assert await house.status("s") == "succeeded"

    asyncio.run(main())


def test_deaths_count_also_where_a_worker_takes_its_own_runs_at_once(house: House) -> None:
    async def main() -> None:
        await house.jobs.enqueue("deadly", {"times": 1000}, run_id="r")
        assert await work_until_over(house, "r", "--owner", "w-0", "--dispatcher", "store") == 3
        run = await house.store.run("r")
        assert run is not None
        assert (run.status, run.detail["reason"]) == ("dead", "attempts exhausted (3 of 3)")

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["memory", "sqlite", "file", "postgres", "redis"])
@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_every_store_counts_the_attempt_before_anything_runs(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = make_store(kind, tmp_path, request)

    class Died(BaseException):
        pass

    async def main() -> None:
        from bobcat.workers import Workers

        workers = Workers(max_attempts=2)
        seen: list[tuple[int, str]] = []

        @workers.run("dies")
        async def dies(job: Any) -> Any:
            seen.append(((await jobs.get("r")).attempts, (await store.run("r")).status))
            raise Died

        jobs = Jobs(store)
        await jobs.enqueue("dies", run_id="r")
        for _ in range(2):
            with pytest.raises(Died):
                await Runner(workers, store, lease_seconds=0.05).execute("r")
            await asyncio.sleep(0.1)
        last = await Runner(workers, store, lease_seconds=0.05).execute("r")
        assert (last.outcome, last.error) == ("dead", "attempts exhausted (2 of 2): the last worker died")
        assert seen == [(1, "running"), (2, "running")]
        assert (await Runner(workers, store, lease_seconds=0.05).execute("r")).outcome == "dead"
        await store.aclose()

    asyncio.run(main())


def make_store(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    from bobcat import FileStore, MemoryStore, PostgresStore, RedisStore, SQLiteStore

    match kind:
        case "memory":
            return MemoryStore()
        case "sqlite":
            return SQLiteStore(tmp_path / "runs.db")
        case "file":
            return FileStore(tmp_path / "journals")
        case "postgres":
            url, schema = request.getfixturevalue("postgres_url"), request.getfixturevalue("schema")
            return PostgresStore(url, schema=schema, durability="warn")
        case _:
            url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("prefix")
            return RedisStore(url, prefix=prefix, durability="warn")


def test_what_is_answered_drained_or_busy_uses_up_no_attempt(house: House) -> None:
    async def main() -> None:
        from bobcat import Approvals

        job = await house.jobs.enqueue("asks")
        for _ in range(2):
            await house.work()
            assert await house.status(job.run_id) == "suspended"
            assert (await house.jobs.get(job.run_id)).attempts == 0
            await house.jobs.resume(job.run_id)
        runner = Runner(house.app.workers, house.store)
        waits = await house.jobs.enqueue("waits", {"file": str(house.path / "never")})
        going = asyncio.create_task(runner.execute(waits.run_id))
        await house.until_effect("waiting")
        assert (await house.jobs.get(waits.run_id)).attempts == 1
        assert (await Runner(house.app.workers, house.store).execute(waits.run_id)).outcome == "busy"
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
        assert (await house.jobs.get(waits.run_id)).attempts == 0
        assert await house.status(waits.run_id) == "queued"
        await house.work()
        (asked, *_) = await Approvals(house.store).list()
        await Approvals(house.store).grant(asked.id, approver="alice")
        lease = await house.store.acquire(job.run_id, owner="another", seconds=30)
        delivery = await Runner(house.app.workers, house.store, lease_seconds=0.05).execute(job.run_id)
        assert delivery.outcome == "busy"
        assert await house.status(job.run_id) == "queued"
        assert (await house.jobs.get(job.run_id)).attempts == 0
        await house.store.release(lease)

    asyncio.run(main())


def test_a_worker_that_was_only_frozen_does_nothing_after_its_run_was_ended(house: House) -> None:
    async def main() -> None:
        await house.jobs.enqueue("note", {"text": "late"}, run_id="r")
        await house.jobs.change("r", attempts=3)
        frozen = await house.store.acquire("r", owner="frozen", seconds=0.05)
        await house.store.set_status("r", "running")
        await asyncio.sleep(0.1)
        delivery = await Runner(house.app.workers, house.store, lease_seconds=0.05).execute("r")
        assert delivery.outcome == "dead"
        from bobcat.stores.protocol import LeaseLost

        with pytest.raises(LeaseLost):
            await house.store.renew(frozen, seconds=1)
        assert house.effects == []

    asyncio.run(main())
