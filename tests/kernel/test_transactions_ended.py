"""Tools that end the transaction they were given, or break it: they have failed, and the run goes on."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

import bobcat
from bobcat import FinalAnswer, Message, PostgresStore, RunResult, SQLiteStore, ToolCall, ToolSet, tool

ALLOW = bobcat.compile_policy("rules: [{id: r, match: {}, decision: allow}]")
Ends = Callable[[Any], Any]


def paying(insert: str, ends: Ends) -> ToolSet:
    """A tool that writes a row, and then does `ends` with the connection."""

    @tool(effect="transactional")
    async def pay(amount: int, transaction: Any) -> str:
        for act in (lambda found: found.execute(insert), ends):
            done = act(transaction.connection)
            if inspect.isawaitable(done):
                await done
        return "paid"

    return ToolSet.from_functions(pay)


class Payer:
    """Pays once, and answers with the message."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        return ToolCall("pay", {"amount": 3}) if len(conversation) == 1 else FinalAnswer(conversation[-1].content)


async def twice(store: Any, tools: ToolSet) -> list[RunResult]:
    """The run, and the run again."""
    run_id = uuid4().hex
    async with aclosing(store):
        return [
            await bobcat.run_agent(Payer(), "task", tools=tools, policy=ALLOW, store=store, run_id=run_id)
            for _ in range(2)
        ]


@pytest.mark.parametrize(
    ("ends", "reported"),
    [
        (lambda found: found.commit(), "not authorized"),
        (lambda found: found.rollback(), "not authorized"),
        (lambda found: found.execute("COMMIT"), "not authorized"),
        (lambda found: found.execute("ROLLBACK"), "not authorized"),
        (lambda found: found.__exit__(None, None, None), "not authorized"),
        (lambda found: found.close(), "the tool ended its transaction"),
    ],
    ids=["commit", "rollback", "COMMIT", "ROLLBACK", "with", "close"],
)
def test_a_tool_cannot_end_its_transaction_in_sqlite(ends: Ends, reported: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE paid (amount int)")
    results = asyncio.run(twice(SQLiteStore(path), paying("INSERT INTO paid VALUES (3)", ends)))
    for result in results:
        assert result.final_answer is not None, result.error
        assert result.final_answer.startswith("[error] ")
        assert reported in result.final_answer
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM paid").fetchall() == []


async def _fails(connection: Any) -> None:
    with suppress(psycopg.Error):
        await connection.execute("SELECT no_such_column")


@pytest.mark.parametrize(
    ("ends", "reported", "kept"),
    [
        (_fails, "a statement of the tool failed, so PostgreSQL undoes all of its transaction", 0),
        (lambda found: found.commit(), "Explicit commit() forbidden", 0),
        (lambda found: found.execute("ROLLBACK"), "the tool ended its transaction", 0),
        (lambda found: found.execute("COMMIT"), "the tool ended its transaction", 1),
        (lambda found: found.close(), "the tool ended its transaction", 0),
    ],
    ids=["swallowed", "commit", "ROLLBACK", "COMMIT", "close"],
)
def test_a_tool_that_ends_or_breaks_its_transaction_in_postgres_has_failed(
    ends: Ends, reported: str, kept: int, postgres_url: str
) -> None:
    schema = f"bobcat_test_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{schema}"'.encode())
        connection.execute(f'CREATE TABLE "{schema}".paid (amount int)'.encode())
        try:
            store = PostgresStore(postgres_url, schema=schema, durability="warn")
            results = asyncio.run(twice(store, paying(f'INSERT INTO "{schema}".paid VALUES (3)', ends)))
            for result in results:
                assert result.final_answer is not None, result.error
                assert result.final_answer.startswith("[error] ")
                assert reported in result.final_answer
            assert len(connection.execute(f'SELECT * FROM "{schema}".paid'.encode()).fetchall()) == kept
        finally:
            connection.execute(f'DROP SCHEMA "{schema}" CASCADE'.encode())
