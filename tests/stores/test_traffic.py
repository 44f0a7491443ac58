"""Each store counts its statements, and the commits that they share."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bobcat import PostgresStore, StepRecord
from bobcat.stores.traffic import Traffic, traffic_of
from stores.test_batching_stores import MOMENT, Opened, opened

__all__ = ["opened"]
RUNS, RECORDS = 12, 10

pytestmark = pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")


async def write(store: Any, run_id: str) -> None:
    lease, _ = await store.begin(run_id, owner="a", seconds=600)
    for seq in range(RECORDS):
        await store.append_fenced(StepRecord(run_id, seq, "k", "", {"n": seq}, MOMENT), lease)
    await store.conclude(
        [StepRecord(run_id, RECORDS, "k", "", {}, MOMENT)], "succeeded", detail={"records": 1}, lease=lease
    )


def test_writes_of_one_run_are_commits_of_their_own_and_those_of_many_share_them(opened: Opened) -> None:
    async def main() -> None:
        async with opened() as store:
            await write(store, "first")
            before = traffic_of(store)
            statements, commits = before.statements, before.commits
            await write(store, "r")
            assert before.statements - statements == RECORDS + 2
            assert before.commits - commits == RECORDS + 2
            statements, commits = before.statements, before.commits
            await asyncio.gather(*(write(store, f"r{number}") for number in range(RUNS)))
            assert before.statements - statements == RUNS * (RECORDS + 2)
            assert RECORDS + 2 <= before.commits - commits < RUNS * (RECORDS + 2) * 3 / 4

    asyncio.run(main())


def test_the_commits_are_those_that_postgresql_counts(postgres_url: str, schema: str) -> None:
    """The server has a database for this test alone: others have connections of their own to theirs."""
    name = schema.replace("bobcat_test_", "traffic_")

    def committed(connection: psycopg.Connection) -> int:
        """The commits of the database, when all of its connections have reported them."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            row = connection.execute(
                "SELECT xact_commit, numbackends FROM pg_stat_database WHERE datname = %s", (name,)
            ).fetchone()
            if row is not None and row[0] >= counted.commits and not row[1]:
                return int(row[0])
            time.sleep(0.05)
        return 0

    async def main() -> Traffic:
        parts, _, _ = postgres_url.rpartition("/")
        async with aclosing(PostgresStore(f"{parts}/{name}", pool_size=4, durability="warn")) as store:
            await write(store, "first")
            await asyncio.gather(*(write(store, f"r{number}") for number in range(RUNS)))
            lease = await store.acquire("t", owner="a", seconds=600)
            async with store.transaction(lease) as transaction:
                await transaction.connection.execute("CREATE TABLE paid (amount integer)")
                await transaction.append(StepRecord("t", 0, "k", "", {}, MOMENT))
            return store.traffic

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            counted = asyncio.run(main())
            set_up = 60  # of the schema, and of five connections
            assert counted.commits <= committed(connection) <= counted.commits + set_up
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def test_files_are_counted_and_memory_is_not(tmp_path: Path) -> None:
    from bobcat import FileStore, MemoryStore

    async def main(store: Any) -> Traffic:
        async with aclosing(store):
            lease = await store.acquire("r", owner="a", seconds=600)
            await store.append_fenced(StepRecord("r", 0, "k", "", {}, MOMENT), lease)
            return traffic_of(store)

    counted = asyncio.run(main(FileStore(tmp_path / "runs")))
    assert (counted.statements, counted.commits) == (2, 2)
    counted = asyncio.run(main(MemoryStore()))
    assert (counted.statements, counted.commits) == (0, 0)
    assert traffic_of(object()) == Traffic()
