"""Undo of statements on PostgreSQL: exact rows of every type, foreign keys, conflicts, and what is refused before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bobcat import Guard, Policy, Undo, UndoError
from bobcat.providers import sql

POLICY = Policy.compile("rules: [{id: all, match: {declared.scope.contains: undo}, decision: allow}]")
SCHEMA = Path(__file__).with_name("shop.sql").read_text()
STATEMENTS = [
    "INSERT INTO people (id, name) VALUES (9, 'new')",
    "INSERT INTO people (id, name) SELECT id + 100, name FROM people",
    "INSERT INTO numbered (text) VALUES ('c'), ('d')",
    "INSERT INTO people (id, name) VALUES (1, 'up'), (20, 'x') ON CONFLICT (id) DO UPDATE SET name = 'upserted'",
    "UPDATE people SET name = 'eve', photo = NULL WHERE id = 1",
    "UPDATE people SET name = 'all', paid = 1.5, tags = NULL, part = NULL, raw = '{}', fixed = 'abc', mood = 'sad'",
    "UPDATE people SET paid = 1.50 WHERE id = 1",
    "UPDATE people SET name = 'nothing' WHERE id = 77",
    "UPDATE people SET id = id + 100 WHERE id > 1",
    "UPDATE pairs SET b = b + 10",
    "UPDATE pairs SET b = 2.00 WHERE b = 2",
    "UPDATE pairs SET value = b WHERE a IN (SELECT a FROM pairs WHERE b = 2)",
    "UPDATE names SET name = 'seen'",
    "UPDATE late SET rank = 3 - rank",
    "DELETE FROM people WHERE id = 1 AND name = 'nobody'",
    "DELETE FROM people WHERE id = 2",
    "DELETE FROM people WHERE id > 1",
    "DELETE FROM nodes WHERE id = 1",
    "DELETE FROM orders",
    "DELETE FROM numbered WHERE text = 'a'",
    "WITH gone AS (DELETE FROM orders WHERE id = 10 RETURNING *) INSERT INTO orders SELECT 99, person, note || '2'"
    " FROM gone",
    "WITH gone AS (DELETE FROM pairs RETURNING a) UPDATE people SET name = a FROM gone WHERE id = 1",
    "MERGE INTO pairs p USING orders o ON p.b = o.id - 9 WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT VALUES ('m', o.id, o.note)",
    """UPDATE "order"."group" SET "select" = 'b'""",
    'DELETE FROM "order"."group"',
]
TABLES = (
    "people",
    "pairs",
    "orders",
    "nodes",
    "numbered",
    "late",
    "loose",
    '"order"."group"',
    '"My Schema"."T ""q"" $x$"',
)
Call = Callable[[str], Awaitable[Any]]


@pytest.fixture
def shop(database: str) -> str:
    with psycopg.connect(database) as connection:
        connection.execute(SCHEMA)
    return database


def content(shop: str) -> dict[str, list[str]]:
    with psycopg.connect(shop) as connection:
        rows = {table: connection.execute(f"SELECT t::text FROM {table} t".encode()).fetchall() for table in TABLES}
        json_texts = connection.execute("SELECT id::text || raw::text FROM people WHERE raw IS NOT NULL").fetchall()
        return {table: sorted(row[0] for row in each) for table, each in {**rows, "raw": json_texts}.items()}


def execute(shop: str, statement: str) -> None:
    with psycopg.connect(shop) as connection:
        connection.execute(statement.encode())


def run(
    shop: str, tmp_path: Path, work: Callable[[Undo, Call], Awaitable[Any]], role: str | None = None, **more: Any
) -> None:
    async def main() -> None:
        async with Undo(tmp_path / "undo.db", **more) as undo:
            tools = undo.protect(sql({"shop": shop}, role=role, functions=None)).union(undo.tools())
            async with Guard(POLICY, tools) as guard:

                async def call(statement: str) -> Any:
                    return await guard.submit("sql.execute", {"database": "shop", "statement": statement})

                await work(undo, call)

    asyncio.run(main())


def refused(shop: str, tmp_path: Path, statement: str, text: str, **options: Any) -> None:
    """Assert that a statement fails with a text and without an effect."""
    before = content(shop)

    async def work(undo: Undo, call: Call) -> None:
        outcome = await call(statement)
        assert outcome.status == "failed"
        assert text in (outcome.error or "")
        assert await undo.entries() == []

    run(shop, tmp_path, work, **options)
    assert content(shop) == before


@pytest.mark.parametrize(
    "statement", [pytest.param(each, marks=() if n % 3 == 0 else pytest.mark.slow) for n, each in enumerate(STATEMENTS)]
)
def test_every_statement_is_undone_and_the_undo_too(shop: str, tmp_path: Path, statement: str) -> None:
    before = content(shop)

    async def work(undo: Undo, call: Call) -> None:
        outcome = await call(statement)
        assert outcome.ok, outcome.error
        after = content(shop)
        assert (after == before) == (outcome.value["rows_affected"] == 0)
        (entry,) = await undo.entries()
        assert (entry.state, entry.kind) == ("done", "sql")
        undone = await undo.apply(entry.id)
        assert content(shop) == before
        redone = await undo.apply(undone.id)
        assert content(shop) == after
        await undo.apply(redone.id)
        assert content(shop) == before

    run(shop, tmp_path, work)
    with psycopg.connect(shop) as connection:
        left = (
            "SELECT tgname AS name FROM pg_trigger UNION SELECT proname FROM pg_proc UNION SELECT relname FROM pg_class"
        )
        assert connection.execute(f"SELECT name FROM ({left}) l WHERE name ~ 'bobcat'".encode()).fetchall() == []


def test_the_target_names_the_database_and_the_tables(shop: str, tmp_path: Path) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("DELETE FROM people WHERE id = 3")
        (entry,) = await undo.entries()
        assert entry.target == "shop:public.orders,public.people"
        ((_, (kept, now)),) = (await undo.texts(entry.id)).items()
        kept_rows = [json.loads(line) for line in (kept or "").splitlines()]
        assert ["public.orders", ["12"], ["12", "3", "third"]] in kept_rows
        assert '["public.people",["3"],null]' in (now or "")

    run(shop, tmp_path, work)


@pytest.mark.parametrize(
    "prepare, statement, text",
    [
        ("", "INSERT INTO loose VALUES ('b')", "no primary key"),
        ("", f"UPDATE people SET name = '{'x' * 2000}'", "max_bytes"),
        (
            "CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM loose; RETURN NULL; END';"
            "CREATE TRIGGER mine AFTER DELETE ON orders EXECUTE FUNCTION gone()",
            "DELETE FROM people",
            "has the trigger `mine`",
        ),
        ("CREATE RULE mine AS ON DELETE TO pairs DO ALSO DELETE FROM orders", "DELETE FROM pairs", "has rules"),
        ("CREATE TABLE heir () INHERITS (pairs)", "DELETE FROM pairs", "inherit"),
        (
            "CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id);"
            "CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (9)",
            "INSERT INTO parts VALUES (1)",
            "partition",
        ),
        ("CREATE TABLE swaps (id int PRIMARY KEY DEFERRABLE)", "INSERT INTO swaps VALUES (1)", "deferrable"),
        ("CREATE TABLE kids (p int REFERENCES people ON DELETE CASCADE)", "DELETE FROM people", "no primary key"),
        (
            "CREATE FUNCTION wipe() RETURNS int LANGUAGE sql VOLATILE AS 'DELETE FROM loose; SELECT 1'",
            "UPDATE pairs SET b = wipe() WHERE a = 'y'",
            "changes rows of `public.loose`",
        ),
        ("", "INSERT INTO orders VALUES (1, 99, 'x')", "foreign key"),
        ("", "INSERT INTO late VALUES (9, 1, 1)", "unique"),
    ],
)
def test_without_a_snapshot_nothing_is_committed(
    shop: str, tmp_path: Path, prepare: str, statement: str, text: str
) -> None:
    if prepare:
        execute(shop, prepare)
    refused(shop, tmp_path, statement, text, max_bytes=1000)


def test_a_store_that_is_gone_rolls_the_statement_back(shop: str, tmp_path: Path) -> None:
    before = content(shop)

    async def work(undo: Undo, call: Call) -> None:
        undo.close()
        assert (await call("DELETE FROM people")).status == "failed"

    run(shop, tmp_path, work)
    assert content(shop) == before


@pytest.fixture
def role(shop: str, postgres_url: str) -> Any:
    name = f"undo_role_{shop[-8:]}"
    execute(shop, f"CREATE ROLE {name}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}")
    yield name
    execute(shop, f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_a_role_without_the_privileges_of_an_undo_changes_nothing(shop: str, tmp_path: Path, role: str) -> None:
    update, name = "UPDATE pairs SET value = 'x'", shop.rpartition("/")[2]
    refused(shop, tmp_path, update, "the role needs TRIGGER on the table `public.pairs`", role=role)
    execute(shop, f"GRANT TRIGGER ON pairs TO {role}; REVOKE TEMP ON DATABASE {name} FROM PUBLIC")
    refused(shop, tmp_path, update, "the role needs TEMP", role=role)
    execute(shop, f"GRANT TEMP ON DATABASE {name} TO {role}; ALTER TABLE pairs ENABLE ROW LEVEL SECURITY")
    refused(shop, tmp_path, "INSERT INTO pairs VALUES ('z', 1)", "row security", role=role)


def test_a_role_with_the_privileges_is_enough(shop: str, tmp_path: Path, role: str) -> None:
    execute(shop, f"GRANT TRIGGER ON people, orders, nodes TO {role}")
    before = content(shop)

    async def work(undo: Undo, call: Call) -> None:
        outcome = await call("DELETE FROM people WHERE id = 2")
        assert outcome.ok, outcome.error
        await undo.apply((await undo.entries())[0].id)
        assert content(shop) == before

    run(shop, tmp_path, work, role=role)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE people SET name = 'another' WHERE id = 2",
        "DELETE FROM people WHERE id = 2",
        "UPDATE people SET paid = 1.50 WHERE id = 2",
    ],
)
def test_rows_that_changed_since_are_a_conflict(shop: str, tmp_path: Path, change: str) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("UPDATE people SET paid = 1.5 WHERE id = 2")
        execute(shop, change)
        now = content(shop)
        (entry,) = await undo.entries()
        with pytest.raises(UndoError, match="changed since") as conflict:
            await undo.apply(entry.id)
        assert conflict.value.code == "conflict"
        assert content(shop) == now
        assert (await undo.get(entry.id)).state == "done"
        forced = await undo.apply(entry.id, force=True)
        await undo.apply(forced.id)
        assert content(shop) == now

    run(shop, tmp_path, work)


@pytest.mark.parametrize(
    "change, text",
    [
        ("INSERT INTO orders VALUES (50, 9, 'since')", "other rows depend"),
        ("ALTER TABLE people ADD more int", "columns of the table"),
        ("ALTER TABLE people RENAME TO persons", "is gone"),
    ],
)
def test_a_database_that_changed_around_the_rows_is_a_conflict(
    shop: str, tmp_path: Path, change: str, text: str
) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("INSERT INTO people (id, name) VALUES (9, 'new')")
        execute(shop, change)
        (entry,) = await undo.entries()
        with pytest.raises(UndoError, match=text) as conflict:
            await undo.apply(entry.id)
        assert conflict.value.code == "conflict"
        assert (await undo.get(entry.id)).state == "done"

    run(shop, tmp_path, work)


def test_other_rows_that_changed_are_kept(shop: str, tmp_path: Path) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("UPDATE people SET name = 'eve' WHERE id = 1")
        execute(shop, "UPDATE people SET name = 'kept' WHERE id = 2")
        await undo.apply((await undo.entries())[0].id)

    run(shop, tmp_path, work)
    with psycopg.connect(shop) as connection:
        assert connection.execute("SELECT name FROM people ORDER BY id").fetchall() == [("ann",), ("kept",), ("żółć",)]


def test_statements_and_undos_at_the_same_time_do_not_lose_each_other(shop: str, tmp_path: Path) -> None:
    execute(shop, "INSERT INTO pairs VALUES ('n', 0, '')")

    async def work(undo: Undo, call: Call) -> None:
        add = "UPDATE pairs SET value = value || 'x' WHERE a = 'n'"
        outcomes = await asyncio.gather(*(call(add) for _ in range(4)), call("UPDATE orders SET note = note || '!'"))
        assert all(outcome.ok for outcome in outcomes), outcomes
        newest, *others = [entry for entry in await undo.entries() if entry.target == "shop:public.pairs"]
        results = await asyncio.gather(*(undo.apply(newest.id) for _ in range(3)), return_exceptions=True)
        assert sum(not isinstance(each, BaseException) for each in results) <= 1
        assert len(others) == 3

    run(shop, tmp_path, work)


def test_recovery_waits_for_a_transaction_that_still_goes_on(shop: str, tmp_path: Path) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("UPDATE pairs SET value = 'new'")
        (entry,) = await undo.entries()
        row = undo._ledger.sealer.snapshot(await undo._ledger.known(entry.id))
        with psycopg.connect(shop) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (row.data["lock"],))
            reading = asyncio.create_task(undo.texts(entry.id))
            await asyncio.sleep(0.3)
            assert not reading.done()
            connection.rollback()
            assert await reading

    run(shop, tmp_path, work)
