"""Queued runs on the store itself: order, times, retries, tenants, schedules, approvals, cancelling."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bobcat import Approvals, MemoryStore
from bobcat.errors import JobError
from bobcat.workers import Job, Jobs, Runner, StoreDispatcher, Workers
from bobcat.workers.registry import Schedule
from bobcat.workers.schedules import following, queue_due
from workers.conftest import House


def test_a_queued_run_is_made_once(house: House) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("note", {"text": "hello"})
        assert await house.status(job.run_id) == "queued"
        await house.work()
        await house.work()
        assert await house.status(job.run_id) == "succeeded"
        assert house.effects == ["hello"]

    asyncio.run(main())


def test_queueing_the_same_run_twice_is_queueing_it_once(house: House) -> None:
    async def main() -> None:
        first = await house.jobs.enqueue("note", {"text": "x"}, run_id="order-7")
        assert await house.jobs.enqueue("note", {"text": "x"}, run_id="order-7") == first
        with pytest.raises(JobError, match="belongs to another job, `note`") as taken:
            await house.jobs.enqueue("note", {"text": "y"}, run_id="order-7")
        assert taken.value.code == "taken"
        await house.work()
        await house.jobs.enqueue("note", {"text": "x"}, run_id="order-7")
        await house.work()
        assert house.effects == ["x"]

    asyncio.run(main())


def test_a_higher_priority_goes_first_and_then_the_older(house: House) -> None:
    async def main() -> None:
        for number, priority in enumerate([0, 5, 0, 9]):
            await house.jobs.enqueue("note", {"text": f"{number}"}, priority=priority)
        runner = Runner(house.app.workers, house.store)
        await StoreDispatcher(until_idle=True).work(runner, concurrency=1, stop=asyncio.Event(), grace_seconds=0)
        assert house.effects == ["3", "1", "0", "2"]

    asyncio.run(main())


def test_a_run_waits_for_its_time(house: House) -> None:
    async def main() -> None:
        now = await house.store.now()
        later = await house.jobs.enqueue("note", {"text": "later"}, run_at=now + timedelta(hours=1))
        await house.jobs.enqueue("note", {"text": "past"}, run_at=now - timedelta(hours=1))
        await house.work()
        assert house.effects == ["past"]
        assert (await Runner(house.app.workers, house.store).execute(later.run_id)).outcome == "early"
        with pytest.raises(ValueError, match="with a time zone"):
            await house.jobs.enqueue("note", run_at=datetime(2030, 1, 1))

    asyncio.run(main())


def test_a_failure_that_may_pass_is_tried_again(house: House) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("fails", {"times": 2})
        await house.work()
        for _ in range(50):
            await house.work()
            if await house.status(job.run_id) == "succeeded":
                break
            await asyncio.sleep(0.05)
        assert await house.status(job.run_id) == "succeeded"
        assert house.effects == ["tried"] * 3
        assert (await house.jobs.get(job.run_id)).attempts == 2

    asyncio.run(main())


def test_a_run_that_keeps_failing_is_dead(house: House) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("fails", {"times": 99})
        for _ in range(50):
            await house.work()
            if await house.status(job.run_id) == "dead":
                break
            await asyncio.sleep(0.05)
        assert house.effects == ["tried"] * 3
        assert (await house.jobs.get(job.run_id)).error == "agent.step raised: ConnectionError: the model is not there"
        with pytest.raises(JobError):
            await house.jobs.cancel("nothing")
        await house.jobs.resume(job.run_id)
        assert await house.status(job.run_id) == "queued"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("exhausted", "step budget exhausted (2)"),
        ("odd", "the run `odd` returned `store`, which the worker supplies"),
    ],
)
def test_a_failure_that_does_not_pass_is_not_tried_again(house: House, name: str, error: str) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue(name)
        await house.work()
        run = await house.store.run(job.run_id)
        assert run is not None
        assert run.status == "failed"
        assert str(run.detail["error"]).startswith(error)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (LookupError("no such customer"), "LookupError: no such customer"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "CancelledError: "),
    ],
)
def test_an_app_that_raises_is_tried_again_too(house: House, error: BaseException, reported: str) -> None:
    app = Workers()

    @app.run("broken")
    def broken(job: Job) -> dict[str, Any]:
        raise error

    async def main() -> None:
        job = await house.jobs.enqueue("broken")
        await house.work(app)
        known = await house.jobs.get(job.run_id)
        assert known.error == reported
        assert await house.status(job.run_id) == "queued"
        assert known.run_at > job.run_at

    asyncio.run(main())


def test_a_tenant_has_no_more_runs_at_once_than_it_may(house: House) -> None:
    async def main() -> None:
        for number in range(3):
            await house.jobs.enqueue("spans", run_id=f"s{number}", tenant="small")
        for number in range(3):
            await house.jobs.enqueue("spans", run_id=f"l{number}", tenant="large")
        runners = [Runner(house.app.workers, house.store) for _ in range(2)]
        stop = asyncio.Event()
        at_work = [
            asyncio.create_task(StoreDispatcher().work(runner, concurrency=4, stop=stop, grace_seconds=10))
            for runner in runners
        ]
        for number in range(3):
            await house.until_status(f"s{number}", "succeeded")
            await house.until_status(f"l{number}", "succeeded")
        stop.set()
        await asyncio.gather(*at_work)
        at_once = {"s": 0, "l": 0}
        most = dict(at_once)
        for line in house.effects:
            word, run_id = line.split()[:2]
            at_once[run_id[0]] += 1 if word == "begin" else -1
            most[run_id[0]] = max(most[run_id[0]], at_once[run_id[0]])
        assert most["s"] == 1
        assert most["l"] > 1

    asyncio.run(main())


def test_a_suspended_run_frees_its_worker_and_goes_on_when_it_is_answered(house: House) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("asks")
        await house.work()
        assert await house.status(job.run_id) == "suspended"
        desk = Approvals(house.store)
        (asked,) = await desk.list()
        assert (await desk.grant(asked.id, approver="alice")).requeued
        assert await house.status(job.run_id) == "queued"
        await house.work()
        assert await house.status(job.run_id) == "succeeded"
        assert house.effects == ["paid 40"]

    asyncio.run(main())


def test_an_answer_that_comes_before_the_run_is_suspended_wakes_it_all_the_same(house: House) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("asks")
        desk, conclude = Approvals(house.store), house.store.conclude

        async def answered_first(records: Any, status: Any, **options: Any) -> None:
            if status == "suspended":
                (asked,) = await desk.list()
                assert not (await desk.grant(asked.id, approver="alice")).requeued
            await conclude(records, status, **options)

        house.store.conclude = answered_first
        runner = Runner(house.app.workers, house.store)
        assert (await runner.execute(job.run_id)).outcome == "queued"
        assert (await runner.execute(job.run_id)).outcome == "succeeded"
        assert house.effects == ["paid 40"]

    asyncio.run(main())


def test_a_run_whose_approval_expires_goes_on_without_it(house: House) -> None:
    async def main() -> None:
        time = [datetime(2030, 1, 1, tzinfo=UTC)]
        store = MemoryStore(clock=lambda: time[0])
        job = await Jobs(store).enqueue("asks")
        runner = Runner(house.app.workers, store)
        assert (await runner.execute(job.run_id)).outcome == "suspended"
        time[0] += timedelta(seconds=601)
        await StoreDispatcher(until_idle=True).work(runner, concurrency=1, stop=asyncio.Event(), grace_seconds=0)
        run = await store.run(job.run_id)
        assert run is not None
        assert run.status == "succeeded"
        assert house.effects == []

    asyncio.run(main())


def test_a_cancelled_run_is_not_made(house: House) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("note", {"text": "never"})
        await house.jobs.cancel(job.run_id, reason="wrong customer")
        await house.work()
        assert house.effects == []
        assert await house.status(job.run_id) == "cancelled"
        with pytest.raises(JobError) as over:
            await house.jobs.cancel(job.run_id)
        assert over.value.code == "over"
        await house.jobs.resume(job.run_id)
        await house.work()
        assert house.effects == ["never"]

    asyncio.run(main())


def test_a_run_in_the_middle_of_a_tool_is_stopped(house: House) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("waits", {"file": "/nowhere"})
        at_work = asyncio.create_task(house.work())
        await house.until_effect("waiting")
        run = await house.jobs.cancel(job.run_id)
        assert run is not None
        assert run.status == "running"
        await at_work
        assert await house.status(job.run_id) == "cancelled"

    asyncio.run(main())


def test_two_workers_make_every_run_once(house: House) -> None:
    async def main() -> None:
        for number in range(30):
            await house.jobs.enqueue("note", {"text": f"{number}"})
        await asyncio.gather(house.work(), house.work(), house.work())
        assert sorted(house.effects, key=int) == [str(number) for number in range(30)]

    asyncio.run(main())


def test_a_delivery_of_a_run_that_somebody_has_does_nothing(house: House) -> None:
    async def main() -> None:
        job = await house.jobs.enqueue("note", {"text": "x"})
        lease = await house.store.acquire(job.run_id, owner="somebody", seconds=60)
        runner = Runner(house.app.workers, house.store)
        assert (await runner.execute(job.run_id)).outcome == "busy"
        await house.store.release(lease)
        assert house.effects == []
        assert (await runner.execute("nothing")).outcome == "unknown"

    asyncio.run(main())


def test_each_time_of_a_schedule_makes_one_run_and_missed_ones_make_one() -> None:
    async def main() -> None:
        time = [datetime(2030, 1, 1, 0, 0, 30, tzinfo=UTC)]
        store = MemoryStore(clock=lambda: time[0])
        schedules = [Schedule("nightly", "0 3 * * *", {"a": 1}, "UTC", "acme", 2)]

        async def looks() -> list[str]:
            both = await asyncio.gather(*(queue_due(store, Jobs(store), schedules) for _ in range(2)))
            return sorted({job.run_id for jobs in both for job in jobs})

        assert await looks() == []
        time[0] = datetime(2030, 1, 1, 2, 59, 59, tzinfo=UTC)
        assert await looks() == []
        time[0] = datetime(2030, 1, 1, 3, 0, 1, tzinfo=UTC)
        assert await looks() == ["nightly@2030-01-01T03:00:00+00:00"]
        assert await looks() == []
        job = await Jobs(store).get("nightly@2030-01-01T03:00:00+00:00")
        assert (job.payload, job.tenant, job.priority) == ({"a": 1}, "acme", 2)
        time[0] = datetime(2030, 1, 9, 12, tzinfo=UTC)
        assert await looks() == ["nightly@2030-01-02T03:00:00+00:00"]
        assert await looks() == []
        assert len(await store.runs(status="queued")) == 2

    asyncio.run(main())


def test_a_schedule_goes_by_the_clocks_of_its_zone() -> None:
    summer = Schedule("s", "0 9 * * *", {}, "Europe/Berlin", "", 0)
    assert following(summer, datetime(2030, 7, 1, tzinfo=UTC)) == datetime(2030, 7, 1, 7, tzinfo=UTC)
    assert following(summer, datetime(2030, 1, 1, tzinfo=UTC)) == datetime(2030, 1, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"cron": "every day"}, "is not a schedule"),
        ({"cron": "0 25 * * *"}, "is not a schedule"),
        ({"cron": "* * * * * *"}, "is not a schedule"),
        ({"cron": "0 3 * * *", "timezone": "Berlin"}, "is not a time zone"),
    ],
)
def test_an_invalid_schedule_is_refused(options: dict[str, Any], reported: str) -> None:
    with pytest.raises(ValueError, match=reported):
        Workers().run("x", **options)


def test_a_name_is_taken_once() -> None:
    workers = Workers()

    @workers.run("x")
    def first(job: Job) -> dict[str, Any]:
        return {}

    with pytest.raises(ValueError, match="two runs are named `x`"):
        workers.run("x")
    with pytest.raises(ValueError, match="non-empty"):
        workers.run("")
