"""A journal that lost its end is refused, also when the worker that wrote it was killed: the store counted it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest

from bobcat import FileStore, MemoryStore, PostgresStore, RedisStore, SQLiteStore
from bobcat.stores.protocol import batching
from kernel.crashing_process import Bank, CrashingStore, Died, attempt, tools

Cut = Callable[[int], None]
"""Removes the records of run `r` from a position on."""


def writes_up_to_a_result(store: Any) -> int:
    """Writes after which the worker dies: the lease, the status, and four records; or the lease, and three batches."""
    return 6 if batching(store) is None else 4


def cut_sqlite(path: Path) -> Cut:
    def cut(seq: int) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM bobcat_records WHERE run_id = 'r' AND seq >= ?", (seq,))

    return cut


def cut_files(path: Path) -> Cut:
    def cut(seq: int) -> None:
        journal = path / "runs" / "r.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[:seq]))

    return cut


@pytest.fixture(params=["memory", "sqlite", "file", "postgres", "redis"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Callable[[], Any], Cut]:
    def server(fixture: str) -> Any:
        return request.getfixturevalue(fixture)

    match request.param:
        case "memory":
            store = MemoryStore()

            def cut_memory(seq: int) -> None:
                for position in [each for each in store._runs["r"] if each >= seq]:
                    del store._runs["r"][position]

            return lambda: store, cut_memory
        case "sqlite":
            return lambda: SQLiteStore(tmp_path / "runs.db"), cut_sqlite(tmp_path / "runs.db")
        case "file":
            return lambda: FileStore(tmp_path / "journals"), cut_files(tmp_path / "journals")
        case "postgres":
            import psycopg

            url, schema = server("postgres_url"), server("schema")

            def cut(seq: int) -> None:
                with psycopg.connect(url, autocommit=True) as connection:
                    text = f"DELETE FROM \"{schema}\".records WHERE run_id = 'r' AND seq >= %s"
                    connection.execute(text.encode(), (seq,))

            return lambda: PostgresStore(url, schema=schema, durability="warn"), cut
        case _:
            import redis

            url, prefix = server("redis_url"), server("prefix")

            def cut_redis(seq: int) -> None:
                with redis.Redis.from_url(url) as client:
                    for position in range(seq, 100):
                        client.hdel(f"{prefix}records:r", str(position))
                        client.zrem(f"{prefix}seqs:r", str(position))

            return lambda: RedisStore(url, prefix=prefix, durability="warn"), cut_redis


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_cut_tail_of_a_killed_run_is_refused_and_nothing_is_paid(
    storage: tuple[Callable[[], Any], Cut], kept: int
) -> None:
    make, cut = storage
    bank = Bank(once=False)
    found = tools(bank, "unsafe", reconciled=False, run_id="r")

    async def main() -> tuple[Any, Any]:
        async with aclosing(make()) as store:
            with pytest.raises(Died):
                await attempt(CrashingStore(store, writes_up_to_a_result(store), after=True), "r", found)
            paid = list(bank.paid)
            assert paid
            cut(kept)
        async with aclosing(make()) as store:
            refused = await attempt(store, "r", found)
            assert bank.paid == paid
            return refused, await store.load("r")

    refused, left = asyncio.run(main())
    assert refused.error == f"journal refused: the store reports 4 records for the run, but {kept} exist"
    assert len(left) == kept


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_a_killed_run_whose_journal_is_whole_goes_on(storage: tuple[Callable[[], Any], Cut]) -> None:
    make, _ = storage
    bank = Bank(once=False)
    found = tools(bank, "unsafe", reconciled=False, run_id="r")

    async def main() -> Any:
        async with aclosing(make()) as store:
            with pytest.raises(Died):
                await attempt(CrashingStore(store, writes_up_to_a_result(store), after=True), "r", found)
            return await attempt(store, "r", found)

    assert asyncio.run(main()).error is None
    assert [amount for _, amount in bank.paid] == [10, 20, 30]


def test_a_file_store_without_a_mark_of_the_end_goes_on_as_before(tmp_path: Path) -> None:
    path = tmp_path / "journals"
    bank = Bank(once=False)
    found = tools(bank, "unsafe", reconciled=False, run_id="r")

    async def main() -> Any:
        async with aclosing(FileStore(path)) as store:
            with pytest.raises(Died):
                await attempt(CrashingStore(store, writes_up_to_a_result(store), after=True), "r", found)
            (path / "runs" / "r.head").unlink()
            return await attempt(store, "r", found)

    assert asyncio.run(main()).error is None
