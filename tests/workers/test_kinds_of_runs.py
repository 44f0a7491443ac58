"""A worker makes the runs of the kinds that its app has, and leaves the others to workers that have them."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from bobcat.errors import JobError
from bobcat.workers import Job, Jobs, ProcrastinateDispatcher, Runner, Workers
from bobcat.workers.procrastinate import QUEUE, TASK, queue_of
from workers.conftest import House
from workers.test_procrastinate import database, worker


def app_of(house: House, *kinds: tuple[str, str | None]) -> Workers:
    """An app that can make these kinds, each with a note that names it."""
    app = Workers(backoff_seconds=0.05)
    for name, version in kinds:

        def make(job: Job, text: str = f"{name}@{version}") -> dict[str, Any]:
            return house.app.one_note(Job(job.run_id, "note", {"text": text}, job.run_at))

        app.run(name, version=version)(make)
    return app


def test_a_rolling_deploy_fails_no_run_of_either_release(house: House, caplog: pytest.LogCaptureFixture) -> None:
    old, new = app_of(house, ("a", None)), app_of(house, ("a", None), ("b", None))

    async def main() -> None:
        for number in range(6):
            await house.jobs.enqueue("a", run_id=f"a{number}")
            await house.jobs.enqueue("b", run_id=f"b{number}")
        with caplog.at_level(logging.WARNING, logger="bobcat.workers"):
            await house.work(old)
            assert {await house.status(f"a{number}") for number in range(6)} == {"succeeded"}
            assert {await house.status(f"b{number}") for number in range(6)} == {"queued"}
            delivery = await Runner(old, house.store).execute("b0")
            await Runner(old, house.store).execute("b1")
        assert delivery.outcome == "not_mine"
        assert delivery.error == "this app has no run named `b`; it has `a`"
        for number in range(6):
            assert (await house.jobs.get(f"b{number}")).attempts == 0
            run = await house.store.run(f"b{number}")
            assert run is not None
            assert (run.fence, run.queue and run.queue.kind, "error" in run.detail) == (0, "b", False)
        await house.work(new)
        assert {await house.status(f"b{number}") for number in range(6)} == {"succeeded"}

    asyncio.run(main())
    assert "run b0 is left to another worker: this app has no run named `b`; it has `a`" in caplog.text


def test_the_run_of_a_dead_worker_is_left_to_a_worker_that_can_make_it(house: House) -> None:
    old, new = app_of(house, ("a", None)), app_of(house, ("b", None))

    async def main() -> None:
        await house.jobs.enqueue("b", run_id="b")
        await house.store.acquire("b", owner="dead", seconds=0.05)
        await house.store.set_status("b", "running")
        await asyncio.sleep(0.1)
        assert await Runner(old, house.store, lease_seconds=0.05).sweep() == []
        await house.work(old, lease_seconds=0.05)
        assert await house.status("b") == "running"
        await house.work(new, lease_seconds=0.05)
        assert await house.status("b") == "succeeded"

    asyncio.run(main())


def test_a_version_goes_to_a_worker_that_has_it(house: House) -> None:
    first, second = app_of(house, ("a", None), ("a", "1")), app_of(house, ("a", "2"))

    async def main() -> None:
        await house.jobs.enqueue("a", run_id="any")
        await house.jobs.enqueue("a", run_id="one", version="1")
        await house.jobs.enqueue("a", run_id="two", version="2")
        await house.work(second)
        assert [await house.status(run_id) for run_id in ("any", "one", "two")] == ["queued", "queued", "succeeded"]
        await house.work(first)
        assert house.effects == ["a@2", "a@None", "a@1"]

    asyncio.run(main())


def test_a_cancelled_run_of_an_unknown_kind_is_ended_by_any_worker(house: House) -> None:
    async def main() -> None:
        await house.jobs.enqueue("b", run_id="b")
        await house.store.set_status("b", "running")
        await house.jobs.change("b", cancelled="not needed")
        await asyncio.sleep(0.05)
        await house.work(app_of(house, ("a", None)), lease_seconds=0.01)
        assert await house.status("b") == "cancelled"

    asyncio.run(main())


@pytest.mark.parametrize("version", ["", 2])
def test_an_invalid_version_is_refused(house: House, version: Any) -> None:
    with pytest.raises(ValueError, match="a version must be a non-empty string"):
        Workers().run("a", version=version)

    async def main() -> None:
        with pytest.raises(JobError, match="the version of a job must be a non-empty string"):
            await house.jobs.enqueue("a", version=version)

    asyncio.run(main())


def test_procrastinate_gives_a_worker_only_what_it_can_make(house: House, postgres_url: str) -> None:
    async def main() -> None:
        async with database(house, postgres_url) as there:
            client = ProcrastinateDispatcher(there.url)
            jobs = Jobs(there.store, client)
            for number in range(3):
                await jobs.enqueue("note", {"text": f"{number}"}, run_id=f"note{number}")
                await jobs.enqueue("later", run_id=f"later{number}")
            async with worker(there, there.url):
                for number in range(3):
                    await there.until_status(f"note{number}", "succeeded")
                await asyncio.sleep(1.5)
            assert {await there.status(f"later{number}") for number in range(3)} == {"queued"}
            there.app.workers.run("later")(lambda job: there.app.made(there.app.ToolCall("note", {"text": "later"})))
            async with worker(there, there.url):
                for number in range(3):
                    await there.until_status(f"later{number}", "succeeded")
            await client.aclose()
            assert there.effects.count("later") == 3

    asyncio.run(main())


def test_what_an_earlier_release_queued_for_all_finds_its_worker(house: House, postgres_url: str) -> None:
    async def main() -> None:
        async with database(house, postgres_url) as there:
            client = ProcrastinateDispatcher(there.url)
            await client.open()
            for name, run_id in (("note", "mine"), ("later", "theirs")):
                await there.jobs.enqueue(name, {"text": name}, run_id=run_id)
                await client._app.configure_task(TASK, lock=run_id, queue=QUEUE).defer_async(run_id=run_id)
            async with worker(there, there.url):
                await there.until_status("mine", "succeeded")
                await asyncio.sleep(1.0)
            assert await there.status("theirs") == "queued"
            there.app.workers.run("later")(lambda job: there.app.made(there.app.ToolCall("note", {"text": "later"})))
            async with worker(there, there.url):
                await there.until_status("theirs", "succeeded")
            await client.aclose()

    asyncio.run(main())


def test_a_long_kind_has_a_queue_too() -> None:
    assert queue_of("a") == "bobcat.a"
    assert len(queue_of("x" * 500)) <= 128
    assert queue_of("x" * 500) != queue_of("x" * 499)


def test_a_job_that_cannot_be_read_is_left_and_keeps_no_other(house: House, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        await house.store.put("job", "odd", {"name": 7}, expected=0)
        detail = {"job": {"name": "a", "priority": 0, "run_at": "2026-01-01T00:00:00+00:00"}}
        await house.store.set_status("odd", "queued", detail=detail)
        await house.jobs.enqueue("a", run_id="good")
        with caplog.at_level(logging.WARNING, logger="bobcat.workers"):
            await house.work(app_of(house, ("a", None)))
        assert (await house.status("odd"), await house.status("good")) == ("queued", "succeeded")

    asyncio.run(main())
    assert caplog.text.count("run odd was not delivered: JobError: a job of this store cannot be read") == 1
