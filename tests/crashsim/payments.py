"""Scenarios of three payments, one for each way in which a tool can make them happen once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import bobcat
from bobcat import FinalAnswer, Happened, MemoryStore, Message, NotHappened, SQLiteStore, ToolCall, ToolSet, tool
from bobcat.testing import crashsim

AMOUNTS = (10, 20, 30)
POLICY = bobcat.compile_policy("rules: [{id: pay, match: {tool: pay}, decision: allow}]")


class Payer:
    """Makes the payments, one after the other."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        done = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"amount": AMOUNTS[done]}) if done < len(AMOUNTS) else FinalAnswer("all paid")


def memory(stage: crashsim.Stage) -> MemoryStore:
    return MemoryStore(clock=stage.clock)


def sqlite(stage: crashsim.Stage) -> SQLiteStore:
    # A stopped worker can hold the file's lock, and no worker waits for it in simulated time.
    return SQLiteStore(stage.directory / "runs.db", clock=stage.clock, busy_seconds=0.01)


def scenario(stage: crashsim.Stage, *fns: Any, store: Any = None, **options: Any) -> crashsim.Scenario:
    """The run of these tools."""
    return crashsim.Scenario(
        task="pay", agent=Payer, tools=ToolSet.from_functions(*fns), policy=POLICY,
        store=memory(stage) if store is None else store, **options,
    )  # fmt: skip


def asked(pay: Any, stage: crashsim.Stage) -> None:
    """Have a truthful reconciler."""

    @pay.reconcile  # type: ignore[untyped-decorator]
    async def did_pay(key: str, args: Mapping[str, Any]) -> Happened | NotHappened:
        return Happened("paid") if stage.world.happened("pay", args["amount"]) else NotHappened()


def unsafe(stage: crashsim.Stage, make: Callable[[crashsim.Stage], Any] = memory, **options: Any) -> crashsim.Scenario:
    """Neither unique nor verifiable."""

    @tool(effect="unsafe")
    async def pay(amount: int) -> str:
        stage.world.happen("pay", amount)
        return "paid"

    return scenario(stage, pay, store=make(stage), **options)


def reconciled(stage: crashsim.Stage, make: Callable[[crashsim.Stage], Any] = memory) -> crashsim.Scenario:
    """Nothing makes it happen once, and the bank can be asked."""

    @tool(effect="unsafe")
    async def pay(amount: int) -> str:
        stage.world.happen("pay", amount)
        return "paid"

    asked(pay, stage)
    return scenario(stage, pay, store=make(stage))


def keyed(stage: crashsim.Stage) -> crashsim.Scenario:
    """The bank acts once on a key."""

    @tool(effect="keyed")
    async def pay(amount: int, idempotency_key: str) -> str:
        stage.world.happen("pay", amount, once=idempotency_key)
        return "paid"

    return scenario(stage, pay)


def keyed_reconciled(stage: crashsim.Stage) -> crashsim.Scenario:
    """The bank acts once on a key, and can be asked."""

    @tool(effect="keyed")
    async def pay(amount: int, idempotency_key: str) -> str:
        stage.world.happen("pay", amount, once=idempotency_key)
        return "paid"

    asked(pay, stage)
    return scenario(stage, pay)


def fenced(stage: crashsim.Stage) -> crashsim.Scenario:
    """The bank refuses a lower fence than it has seen."""

    @tool(effect="fenced")
    async def pay(amount: int, fence: int) -> str:
        if not stage.world.happen("pay", amount, fence=fence):
            raise PermissionError("a lower fence")
        return "paid"

    return scenario(stage, pay)


def transactional(stage: crashsim.Stage) -> crashsim.Scenario:
    """The payment is a row in the store's own file."""
    path = stage.directory / "runs.db"
    _with(path, "create table if not exists paid (amount int)")

    @tool(effect="transactional")
    async def pay(amount: int, transaction: Any) -> str:
        transaction.connection.execute("insert into paid values (?)", (amount,))
        return "paid"

    def paid() -> Iterable[str]:
        return [f"pay {amount}" for (amount,) in _with(path, "select amount from paid")]

    return scenario(stage, pay, store=sqlite(stage), effects=paid)


def _with(path: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(statement).fetchall()
    finally:
        connection.close()
