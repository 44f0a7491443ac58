"""A store counts its live runs as a listing of them does, whatever they hold, and whatever its history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import FileStore, MemoryStore, SQLiteStore
from bobcat.stores import PostgresStore, RedisStore
from bobcat.stores.counts import CountingStore, read_counts
from bobcat.stores.protocol import QueueEntry

ODD = 'quoted "uncertain":true, "approvals":["a","b"], \0 \ud800'


@pytest.fixture(params=["memory", "sqlite", "file", "postgres", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    value = request.getfixturevalue
    match request.param:
        case "memory":
            return MemoryStore
        case "sqlite":
            return lambda: SQLiteStore(tmp_path / "s.db")
        case "file":
            return lambda: FileStore(tmp_path / "s")
        case "postgres":
            url, schema = value("postgres_url"), value("schema")
            return lambda: PostgresStore(url, schema=schema)
        case _:
            url, prefix = value("redis_url"), value("prefix")
            return lambda: RedisStore(url, prefix=prefix, durability="warn")


async def fill(store: Any) -> None:
    now = await store.now()
    past, later = now - timedelta(minutes=5), datetime(2999, 1, 1, tzinfo=UTC)
    for number in range(6):
        entry = QueueEntry("refund" if number % 2 else "report", past if number < 4 else later, tenant=f"t{number}")
        await store.queue(f"q{number}", replace(entry, run_at=entry.run_at + timedelta(seconds=number)))
    for number in range(5):
        await store.queue(f"s{number}", QueueEntry("ask@2", past))
        detail: dict[str, Any] = {"chain": "0" * 64, "error": ODD, "records": 3}
        if number:
            detail["approvals"] = [f"{index:020x}" for index in range(number)]
        if number == 3:
            detail["uncertain"] = True
        await store.set_status(f"s{number}", "suspended", detail=detail)
    await store.queue("r", QueueEntry("refund", past))
    await store.set_status("r", "running")
    for status in ("succeeded", "failed", "cancelled"):
        await store.queue(status, QueueEntry("refund", past))
        await store.set_status(status, status, detail={"approvals": ["aa"], "uncertain": True})


@pytest.mark.filterwarnings("ignore::bobcat.errors.StoreWarning")
def test_counts_are_those_of_a_listing(make: Callable[[], Any]) -> None:
    async def main() -> None:
        async with aclosing(make()) as store:
            assert isinstance(store, CountingStore)
            empty = await store.counts()
            assert empty == replace(await read_counts(store), now=empty.now)
            assert empty.runs == {"queued": 0, "running": 0, "suspended": 0}
            await fill(store)
            found = await store.counts()
            assert found == replace(await read_counts(store), now=found.now)
            assert found.runs == {"queued": 6, "running": 1, "suspended": 5}
            assert found.queued == {"refund": 3, "report": 3}
            assert (found.due, found.approvals, found.uncertain) == (4, 10, 1)
            assert found.oldest_due is not None
            assert found.now - found.oldest_due >= timedelta(minutes=5)

    asyncio.run(main())
