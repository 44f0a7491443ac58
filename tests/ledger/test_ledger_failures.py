"""A store that is locked, full or restarted: errors with codes, nothing written in part, and sums that stay right."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bobcat import Cap, FinalAnswer, Ledger, LedgerError, Message, Policy, Prices, ToolSet, Usage, run_agent
from bobcat.stores.connected_sqlite import SQLiteFile
from ledger.awaited import awaited
from ledger.ledger_sums import sums_of
from services import Server

CAPS = [Cap("tenant", usd=1_000_000)]
LIMITED = str(Path(__file__).with_name("file_limit.py"))
MICRO = 1_000_000
RESTARTS = 5
PRICES = Prices.from_mapping({"m": {"input": 0, "output": 10}}, date="2026-11-01")


class Answering:
    """Answers at a cent; `before` is called in its model call."""

    model = "m"
    max_output_tokens = 1000

    def __init__(self, before: Any = None) -> None:
        self.before, self.asked = before, 0

    async def step(self, conversation: Sequence[Message]) -> FinalAnswer:
        self.asked += 1
        if self.before is not None:
            self.before()
        return FinalAnswer("done", Usage(0, 1000, model="m"))


async def refusal(call: Awaitable[Any]) -> str | None:
    """The code of a call's error; None when it succeeded."""
    try:
        await call
    except LedgerError as error:
        return error.code
    return None


@awaited
async def test_a_locked_file_is_busy_and_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.stores.connected_sqlite.BUSY_SECONDS", 0.1)
    path = tmp_path / "l.db"
    async with Ledger(path, CAPS, prices=PRICES) as ledger:
        held = await ledger.reserve(usd=2, tenant="acme")
        before = sums_of(ledger)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        for call in (ledger.reserve(usd=1, tenant="acme"), ledger.commit(held, usd=1), ledger.release(held)):
            assert await refusal(call) == "busy"
        assert sums_of(ledger) == before, "readers are not kept waiting"
        agent = Answering()
        result = await run(agent, ledger)
        assert (result.outcome, result.code, agent.asked) == ("failed", "store_failed", 0)
        other.execute("ROLLBACK")
        await ledger.commit(held, usd=1)
        assert sums_of(ledger)[1] == (MICRO, 0, 0, 0)
        other.close()


@awaited
async def test_a_store_that_is_locked_after_the_reply_keeps_its_reservation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bobcat.stores.connected_sqlite.BUSY_SECONDS", 0.1)
    async with Ledger(tmp_path / "l.db", CAPS, prices=PRICES) as ledger:
        other = sqlite3.connect(tmp_path / "l.db", isolation_level=None)
        result = await run(Answering(lambda: other.execute("BEGIN IMMEDIATE")), ledger)
        other.execute("ROLLBACK")
        other.close()
        assert result.outcome == "succeeded"
        (left,) = await ledger.unsettled()
        assert left.usd == 10_000
        assert sums_of(ledger)[1] == (0, 10_000, 0, left.tokens)


@awaited
async def test_a_full_file_takes_nothing_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = 15
    connect = SQLiteFile.connect

    def connect_to_a_small_file(self: SQLiteFile) -> Any:
        connection = connect(self)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(SQLiteFile, "connect", connect_to_a_small_file)
    async with Ledger(tmp_path / "l.db", CAPS, prices=PRICES) as ledger:
        held = await ledger.reserve(usd=2, tenant="acme")
        made = await reserve_until_full(ledger)
        assert made > 0
        assert len(await ledger.unsettled()) == made + 1
        accounts, entries = sums_of(ledger)
        assert list(accounts.values()) == [entries] == [(0, (made + 2) * MICRO, 0, 0)]
        agent = Answering()
        result = await run(agent, ledger, tenant="t" * 3000)
        assert (result.outcome, result.code, agent.asked) == ("failed", "store_failed", 0)
        assert await reserve_until_full(ledger) == 0
        await ledger.commit(held, usd=1)
    pages = 1000
    async with Ledger(tmp_path / "l.db", CAPS) as ledger:
        await ledger.reserve(usd=1, tenant="acme", run="r" * 3000)
        assert sums_of(ledger)[1] == (MICRO, (made + 1) * MICRO, 0, 0)


async def reserve_until_full(ledger: Ledger) -> int:
    """Reserve dollars until the store is full; return how many."""
    for made in range(1000):
        code = await refusal(ledger.reserve(usd=1, tenant="acme", run="r" * 3000))
        if code is not None:
            assert code == "full"
            return made
    raise AssertionError("it is never full")


@awaited
async def test_a_file_that_may_not_grow_takes_nothing_in_part(tmp_path: Path) -> None:
    path = str(tmp_path / "l.db")
    ended = await asyncio.to_thread(
        subprocess.run, [sys.executable, LIMITED, path], capture_output=True, text=True, timeout=60
    )
    code, made = ended.stdout.split()
    assert code in ("full", "unavailable"), ended.stderr
    async with Ledger(path, CAPS, must_exist=True) as ledger:
        accounts, entries = sums_of(ledger)
        assert list(accounts.values()) == [entries] == [(0, int(made) * MICRO, 0, 0)]
        assert len(await ledger.unsettled()) == int(made)
        await ledger.reserve(usd=1, tenant="acme")


async def run(agent: Answering, ledger: Ledger, tenant: str = "acme") -> Any:
    account = ledger.account(tenant=tenant)
    policy = Policy.compile("rules: []")
    return await run_agent(agent, "go", tools=ToolSet.from_functions(), policy=policy, ledger=account)


@pytest.mark.slow
def test_sums_stay_right_when_postgresql_is_restarted_amid_operations(own_postgres: Server) -> None:
    asyncio.run(spend_over_restarts(own_postgres))


async def spend_over_restarts(server: Server) -> None:
    ended = asyncio.Event()
    async with Ledger(server.url, CAPS) as watcher:
        spenders = [asyncio.create_task(spend(server.url, ended)) for _ in range(6)]
        for number in range(RESTARTS):
            await asyncio.sleep(random.uniform(0.2, 0.6))
            how = (signal.SIGKILL, signal.SIGQUIT, signal.SIGINT)[number % 3]
            await asyncio.to_thread(server.end, how)
            await asyncio.to_thread(server.start)
        await asyncio.sleep(0.5)
        ended.set()
        done = [await each for each in spenders]
        acked, unknown = sum(each[0] for each in done), sum(each[1] for each in done)
        assert acked > 50
        accounts, entries = sums_of(watcher)
        assert list(accounts.values()) == [entries], "accounts are the sums of entries"
        assert entries[0] == acked * MICRO, "what was committed is spent, once"
        left = await watcher.unsettled()
        assert len(left) <= unknown, "only reservations without an answer are left"
        assert entries[1] == sum(each.usd for each in left)


async def spend(url: str, ended: asyncio.Event) -> tuple[int, int]:
    """Reserve and commit a dollar, again and again: the calls committed, and the reservations without an answer."""
    acked = unknown = 0
    ledger = Ledger(url, CAPS)
    while not ended.is_set():
        held = None
        with suppress_unavailable():
            held = await ledger.reserve(usd=2, tenant="acme")
        if held is None:
            unknown += 1
            await asyncio.sleep(0.02)
            continue
        while (code := await refusal(ledger.commit(held, usd=1))) not in (None, "settled"):  # the answer may be lost
            assert code == "unavailable"
            await asyncio.sleep(0.02)
        acked += 1
    ledger.close()
    return acked, unknown


@contextmanager
def suppress_unavailable() -> Iterator[None]:
    """Continue after an error of a server that does not answer."""
    try:
        yield
    except LedgerError as error:
        if error.code != "unavailable":
            raise


@awaited
async def test_an_idle_ledger_outlives_the_end_of_its_connection(database: str) -> None:
    async with Ledger(database, CAPS) as ledger:
        for call in (lambda: ledger.reserve(usd=1, tenant="acme"), ledger.unsettled):
            with psycopg.connect(database, autocommit=True) as admin:
                own = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                admin.execute(f"{own} AND pid <> pg_backend_pid()")
            await call()
        assert len(await ledger.unsettled()) == 1
