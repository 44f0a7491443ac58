"""`sql.query` and `sql.execute` through a guard, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from bobcat import Guard, Policy
from bobcat.guard import Outcome
from bobcat.providers import sql
from providers.escapes_sql import ESCAPES, LOOKALIKES, Row

ALL = Policy.compile("rules: [{id: all, match: {tool.in: [sql.query, sql.execute]}, decision: allow}]")
SCHEMA = """
CREATE TABLE orders (id integer PRIMARY KEY, total integer);
INSERT INTO orders VALUES (1, 5), (2, 7);
CREATE TABLE secrets (body text);
INSERT INTO secrets VALUES ('hidden');
"""
LITE_SCHEMA = """
CREATE TABLE pictures (picture blob);
INSERT INTO pictures VALUES (x'00ff');
CREATE VIEW totals AS SELECT sum(total) FROM orders;
UPDATE secrets SET body = printf('%.300000c', 'x');
"""
POSTGRES_SCHEMA = """
CREATE SEQUENCE numbers;
CREATE FUNCTION own(integer) RETURNS integer LANGUAGE sql AS 'DELETE FROM orders RETURNING 1';
CREATE FUNCTION own(orders) RETURNS integer LANGUAGE sql AS 'DELETE FROM orders RETURNING 1';
CREATE PROCEDURE remove() LANGUAGE sql AS 'DELETE FROM orders';
CREATE VIEW writing AS SELECT own(1);
CREATE VIEW sleeping AS SELECT CAST(pg_sleep(60) AS text);
"""
WORDS = {
    "kind": "of the kind",
    "function": "is not permitted",
    "database": "the database refuses",
    "timeout": "was ended after 0.5 s",
    "invalid": "must be a text, a number",
}
"""Words of the refusals by their codes; those of the facet are in the text."""
Database = tuple[str, dict[str, Any], Callable[[], Any]]


@pytest.fixture
def lite(tmp_path: Path) -> Database:
    place = tmp_path / "shop.sqlite3"
    with sqlite3.connect(place) as connection:
        connection.executescript(SCHEMA + LITE_SCHEMA)

    def state() -> Any:
        files = sorted(each.name for each in tmp_path.iterdir())
        with sqlite3.connect(place) as connection:
            return files, list(connection.iterdump())

    return str(place), {}, state


@pytest.fixture(scope="module")
def server(postgres_url: str) -> Iterator[tuple[str, str]]:
    """The URL of a database of its own, and the role that may use some of it."""
    name = f"bobcat_test_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        connection.execute(f"CREATE ROLE {name}".encode())
        url = f"{postgres_url.rsplit('/', 1)[0]}/{name}"
        try:
            with psycopg.connect(url, autocommit=True) as inner:
                inner.execute((SCHEMA + POSTGRES_SCHEMA).encode())
                inner.execute(f"GRANT ALL ON orders, writing, sleeping TO {name}".encode())
            yield url, name
        finally:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
            connection.execute(f"DROP ROLE IF EXISTS {name}".encode())


@pytest.fixture
def postgres(server: tuple[str, str]) -> Iterator[Database]:
    url, role = server
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE orders")
        connection.execute("INSERT INTO orders VALUES (1, 5), (2, 7)")

        def state() -> Any:
            tables = connection.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
            ).fetchall()
            rows = connection.execute("SELECT * FROM orders ORDER BY 1").fetchall()
            return tables, rows, connection.execute("SELECT last_value, is_called FROM numbers").fetchall()

        yield url, {"role": role}, state


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


def submitted(tools: Any, tool: str, policy: Policy = ALL, **args: Any) -> Outcome:
    async def main() -> Outcome:
        async with Guard(policy, tools) as guard:
            return await asyncio.wait_for(guard.submit(tool, args), 20)

    return asyncio.run(main())


def called(database: Database, row: Row) -> Outcome:
    place, options, _ = database
    tools = sql({"shop": place}, timeout_seconds=0.5, **options)
    name = "query" if row.tool == "query" else "statement"
    return submitted(tools, f"sql.{row.tool}", database="shop", **{name: row.text, "parameters": list(row.parameters)})


def pairs(rows: list[Row]) -> Any:
    found = [(each, row) for row in rows for each in row.databases]
    return pytest.mark.parametrize(
        ("database", "row"), found, ids=[f"{row.id}-{each}" for each, row in found], indirect=["database"]
    )


@pairs(ESCAPES)
def test_an_escape_is_refused_and_changes_nothing(database: Database, row: Row) -> None:
    before = database[2]()
    started = time.monotonic()
    outcome = called(database, row)
    assert (outcome.status, outcome.value) == ("failed", None), outcome
    assert outcome.error is not None
    assert "hidden" not in outcome.error
    assert WORDS.get(row.expected, row.expected) in outcome.error
    assert time.monotonic() - started < 5
    assert database[2]() == before


@pairs(LOOKALIKES)
def test_a_look_alike_runs(database: Database, row: Row) -> None:
    before = database[2]()
    outcome = called(database, row)
    assert outcome.status == "ok", outcome.error
    if row.tool == "query":
        assert outcome.value["rows"] == row.expected
        assert database[2]() == before
    else:
        assert outcome.value["rows_affected"] == row.expected
        assert database[2]() != before


@pytest.mark.parametrize("database", ["lite", "postgres"], indirect=True)
def test_a_result_has_at_most_so_many_rows_and_characters(database: Database) -> None:
    place, options, _ = database
    tools = sql({"shop": place}, max_rows=3, max_bytes=2_000, **options)
    many = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 100000) SELECT n FROM t"
    for asked, rows in ((1, 1), (3, 3), (50, 3)):
        outcome = submitted(tools, "sql.query", database="shop", query=many, max_rows=asked)
        assert (len(outcome.value["rows"]), outcome.value["truncated"]) == (rows, True)
    wide = "SELECT replace('" + "x" * 100 + "', 'x', 'yyyyyyyyyy') FROM orders"
    outcome = submitted(tools, "sql.query", database="shop", query=wide)
    assert (len(outcome.value["rows"]), outcome.value["truncated"]) == (1, True)
    outcome = submitted(tools, "sql.query", database="shop", query="SELECT id FROM orders")
    assert outcome.value == {"columns": ["id"], "rows": [[1], [2]], "truncated": False}
    assert (outcome.opened["database"], outcome.opened["tables"]) == ("shop", ["orders"])


@pytest.mark.parametrize("database", ["lite", "postgres"], indirect=True)
def test_a_failed_statement_changes_nothing(database: Database) -> None:
    place, options, state = database
    before = state()
    text = "INSERT INTO orders (id, total) SELECT 3, 1 UNION ALL SELECT 1, 1"
    outcome = submitted(sql({"shop": place}, **options), "sql.execute", database="shop", statement=text)
    assert outcome.status == "failed"
    assert "refuses the statement" in str(outcome.error)
    assert state() == before


@pytest.mark.parametrize("database", ["lite", "postgres"], indirect=True)
def test_the_policy_decides_by_the_parts_of_the_statement(database: Database) -> None:
    policy = Policy.compile(
        "rules: [{id: orders, decision: allow, match:"
        " {tool: sql.query, args.query.sql: {is_read_only: true, tables.subset_of: [orders]}}}]"
    )
    place, options, _ = database
    tools = sql({"shop": place}, **options)
    for text, status in (
        ("SELECT max(total) FROM orders", "ok"),
        ("SELECT * FROM secrets", "denied"),
        ("SELECT * FROM orders WHERE id IN (SELECT 1 FROM secrets)", "denied"),
        ("SELECT 1; SELECT 2", "denied"),
    ):
        assert submitted(tools, "sql.query", policy, database="shop", query=text).status == status


def test_listed_functions_are_called(postgres: Database) -> None:
    place, options, _ = postgres
    tools = sql({"shop": place}, functions=("pg_backend_pid",), **options)
    outcome = submitted(tools, "sql.query", database="shop", query="SELECT pg_backend_pid() > 0")
    assert outcome.value["rows"] == [[True]]


def test_a_function_that_writes_is_refused_by_the_session(postgres: Database) -> None:
    place, _, state = postgres
    before = state()
    outcome = submitted(sql({"shop": place}, functions=None), "sql.query", database="shop", query="SELECT own(1)")
    assert "read-only transaction" in str(outcome.error)
    assert state() == before


def test_the_session_of_sqlite_refuses_tables_that_the_statement_does_not_name(lite: Database) -> None:
    from bobcat.providers.database.limits import SqlLimits
    from bobcat.providers.database.lite import Lite
    from bobcat.providers.database.statement import Parsed

    forged = Parsed("SELECT body FROM secrets", ("select",), frozenset({"orders"}))
    with pytest.raises(Exception, match="prohibited"):
        asyncio.run(Lite("shop", lite[0], SqlLimits(1, 1, 100)).run(forged, (), 1, write=False))
    for text in ("PRAGMA user_version = 5", "ATTACH ':memory:' AS m", "DELETE FROM orders", "CREATE TABLE x (y)"):
        with pytest.raises(Exception, match=r"authorized|prohibited|readonly"):
            asyncio.run(
                Lite("shop", lite[0], SqlLimits(1, 1, 100)).run(
                    Parsed(text, ("select",), frozenset({"orders", "x"})), (), 1, write=False
                )
            )


def test_calls_to_unknown_and_read_only_databases_are_refused(lite: Database, tmp_path: Path) -> None:
    tools = sql({"shop": lite[0], "gone": tmp_path / "gone.sqlite3", "dir": tmp_path}, read_only=["shop"])
    delete = {"database": "shop", "statement": "DELETE FROM orders"}
    assert "read-only" in str(submitted(tools, "sql.execute", **delete).error)
    for name, words in (("other", "known: shop"), ("gone", "cannot be opened"), ("dir", "no regular file")):
        assert words in str(submitted(tools, "sql.query", database=name, query="SELECT 1").error)
    assert not (tmp_path / "gone.sqlite3").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({},), "mapping"),
        (({"a": "mysql://x/y"},), "unknown scheme"),
        (({"a": "postgresql://x:y:z@[/"},), "invalid"),
    ],
)
def test_invalid_arguments_of_the_provider_are_errors(arguments: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        sql(*arguments)
    with pytest.raises(ValueError, match="read_only"):
        sql({"a": "b"}, read_only=["c"])
    with pytest.raises(ValueError, match="max_rows"):
        sql({"a": "b"}, max_rows=0)
