"""What an idle worker asks of its store does not grow with the runs that are over, scheduled or suspended.

Work is counted, not timed: instructions of SQLite's machine, rows that PostgreSQL reads, keys that Redis looks up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import redis

from bobcat.stores import PostgresStore, SQLiteStore
from bobcat.stores.protocol import QueueEntry
from bobcat.stores.redis import RedisStore
from bobcat.workers import Runner, Workers

LOOKS = 5
FEW, MANY = (20, 10), (1_200, 400)
"""Finished runs, and as many scheduled as suspended ones."""
LIVE_SHARE = 0.1
"""Most work that one more run in the store may cost all looks together: a look that visits it costs `LOOKS`."""

Look = Callable[[Any], Coroutine[Any, Any, None]]


async def fill(store: Any, finished: int, waiting: int) -> None:
    """Add runs, of which a worker has nothing to do now."""
    now, slots = await store.now(), asyncio.Semaphore(16)
    later = now + timedelta(days=1)

    async def add(status: Any, number: int) -> None:
        run_id, run_at = f"{status}-{number}", now if status == "succeeded" else later
        async with slots:
            await store.queue(run_id, QueueEntry("note", run_at, f"t{number % 3}"))
            if status != "queued":
                await store.set_status(run_id, status)
            if status == "suspended":
                await store.look_at(run_id, later)

    counts = {"succeeded": finished, "queued": waiting, "suspended": waiting}
    await asyncio.gather(*(add(status, number) for status, count in counts.items() for number in range(count)))
    await Runner(app(), store).do_due()  # once for a store: it adopts the runs of earlier releases


def app() -> Workers:
    workers = Workers()
    workers.run("note")(lambda job: {})
    return workers


async def look_often(store: Any) -> None:
    """Do what an idle worker does, several times."""
    runner = Runner(app(), store)
    for _ in range(LOOKS):
        runner._look_due = runner._abandoned_due = 0.0
        await runner.do_due()
        assert await runner.claim() is None
        assert await runner.seconds_until_due() > 0


def sqlite_work(path: Path, look: Look, monkeypatch: pytest.MonkeyPatch) -> int:
    """Instructions of SQLite, in tens."""
    from bobcat.stores.sqlite import worker as thread

    counted, connect = 0, thread.connect

    def counting(*arguments: Any, **options: Any) -> Any:
        def count() -> None:
            nonlocal counted
            counted += 1

        found = connect(*arguments, **options)
        found.connection.set_progress_handler(count, 10)
        return found

    async def main() -> None:
        async with aclosing(SQLiteStore(path)) as store:
            await look(store)

    with monkeypatch.context() as patch:
        patch.setattr(thread, "connect", counting)
        asyncio.run(main())
    return counted


def postgres_work(url: str, schema: str, fill_new: Look, look: Look) -> int:
    """Rows and index entries of the tables that PostgreSQL has read in a look, after the store is filled."""
    with psycopg.connect(url, autocommit=True) as connection:

        def use(what: Look) -> None:
            """Use the store until PostgreSQL has closed its connections, and so counted what they read."""
            name = f"idle-{uuid4().hex[:8]}"

            async def main() -> None:
                named = f"{url}{'&' if '?' in url else '?'}application_name={name}"
                async with aclosing(PostgresStore(named, schema=schema)) as store:
                    await what(store)

            asyncio.run(main())
            until = time.monotonic() + 60
            while connection.execute("SELECT 1 FROM pg_stat_activity WHERE application_name = %s", (name,)).fetchone():
                assert time.monotonic() < until, "the store has left a connection"
                time.sleep(0.05)

        def read() -> int:
            row = connection.execute(
                """SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))
                    + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = %(schema)s)
                FROM pg_stat_user_tables WHERE schemaname = %(schema)s""",
                {"schema": schema},
            ).fetchone()
            assert row is not None
            return int(row[0])

        use(fill_new)
        connection.execute(f'VACUUM ANALYZE "{schema}".runs'.encode())
        connection.execute("SELECT pg_stat_force_next_flush()")
        before = read()
        use(look)
        return read() - before


def redis_work(url: str, prefix: str, look: Look) -> int:
    """Keys that commands and scripts have looked up."""

    async def main() -> None:
        async with aclosing(RedisStore(url, prefix=prefix, durability="warn")) as store:
            await look(store)

    with redis.Redis.from_url(url) as client:

        def read() -> int:
            found: Any = client.info("stats")
            return int(found["keyspace_hits"]) + int(found["keyspace_misses"])

        before = read()
        asyncio.run(main())
        return read() - before


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def measure(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[tuple[int, int], Look], int]:
    """Fill a new store, and count what it does for a look."""

    def work(size: tuple[int, int], look: Look) -> int:
        async def fill_only(store: Any) -> None:
            await fill(store, *size)

        async def fill_new(store: Any) -> None:
            async with aclosing(store) as opened:
                await fill_only(opened)

        match request.param:
            case "sqlite":
                path = tmp_path / f"{size[0]}-{uuid4().hex[:8]}.db"
                asyncio.run(fill_new(SQLiteStore(path)))
                return sqlite_work(path, look, monkeypatch)
            case "postgres":
                url, schema = request.getfixturevalue("postgres_url"), f"bobcat_test_{uuid4().hex[:12]}"
                request.addfinalizer(lambda: drop_schema(url, schema))
                return postgres_work(url, schema, fill_only, look)
            case _:
                # A server of its own: the counters are those of the whole server.
                url, prefix = request.getfixturevalue("own_redis").url, f"bobcat-test-{uuid4().hex[:12]}:"
                asyncio.run(fill_new(RedisStore(url, prefix=prefix, durability="warn")))
                return redis_work(url, prefix, look)

    return work


def drop_schema(url: str, schema: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "{schema}" CASCADE'.encode())


def test_an_idle_worker_costs_the_same_whatever_the_history(measure: Callable[[tuple[int, int], Look], int]) -> None:
    more = sum(MANY) + MANY[1] - sum(FEW) - FEW[1]
    seen = []
    for _ in range(3):  # other tests at the same server, and its own upkeep, add to a count now and then
        few, many = measure(FEW, look_often), measure(MANY, look_often)
        seen.append((few, many))
        if many - few <= LIVE_SHARE * more:
            return
    pytest.fail(f"each more run costs work: {seen}")


def test_the_counters_see_a_look_at_every_run(measure: Callable[[tuple[int, int], Look], int]) -> None:
    async def list_all(store: Any) -> None:
        for _ in range(LOOKS):
            await store.runs(limit=10_000)

    few, many = measure(FEW, list_all), measure(MANY, list_all)
    more = sum(MANY) + MANY[1] - sum(FEW) - FEW[1]
    assert many - few > 10 * LIVE_SHARE * more, (few, many)
