"""Undo of statements on SQLite: the rows that changed, whatever the statement's text, and conflicts."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Policy, Undo, UndoError
from bobcat.providers import sql

POLICY = Policy.compile("rules: [{id: all, match: {declared.scope.contains: undo}, decision: allow}]")
SCHEMA = """
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, born REAL, photo BLOB, label TEXT AS (name || '!'));
INSERT INTO people VALUES (1, 'ann', 1.5, x'00ff'), (2, 'bob', NULL, NULL), (3, 'żółć', 1e300, x'');
CREATE TABLE pairs (a TEXT, b INTEGER, value, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT INTO pairs VALUES ('x', 1, 'one'), ('x', 2, 2.0), ('y', 1, NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people ON DELETE CASCADE, note TEXT UNIQUE);
INSERT INTO orders VALUES (10, 2, 'first'), (11, 2, 'second'), (12, 3, 'third');
CREATE TABLE loose (text TEXT);
INSERT INTO loose VALUES ('a');
"""

STATEMENTS = [
    "INSERT INTO people (id, name) VALUES (9, 'new')",
    "INSERT INTO people (name) VALUES ('numbered'), ('by'), ('SQLite')",
    "INSERT INTO people (id, name) SELECT id + 100, name FROM people",
    "UPDATE people SET name = 'eve', photo = NULL WHERE id = 1",
    "UPDATE people SET name = 'all'",
    "UPDATE people SET name = 'nothing' WHERE id = 77",
    "UPDATE people SET id = id + 100 WHERE id = 1",
    "UPDATE pairs SET b = b + 10",
    "UPDATE pairs SET value = b WHERE a IN (SELECT a FROM pairs WHERE b = 2)",
    "DELETE FROM people WHERE id = 1",
    "DELETE FROM people WHERE id = 2",
    "DELETE FROM people",
    "DELETE FROM pairs WHERE a = 'x'",
    "REPLACE INTO people (id, name) VALUES (1, 'replaced')",
    "INSERT OR REPLACE INTO orders (id, person, note) VALUES (99, 1, 'first')",
    "INSERT INTO people (id, name) VALUES (1, 'up') ON CONFLICT (id) DO UPDATE SET name = 'upserted'",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "shop.db"
    with closing(sqlite3.connect(found)) as connection:
        connection.executescript(SCHEMA)
    return found


def content(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


Call = Callable[[str], Awaitable[Any]]


def run(path: Path, work: Callable[[Undo, Call], Awaitable[Any]], **options: Any) -> None:
    async def main() -> None:
        async with Undo(path.parent / "undo.db", **options) as undo:
            tools = undo.protect(sql({"shop": path})).union(undo.tools())
            async with Guard(POLICY, tools) as guard:

                async def call(statement: str) -> Any:
                    return await guard.submit("sql.execute", {"database": "shop", "statement": statement})

                await work(undo, call)

    asyncio.run(main())


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_is_undone_and_the_undo_too(path: Path, statement: str) -> None:
    before = content(path)

    async def work(undo: Undo, call: Call) -> None:
        outcome = await call(statement)
        assert outcome.ok, outcome
        after = content(path)
        assert (after == before) == (outcome.value["rows_affected"] == 0)
        (entry,) = await undo.entries()
        assert (entry.state, entry.kind) == ("done", "sql")
        undone = await undo.apply(entry.id)
        assert content(path) == before
        redone = await undo.apply(undone.id)
        assert content(path) == after
        await undo.apply(redone.id)
        assert content(path) == before

    run(path, work)


def test_the_target_names_the_database_and_the_tables(path: Path) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("DELETE FROM people WHERE id = 2")
        (entry,) = await undo.entries()
        assert entry.target == "shop:orders,people"
        ((_, (kept, now)),) = (await undo.texts(entry.id)).items()
        assert '["people",[2],[2,"bob",null,null]]' in (kept or "")
        assert '["people",[2],null]' in (now or "")

    run(path, work)


@pytest.mark.parametrize(
    "statement, text",
    [
        ("INSERT INTO loose VALUES ('b')", "no primary key"),
        ("UPDATE loose SET text = 'b'", "no primary key"),
        ("DELETE FROM loose", "no primary key"),
        ("INSERT INTO words (text) VALUES ('b')", "constraint failed"),
        (f"UPDATE people SET name = '{'x' * 2000}'", "max_bytes"),
    ],
)
def test_without_a_snapshot_nothing_is_committed(path: Path, statement: str, text: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
    before = content(path)

    async def work(undo: Undo, call: Call) -> None:
        outcome = await call(statement)
        assert outcome.status == "failed"
        assert text in (outcome.error or "")
        assert await undo.entries() == []

    run(path, work, max_bytes=1000)
    assert content(path) == before


def test_a_database_with_triggers_is_refused(path: Path) -> None:
    execute(path, "CREATE TRIGGER t AFTER DELETE ON people BEGIN INSERT INTO loose VALUES ('gone'); END")
    before = content(path)

    async def work(undo: Undo, call: Call) -> None:
        assert "has the trigger `t`" in ((await call("DELETE FROM people")).error or "")

    run(path, work)
    assert content(path) == before


def test_a_store_that_is_gone_rolls_the_statement_back(path: Path) -> None:
    before = content(path)

    async def work(undo: Undo, call: Call) -> None:
        undo.close()
        assert (await call("DELETE FROM people")).status == "failed"

    run(path, work)
    assert content(path) == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE people SET name = 'another' WHERE id = 1",
        "DELETE FROM people WHERE id = 1",
        "UPDATE people SET photo = x'01' WHERE id = 1",
    ],
)
def test_rows_that_changed_since_are_a_conflict(path: Path, change: str) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("UPDATE people SET name = 'eve' WHERE id = 1")
        execute(path, change)
        now = content(path)
        (entry,) = await undo.entries()
        with pytest.raises(UndoError, match="changed since") as refused:
            await undo.apply(entry.id)
        assert refused.value.code == "conflict"
        assert content(path) == now
        forced = await undo.apply(entry.id, force=True)
        await undo.apply(forced.id)
        assert content(path) == now

    run(path, work)


def test_other_rows_that_changed_are_kept(path: Path) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("UPDATE people SET name = 'eve' WHERE id = 1")
        execute(path, "UPDATE people SET name = 'kept' WHERE id = 2")
        await undo.apply((await undo.entries())[0].id)

    run(path, work)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM people ORDER BY id").fetchall() == [("ann",), ("kept",), ("żółć",)]


def test_rows_that_depend_on_those_of_an_undo_are_not_deleted(path: Path) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("INSERT INTO people (id, name) VALUES (9, 'new')")
        execute(path, "INSERT INTO orders VALUES (50, 9, 'since')")
        now = content(path)
        (entry,) = await undo.entries()
        with pytest.raises(UndoError, match="other rows depend"):
            await undo.apply(entry.id)
        assert content(path) == now
        assert (await undo.get(entry.id)).state == "done"

    run(path, work)
