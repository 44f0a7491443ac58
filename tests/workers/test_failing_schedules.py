"""A schedule that fails keeps no other from its runs, and no worker from its work."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bobcat import MemoryStore
from bobcat.workers import Job, Jobs, Runner, Workers
from workers.conftest import House


class Clock:
    """A store's time."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def two(payload: Any = None) -> Workers:
    workers = Workers()
    for name, given in (("broken", payload), ("good", None)):
        workers.run(name, cron="* * * * *", payload=given)(lambda job: {})
    return workers


async def minutes(store: MemoryStore, clock: Clock, workers: Workers, count: int) -> list[str]:
    """Sweep through so many minutes; the runs that are queued then."""
    runner = Runner(workers, store)
    await runner.sweep()
    for _ in range(count):
        clock.now += timedelta(minutes=1)
        await runner.sweep()
    return sorted(run.run_id for run in await store.runs(status="queued"))


def test_a_payload_that_is_not_json_stops_no_other_schedule(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        queued = await minutes(store, clock, two({"when": datetime(2026, 1, 1)}), 2)
        assert queued == ["good@2026-01-01T12:01:00+00:00", "good@2026-01-01T12:02:00+00:00"]
        entry = await store.get("schedule", "broken")
        assert entry is not None
        assert entry.body["error"].startswith("a payload must be JSON")
        assert entry.body["next"] == "2026-01-01T12:03:00+00:00"
        assert "error" not in (await store.get("schedule", "good")).body  # type: ignore[union-attr]

    with caplog.at_level(logging.WARNING, logger="bobcat.workers"):
        asyncio.run(main())
    assert "the schedule broken failed: a payload must be JSON" in caplog.text


def test_a_run_id_that_is_taken_is_left_out_and_the_next_time_is_queued() -> None:
    async def main() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        await Jobs(store).enqueue("other", run_id="broken@2026-01-01T12:01:00+00:00")
        queued = await minutes(store, clock, two(), 2)
        assert [run_id for run_id in queued if run_id.startswith("good")] == [
            "good@2026-01-01T12:01:00+00:00",
            "good@2026-01-01T12:02:00+00:00",
        ]
        assert "broken@2026-01-01T12:02:00+00:00" in queued

    asyncio.run(main())


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"cron": "* * * * *"},
        {"cron": "* * * * *", "timezone": "UTC", "next": "tomorrow"},
        {"cron": "* * * * *", "timezone": "UTC", "next": 7},
        {"cron": "* * * * *", "timezone": "UTC", "next": "2026-01-01T12:00:00"},
    ],
)
def test_a_damaged_document_begins_anew(body: dict[str, Any]) -> None:
    async def main() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        await store.put("schedule", "broken", body, expected=0)
        queued = await minutes(store, clock, two(), 1)
        assert queued == ["broken@2026-01-01T12:01:00+00:00", "good@2026-01-01T12:01:00+00:00"]

    asyncio.run(main())


@pytest.mark.parametrize("call", ["get", "put"])
def test_a_store_that_fails_for_one_schedule_serves_the_others(call: str, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(MemoryStore):
        async def get(self, kind: str, key: str) -> Any:
            if (call, kind, key) == ("get", "schedule", "broken"):
                raise RuntimeError("the document cannot be read")
            return await super().get(kind, key)

        async def put(self, kind: str, key: str, body: Any, *, expected: int) -> Any:
            if (call, kind, key) == ("put", "schedule", "broken"):
                raise RuntimeError("the document cannot be written")
            return await super().put(kind, key, body, expected=expected)

    async def main() -> None:
        clock = Clock()
        store = Failing(clock=clock)
        queued = await minutes(store, clock, two(), 2)
        assert [run_id for run_id in queued if run_id.startswith("good")] == [
            "good@2026-01-01T12:01:00+00:00",
            "good@2026-01-01T12:02:00+00:00",
        ]

    asyncio.run(main())


def test_a_worker_with_a_broken_schedule_makes_its_runs(house: House) -> None:
    async def main() -> None:
        house.app.workers.run("broken", cron="* * * * *", payload={"x": {1, 2}})(lambda job: {})
        await house.store.put(
            "schedule",
            "broken",
            {"cron": "* * * * *", "timezone": "UTC", "next": "2026-01-01T12:00:00+00:00"},
            expected=0,
        )
        await house.jobs.enqueue("note", {"text": "x"}, run_id="r")
        await house.work()
        assert await house.status("r") == "succeeded"

    asyncio.run(main())


def test_a_time_before_a_restore_is_not_made_up_for(caplog: pytest.LogCaptureFixture) -> None:
    """Its run may have been made, and the record of it may be what was lost."""

    async def main() -> None:
        clock = Clock()
        store = MemoryStore(clock=clock)
        workers = two()
        assert await minutes(store, clock, workers, 0) == []
        clock.now += timedelta(minutes=5)
        await store.mark_restored()
        assert await minutes(store, clock, workers, 0) == []
        assert len(await minutes(store, clock, workers, 1)) == 2

    with caplog.at_level(logging.WARNING, logger="bobcat.workers"):
        asyncio.run(main())
    assert "was not queued: it may have run before the restore" in caplog.text


@pytest.mark.parametrize("wakes_engine", [True, False])
def test_the_engine_of_a_scheduled_run_is_notified_unless_the_caller_claims(wakes_engine: bool) -> None:
    class Engine:
        def __init__(self) -> None:
            self.messages: list[str] = []

        async def enqueue(self, job: Job) -> None:
            self.messages.append(job.run_id)

        async def cancel(self, run_id: str) -> None: ...

    async def main() -> None:
        clock, engine = Clock(), Engine()
        store = MemoryStore(clock=clock)
        workers = Workers()
        workers.run("good", cron="* * * * *")(lambda job: {})
        runner = Runner(workers, store, dispatcher=engine)
        await runner.do_due(wakes_engine=wakes_engine)
        clock.now += timedelta(minutes=1)
        await store.wait_queued(0)  # what was announced before
        await runner.do_due(wakes_engine=wakes_engine)
        (run,) = await store.runs(status="queued")
        assert engine.messages == [run.run_id] * wakes_engine
        assert await store.wait_queued(60), "the store announces it to all workers"

    asyncio.run(main())
