"""Batches of records in every store that takes them: all or none, under the lease, with the end of the run too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bobcat import DuplicateRecord, PostgresStore, RedisStore, SQLiteStore, StepRecord
from bobcat.stores.protocol import BatchingStore, Lease, LeaseLost, RunBusy, batching, grouping

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
pytestmark = pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")

Opened = Callable[[], Any]


def record(seq: int, run_id: str = "r", **body: Any) -> StepRecord:
    return StepRecord(run_id, seq, "k", "", {"n": seq, **body}, MOMENT)


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    make: Callable[[], Any]
    match request.param:
        case "sqlite":
            make = partial(SQLiteStore, tmp_path / "a.db")
        case "postgres":
            url, schema = request.getfixturevalue("postgres_url"), request.getfixturevalue("schema")
            make = partial(PostgresStore, url, schema=schema, durability="warn")
        case _:
            url, prefix = request.getfixturevalue("redis_url"), request.getfixturevalue("prefix")
            make = partial(RedisStore, url, prefix=prefix, durability="warn")

    @asynccontextmanager
    async def store() -> AsyncIterator[Any]:
        found = make()
        assert isinstance(found, BatchingStore)
        assert grouping(found) is batching(found) is found
        yield found
        await found.aclose()

    return store


async def outcome(work: Any) -> type[BaseException] | None:
    try:
        await work
    except (DuplicateRecord, LeaseLost, RunBusy) as error:
        return type(error)
    return None


def test_a_run_is_acquired_and_read_at_once(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as store:
            lease, run = await store.begin("r", owner="a", seconds=600)
            assert (run.run_id, run.status, run.detail, run.appended or 0) == ("r", "running", {}, 0)
            assert (run.records, run.held, run.restored, run.fence) == (0, True, False, lease.fence)
            await store.append_group([record(0), record(1, chain="h1")], lease)
            assert await outcome(store.begin("r", owner="b", seconds=600)) is RunBusy
            again, run = await store.begin("r", owner="a", seconds=600)
            assert again.fence == lease.fence + 1
            assert (run.records, run.appended, run.head, run.fence) == (2, 2, "h1", again.fence)
            assert await outcome(store.append_group([record(2)], lease)) is LeaseLost
            await store.set_status("s", "queued", detail={"kind": "x"})
            _, queued = await store.begin("s", owner="a", seconds=600)
            assert (queued.status, queued.detail, queued.records) == ("queued", {"kind": "x"}, 0)
            await store.mark_restored()
            _, old = await store.begin("r", owner="b", seconds=600)
            assert old.restored

    asyncio.run(main())


def test_a_group_is_all_or_nothing(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as store:
            lease = await store.acquire("r", owner="a", seconds=600)
            await store.append_group([], lease)
            await store.append_group([record(0), record(1)], lease)
            for group in ([record(1), record(2)], [record(2), record(2)], [record(0), record(1)]):
                assert await outcome(store.append_group(group, lease)) is DuplicateRecord
            assert await outcome(store.append_group([record(2), record(3, "other")], lease)) is LeaseLost
            await store.append_group([record(seq) for seq in range(2, 40)], lease)  # more than a statement takes
            assert [each.seq for each in await store.load("r")] == list(range(40))
            assert await store.epoch() == 1
            assert await outcome(store.append_group([record(40), record(42)], lease)) is LeaseLost
            assert await store.epoch() == 2, "the store is an older copy of itself"
            assert len(await store.load("r")) == 40

    asyncio.run(main())


@pytest.mark.parametrize("records", [0, 1, 3, 30])
def test_the_last_records_the_status_and_the_release_are_one(opened: Opened, records: int) -> None:
    async def main() -> None:
        async with opened() as store:
            lease = await store.acquire("r", owner="a", seconds=600)
            await store.append_fenced(record(0), lease)
            last = [record(seq, chain=f"h{seq}") for seq in range(1, records + 1)]
            await store.conclude(last, "succeeded", detail={"records": records}, lease=lease)
            run = await store.run("r")
            assert (run.status, run.held, run.detail) == ("succeeded", False, {"records": records})
            assert (run.records, run.appended) == (records + 1, records + 1)
            assert run.head == (f"h{records}" if records else "")
            found = await outcome(store.conclude([record(records + 1)], "failed", detail={}, lease=lease))
            assert found is LeaseLost
            assert await outcome(store.append_group([record(records + 1)], lease)) is LeaseLost
            assert (await store.run("r")).status == "succeeded"
            assert (await store.acquire("r", owner="b", seconds=600)).fence == lease.fence + 1

    asyncio.run(main())


def test_an_end_that_does_not_fit_changes_nothing(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as store:
            lease = await store.acquire("r", owner="a", seconds=600)
            await store.append_group([record(0), record(1)], lease)
            ends = [([record(1)], DuplicateRecord), ([record(1), record(2)], DuplicateRecord)]
            for records, error in ends:
                assert await outcome(store.conclude(records, "succeeded", detail={}, lease=lease)) is error
            run = await store.run("r")
            assert (run.status, run.held, run.records) == ("running", True, 2)
            lost = Lease("r", "a", lease.fence + 1, lease.expires)
            assert await outcome(store.conclude([record(2)], "succeeded", detail={}, lease=lost)) is LeaseLost
            assert await outcome(store.finish("succeeded", detail={}, lease=lost)) is LeaseLost
            assert (await store.run("r")).records == 2

    asyncio.run(main())


def test_concurrent_runs_end_with_all_of_their_records(opened: Opened) -> None:
    runs = 40

    async def main() -> None:
        async with opened() as store:

            async def go(number: int) -> None:
                run_id = f"r{number}"
                lease, _ = await store.begin(run_id, owner="a", seconds=600)
                await store.append_group([record(seq, run_id) for seq in range(3)], lease)
                await store.append_fenced(record(3, run_id), lease)
                if number % 4 == 0:  # the others do not notice
                    stolen = Lease(run_id, "a", lease.fence + 1, lease.expires)
                    assert await outcome(store.append_group([record(4, run_id)], stolen)) is LeaseLost
                    assert await outcome(store.append_group([record(3, run_id)], lease)) is DuplicateRecord
                last = [record(4, run_id), record(5, run_id, chain="end")]
                await store.conclude(last, "succeeded", detail={}, lease=lease)

            await asyncio.gather(*map(go, range(runs)))
            for number in range(runs):
                run = await store.run(f"r{number}")
                assert (run.status, run.held, run.appended, run.head) == ("succeeded", False, 6, "end")
                assert [each.seq for each in await store.load(f"r{number}")] == list(range(6))

    asyncio.run(main())
