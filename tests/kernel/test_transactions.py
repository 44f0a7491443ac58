"""Tools that write in the transaction of the store: with their result, or not at all."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import (
    AuditEvent,
    CancelToken,
    FinalAnswer,
    RunResult,
    SQLiteStore,
    ToolCall,
    ToolSet,
    inline_executor,
    tool,
)
from kernel.scripted import Scripted

ALLOW = bobcat.compile_policy("rules: [{id: r, match: {}, decision: allow}]")


class Clock:
    """A store's time that a test moves."""

    def __init__(self) -> None:
        self.time = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


class Shop:
    """Writes a row, and then does what the test says."""

    def __init__(self, path: Path, after: Callable[[], Any] | None = None) -> None:
        self.path = path
        self.events: list[str] = []
        self.kinds_when_reported: list[list[str]] = []
        connection = sqlite3.connect(path)
        connection.execute("create table if not exists paid (amount int, key text)")
        connection.commit()
        connection.close()

        @tool(effect="transactional")
        async def pay(amount: int, transaction: Any, idempotency_key: str) -> str:
            transaction.connection.execute("insert into paid values (?, ?)", (amount, idempotency_key))
            waits = None if after is None else after()
            if waits is not None:
                await waits
            return "paid"

        self.tools = ToolSet.from_functions(pay)

    def run(self, *replies: object, **options: Any) -> RunResult:
        async def main() -> RunResult:
            store = options.pop("store", None) or SQLiteStore(self.path)

            async def sink(event: AuditEvent) -> None:
                self.events.append(event.kind)
                if event.kind == "action.completed":
                    self.kinds_when_reported.append([record.kind for record in await store.load("r")])

            try:
                async with asyncio.timeout(60):
                    return await bobcat.run_agent(
                        Scripted(*(replies or (ToolCall("pay", {"amount": 3}),))), "task", tools=self.tools,
                        policy=ALLOW, store=store, run_id="r", sinks=[sink], owner="a", **options,
                    )  # fmt: skip
            finally:
                await store.aclose()

        return asyncio.run(main())

    @property
    def rows(self) -> list[Any]:
        connection = sqlite3.connect(self.path)
        try:
            return connection.execute("select amount, key from paid").fetchall()
        finally:
            connection.close()

    def records(self) -> list[Any]:
        async def main() -> list[Any]:
            store = SQLiteStore(self.path)
            try:
                return list(await store.load("r"))
            finally:
                await store.aclose()

        return asyncio.run(main())


@pytest.mark.parametrize("executor", [None, inline_executor()])
def test_a_tools_writes_are_committed_with_its_result_before_the_announcement(tmp_path: Path, executor: Any) -> None:
    shop = Shop(tmp_path / "shop.db")
    assert shop.run(ToolCall("pay", {"amount": 3}), ToolCall("pay", {"amount": 4}), executor=executor).error is None
    results = [record for record in shop.records() if record.kind == "action.result"]
    assert shop.rows == [(3, results[0].idempotency_key), (4, results[1].idempotency_key)]
    assert [kinds[-1] for kinds in shop.kinds_when_reported] == ["action.result"] * 2


def test_what_a_failing_tool_wrote_is_undone(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("no money")

    shop = Shop(tmp_path / "shop.db", fail)
    assert shop.run().final_answer == "done"
    assert shop.rows == []
    (result,) = [record.body for record in shop.records() if record.kind == "action.result"]
    assert (result["ok"], result["message"].splitlines()[0]) == (False, "[error] ValueError: no money")


@pytest.mark.parametrize("how", ["switch", "deadline"])
def test_a_stopped_tools_writes_are_undone_without_uncertainty(tmp_path: Path, how: str) -> None:
    token = CancelToken()

    async def hang() -> None:
        if how == "switch":
            token.cancel("stop")
        await asyncio.sleep(60)

    calls: list[Any] = [hang]
    shop = Shop(tmp_path / "shop.db", lambda: calls.pop()() if calls else None)
    options: dict[str, Any] = {"cancel": token} if how == "switch" else {"budget": bobcat.Budget(duration_seconds=1)}
    assert str(shop.run(**options).error).startswith("cancelled" if how == "switch" else "duration budget")
    assert shop.rows == []
    assert [record.kind for record in shop.records()][-2] == "action.abandoned"
    shop.events.clear()
    assert shop.run(FinalAnswer("over")).final_answer == "over"
    assert "action.uncertain" not in shop.events
    assert [amount for amount, _ in shop.rows] == [3]


def test_a_process_that_dies_in_the_transaction_has_written_nothing(tmp_path: Path) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    calls = [die]
    shop = Shop(tmp_path / "shop.db", lambda: calls.pop()() if calls else None)
    with pytest.raises(KeyboardInterrupt):
        shop.run()
    assert shop.rows == []
    assert shop.run(FinalAnswer("over")).final_answer == "over"
    assert [amount for amount, _ in shop.rows] == [3]
    abandoned = [record.body for record in shop.records() if record.kind == "action.abandoned"]
    assert [body["reason"] for body in abandoned] == ["its transaction was not committed"]


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (OSError("no disk"), "OSError: no disk"),
        (asyncio.CancelledError("by hand"), "CancelledError: by hand"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_a_transaction_that_does_not_begin_is_an_error_of_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, reported: str
) -> None:
    shop = Shop(tmp_path / "runs.db")

    def broken(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(SQLiteStore, "transaction", broken)
    replies: list[Any] = []

    def note(conversation: Any) -> FinalAnswer:
        replies.append(conversation[-1].content)
        return FinalAnswer("over")

    result = shop.run(ToolCall("pay", {"amount": 3}), note)
    assert result.error is None
    assert replies == [f"[error] the transaction did not begin: {reported}"]


def test_a_transaction_begins_with_a_lease_that_is_as_good_as_new(tmp_path: Path) -> None:
    clock = Clock()
    left: list[timedelta] = []

    class Slow(SQLiteStore):
        async def append_fenced(self, record: Any, lease: Any) -> None:
            await super().append_fenced(record, lease)
            clock.time += timedelta(seconds=5)

        def transaction(self, lease: Any) -> Any:
            left.append(lease.expires - clock.time)
            return super().transaction(lease)

    shop = Shop(tmp_path / "shop.db")
    store = Slow(tmp_path / "shop.db", clock=clock)
    assert shop.run(store=store, lease_seconds=30).final_answer == "done"
    assert left == [timedelta(seconds=30)]


def test_a_transaction_may_take_longer_than_the_lease(tmp_path: Path) -> None:
    renewals: list[str] = []

    class Counting(SQLiteStore):
        async def renew(self, lease: Any, *, seconds: float) -> Any:
            renewals.append("in it" if inside else "outside")
            return await super().renew(lease, seconds=seconds)

    inside: list[bool] = []

    async def take_long() -> None:
        inside.append(True)
        await asyncio.sleep(0.5)
        inside.clear()

    shop = Shop(tmp_path / "shop.db", take_long)
    assert shop.run(store=Counting(tmp_path / "shop.db"), lease_seconds=0.15).final_answer == "done"
    assert [amount for amount, _ in shop.rows] == [3]
    assert "in it" not in renewals
