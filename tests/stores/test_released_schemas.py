"""Every released schema opens in this release, complete; a migration happens once, completely or not at all."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bobcat import FileStore, PostgresStore, SQLiteStore, StoreError, step_record_to_json
from bobcat.stores.codec import FENCE_JUMP
from bobcat.stores.file.store import FORMAT
from bobcat.stores.postgres import schema as postgres
from bobcat.stores.sqlite import schema as sqlite
from stores.make_released import RELEASED, SCHEMA, records


async def demand_whole(store: Any) -> None:
    """The content of `make_released` is present, and the store continues from it."""
    async with aclosing(store):
        found = await store.load("plain")
        assert [step_record_to_json(each) for each in found] == [step_record_to_json(each) for each in records("plain")]
        runs = {each.run_id: each for each in await store.runs()}
        assert {run_id: (each.status, each.records, each.fence % FENCE_JUMP) for run_id, each in runs.items()} == {
            "plain": ("succeeded", 3, 0),
            "waiting": ("suspended", 0, 0),
            "leased": ("running", 0, 1),
        }
        assert dict(runs["waiting"].detail) == {"approvals": ["a1"]}
        approval = await store.get("approval", "a1")
        assert approval is not None
        assert (approval.version, dict(approval.body)) == (2, {"granted": True, "by": "é\ud800"})
        lease = await store.acquire("leased", owner="another", seconds=60)
        assert lease.fence % FENCE_JUMP == 2
        await store.append_fenced(records("leased")[0], lease)
        assert (await store.put("approval", "a1", {}, expected=2)).version == 3


def restore(url: str, schema: str, dump: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(dump.replace(SCHEMA, schema).encode())


@pytest.mark.parametrize("version", range(1, len(sqlite.MIGRATIONS) + 1))
def test_a_sqlite_file_of_a_released_schema_opens(version: int, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    shutil.copy(RELEASED / f"sqlite-v{version}.db", path)
    asyncio.run(demand_whole(SQLiteStore(path)))


@pytest.mark.parametrize("version", range(1, len(postgres.MIGRATIONS) + 1))
def test_a_postgres_dump_of_a_released_schema_opens(version: int, postgres_url: str, schema: str) -> None:
    restore(postgres_url, schema, (RELEASED / f"postgres-v{version}.sql").read_text())
    asyncio.run(demand_whole(PostgresStore(postgres_url, schema=schema, durability="warn")))


@pytest.mark.parametrize("version", range(1, FORMAT + 1))
def test_a_directory_of_a_released_format_opens(version: int, tmp_path: Path) -> None:
    directory = tmp_path / "journals"
    shutil.copytree(RELEASED / f"files-v{version}", directory)
    asyncio.run(demand_whole(FileStore(directory)))


def open_together(make: Callable[[], Any]) -> None:
    """Several objects open the storage at once; each of them has to find the last schema."""

    async def together() -> None:
        stores = [make() for _ in range(4)]
        try:
            await asyncio.gather(*(store.load("plain") for store in stores))
        finally:
            for store in stores:
                await store.aclose()

    asyncio.run(together())


def test_a_sqlite_file_goes_through_a_migration_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, known = tmp_path / "runs.db", len(sqlite.MIGRATIONS)
    migrations = sqlite.MIGRATIONS
    shutil.copy(RELEASED / "sqlite-v1.db", path)
    more = ("ALTER TABLE bobcat_runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'none'",)
    broken = (*more, "ALTER TABLE nonsense ADD COLUMN x TEXT")
    monkeypatch.setattr(sqlite, "MIGRATIONS", (*migrations, broken))
    with pytest.raises(StoreError, match="no such table: nonsense"):
        open_together(lambda: SQLiteStore(path))
    monkeypatch.setattr(sqlite, "MIGRATIONS", (*migrations, more))
    open_together(lambda: SQLiteStore(path))
    open_together(lambda: SQLiteStore(path))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT version FROM bobcat_schema").fetchall() == [(known + 1,)]
    assert connection.execute("SELECT DISTINCT colour FROM bobcat_runs").fetchall() == [("none",)]
    connection.close()
    monkeypatch.undo()
    with pytest.raises(
        StoreError, match=f"has schema {known + 1}, and this release of bobcat knows schemas up to {known}"
    ):
        open_together(lambda: SQLiteStore(path))


def test_a_postgres_schema_goes_through_a_migration_once(
    postgres_url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> PostgresStore:
        return PostgresStore(postgres_url, schema=schema, durability="warn")

    migrations = postgres.MIGRATIONS
    restore(postgres_url, schema, (RELEASED / "postgres-v1.sql").read_text())
    more = ("ALTER TABLE bobcat.runs ADD COLUMN colour text NOT NULL DEFAULT 'none'",)
    broken = (*more, "ALTER TABLE bobcat.nonsense ADD COLUMN x text")
    monkeypatch.setattr(postgres, "MIGRATIONS", (*migrations, broken))
    with pytest.raises(StoreError, match="nonsense"):
        open_together(make)
    monkeypatch.setattr(postgres, "MIGRATIONS", (*migrations, more))
    open_together(make)
    open_together(make)
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        version = connection.execute(f'SELECT version FROM "{schema}".schema_version'.encode()).fetchall()
        tenants = connection.execute(f'SELECT DISTINCT colour FROM "{schema}".runs'.encode()).fetchall()
    assert (version, tenants) == ([(len(postgres.MIGRATIONS),)], [("none",)])
