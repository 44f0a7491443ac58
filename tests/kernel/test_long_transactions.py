"""A transactional tool may take longer than its lease: renewals go on where they need not wait for it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    FinalAnswer,
    PostgresStore,
    RunResult,
    SQLiteStore,
    ToolCall,
    ToolSet,
    compile_policy,
    run_agent,
    tool,
)
from bobcat.stores.protocol import RunBusy

ALLOW = compile_policy("rules: [{id: pay, match: {tool: pay}, decision: allow}]")
LEASE = 0.6


@pytest.fixture
def schema(postgres_url: str) -> Any:
    from uuid import uuid4

    import psycopg

    name = f"bobcat_test_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"'.encode())
        connection.execute(f'CREATE TABLE "{name}".paid (run text, amount integer)'.encode())
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "{name}" CASCADE'.encode())


class Once:
    identity = "Once"

    async def step(self, conversation: Any) -> Any:
        return ToolCall("pay", {"amount": 5}) if len(conversation) == 1 else FinalAnswer(conversation[-1].content)


def paying(statement: str, run_id: str, seconds: float, inside: Callable[[], Any]) -> ToolSet:
    @tool(effect="transactional")
    async def pay(amount: int, transaction: Any) -> str:
        done = transaction.connection.execute(statement, (run_id, amount))
        if hasattr(done, "__await__"):
            await done
        await inside()
        await asyncio.sleep(seconds)
        return "paid"

    return ToolSet.from_functions(pay)


async def nothing() -> None:
    """Inside of most transactions."""


@pytest.mark.parametrize("pool_size, runs", [(1, 1), (1, 3), (8, 12)])
def test_on_postgresql_it_finishes_once_and_no_other_worker_gets_the_run(
    postgres_url: str, schema: str, pool_size: int, runs: int
) -> None:
    """More of them at once than the store has connections, too."""
    import psycopg

    statement = f'INSERT INTO "{schema}".paid VALUES (%s, %s)'

    async def main() -> list[RunResult]:
        store = PostgresStore(postgres_url, schema=schema, durability="warn", pool_size=pool_size)
        other = PostgresStore(postgres_url, schema=schema, durability="warn")
        async with aclosing(store), aclosing(other):

            async def taken(run_id: str) -> None:
                for _ in range(6):
                    await asyncio.sleep(LEASE / 2)
                    with pytest.raises(RunBusy):
                        await other.acquire(run_id, owner="another", seconds=LEASE)

            async def one(run_id: str) -> RunResult:
                found = paying(statement, run_id, 0.0, lambda: taken(run_id))
                return await run_agent(
                    Once(), "pay", tools=found, policy=ALLOW, store=store, run_id=run_id, lease_seconds=LEASE
                )

            return await asyncio.gather(*(one(f"r{number}") for number in range(runs)))

    results = asyncio.run(main())
    assert {(result.error, result.final_answer) for result in results} == {(None, "[ok] paid")}
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute(f'SELECT run, amount FROM "{schema}".paid ORDER BY run'.encode()).fetchall()
    assert rows == sorted((f"r{number}", 5) for number in range(runs))


def test_on_postgresql_a_run_that_is_lost_meanwhile_keeps_nothing(postgres_url: str, schema: str) -> None:
    import psycopg

    statement = f'INSERT INTO "{schema}".paid VALUES (%s, %s)'

    async def main() -> RunResult:
        store = PostgresStore(postgres_url, schema=schema, durability="warn")
        async with aclosing(store):

            async def lose() -> None:
                with psycopg.connect(postgres_url, autocommit=True) as connection:
                    connection.execute(f'UPDATE "{schema}".runs SET fence = fence + 1, owner = NULL'.encode())

            found = paying(statement, "r", 30.0, lose)
            async with asyncio.timeout(20):
                return await run_agent(
                    Once(), "pay", tools=found, policy=ALLOW, store=store, run_id="r", lease_seconds=LEASE
                )

    result = asyncio.run(main())
    assert result.status == "superseded"
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute(f'SELECT * FROM "{schema}".paid'.encode()).fetchall() == []


def test_on_sqlite_the_transaction_itself_keeps_the_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def main() -> RunResult:
        async with aclosing(SQLiteStore(path)) as store:
            found = paying("INSERT INTO paid VALUES (?, ?)", "r", 3 * LEASE, nothing)
            await store.runs()
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("CREATE TABLE paid (run TEXT, amount INTEGER)")
            return await run_agent(
                Once(), "pay", tools=found, policy=ALLOW, store=store, run_id="r", lease_seconds=LEASE
            )

    assert asyncio.run(main()).error is None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM paid").fetchall() == [("r", 5)]
