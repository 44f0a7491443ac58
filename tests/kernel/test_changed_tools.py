"""A deploy between two attempts: a run goes on unless the tools that it has called mean something else now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bobcat import (
    FinalAnswer,
    MemoryStore,
    RunResult,
    StepRecord,
    ToolCall,
    ToolSet,
    compile_policy,
    durable_approvals,
    run_agent,
    tool,
)
from bobcat.approvals import Approvals

POLICY = compile_policy("""
rules:
  - {id: pay, match: {tool: pay}, decision: approve_required, approvers: [alice]}
  - {id: rest, match: {tool.in: [look, mail]}, decision: allow}
""")
PAID: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


class Clerk:
    identity = "clerk"

    async def step(self, conversation: Any) -> Any:
        return ToolCall("pay", {"amount": 5}) if len(conversation) == 1 else FinalAnswer(conversation[-1].content)


@tool(effect="keyed")
async def pay(amount: int, idempotency_key: str) -> str:
    PAID.append(amount)
    return "paid"


@tool
async def look(place: str) -> str:
    return place


PAY = pay


def with_note() -> ToolSet:
    @tool(effect="keyed")
    async def pay(amount: int, idempotency_key: str, note: str = "", urgent: bool = False) -> str:
        PAID.append((amount, note, urgent))
        return "paid"

    return ToolSet.from_functions(pay, look)


def with_required_note() -> ToolSet:
    @tool(effect="keyed")
    async def pay(amount: int, note: str, idempotency_key: str) -> str:
        raise AssertionError

    return ToolSet.from_functions(pay, look)


def with_another_unit() -> ToolSet:
    @tool(effect="keyed")
    async def pay(amount: float, idempotency_key: str) -> str:
        raise AssertionError

    return ToolSet.from_functions(pay, look)


def with_another_name() -> ToolSet:
    @tool(effect="keyed")
    async def pay(cents: int, idempotency_key: str, amount: str = "") -> str:
        raise AssertionError

    return ToolSet.from_functions(pay, look)


def with_another_effect() -> ToolSet:
    @tool(effect="unsafe")
    async def pay(amount: int) -> str:
        raise AssertionError

    return ToolSet.from_functions(pay, look)


def with_a_default(urgent: bool) -> ToolSet:
    if urgent:

        @tool(effect="keyed")
        async def pay(amount: int, idempotency_key: str, urgent: bool = True) -> str:
            PAID.append((amount, urgent))
            return "paid"
    else:

        @tool(effect="keyed")
        async def pay(amount: int, idempotency_key: str, urgent: bool = False) -> str:
            PAID.append((amount, urgent))
            return "paid"

    return ToolSet.from_functions(pay)


def with_a_stranger() -> ToolSet:
    @tool
    async def mail(to: str) -> str:
        return to

    return ToolSet.from_functions(PAY, look, mail)


def with_another_look() -> ToolSet:
    @tool(effect="none")
    async def look(where: int, deep: bool) -> str:
        return str(where)

    return ToolSet.from_functions(PAY, look)


def resume(store: MemoryStore, tools: ToolSet, agent: Any = None) -> RunResult:
    return asyncio.run(
        run_agent(
            agent or Clerk(), "pay", tools=tools, policy=POLICY, store=store, run_id="r",
            on_approval=durable_approvals(store),
        )
    )  # fmt: skip


def suspended(tools: ToolSet, *, granted: bool = True) -> MemoryStore:
    store = MemoryStore()
    (approval,) = resume(store, tools).approvals
    if granted:
        asyncio.run(Approvals(store).grant(approval, approver="alice"))
    return store


def both() -> ToolSet:
    return ToolSet.from_functions(pay, look)


@pytest.mark.parametrize(
    ("later", "paid"),
    [
        (with_a_stranger, 5),
        (lambda: ToolSet.from_functions(pay), 5),
        (with_another_look, 5),
        (with_note, (5, "", False)),
    ],
    ids=["a tool is added", "an unused tool is removed", "an unused tool changes", "an optional parameter is added"],
)
def test_a_grant_survives_a_deploy_that_does_not_touch_its_call(later: Callable[[], ToolSet], paid: Any) -> None:
    store = suspended(both())
    assert resume(store, later()).final_answer == "[ok] paid"
    assert [paid] == PAID


@pytest.mark.parametrize(
    "later", [with_required_note, with_another_unit, with_another_name, with_another_effect, ToolSet]
)
def test_a_called_tool_that_means_something_else_is_refused(later: Callable[[], ToolSet]) -> None:
    store = suspended(both())
    refused = resume(store, later())
    assert (refused.outcome, refused.code) == ("failed", "journal_refused")
    assert str(refused.error).startswith("journal refused: the run was begun with other tools: `pay`;")
    assert PAID == []
    assert resume(store, both()).final_answer == "[ok] paid"


def test_another_default_of_a_called_tool_is_refused() -> None:
    """The recorded call leaves it out: it would mean something else."""
    store = suspended(with_a_default(urgent=False))
    assert "other tools: `pay`" in str(resume(store, with_a_default(urgent=True)).error)
    assert PAID == []


def test_a_parameter_that_becomes_optional_is_no_other_tool() -> None:
    @tool(effect="keyed")
    async def pay(idempotency_key: str, amount: int | None = None) -> str:
        raise AssertionError

    store = suspended(both())  # another type, too: refused
    assert "other tools: `pay`" in str(resume(store, ToolSet.from_functions(pay)).error)


def test_changes_are_compared_with_the_last_attempt() -> None:
    """A parameter that a resumed run could use must stay."""
    store = suspended(both(), granted=False)
    assert resume(store, with_note()).outcome == "suspended"
    assert "other tools: `pay`" in str(resume(store, both()).error)
    assert resume(store, with_note()).outcome == "suspended"


def test_an_agent_class_may_be_renamed_when_its_identity_stays() -> None:
    class Bookkeeper(Clerk):
        """The same agent, under another name."""

    store = suspended(both())
    assert resume(store, both(), Bookkeeper()).final_answer == "[ok] paid"


def test_a_journal_of_an_older_release_resumes_with_other_unused_tools() -> None:
    """Its binding has no shapes: a called tool must be the same, the others need not."""
    store = suspended(both())
    old = MemoryStore()

    async def copied() -> None:
        for record in await store.load("r"):
            body = {name: value for name, value in record.body.items() if name != "chain"}
            if "binding" in body:
                body["binding"] = {name: value for name, value in body["binding"].items() if name != "shapes"}
            fields = (record.run_id, record.seq, record.kind, record.idempotency_key, body, record.timestamp)
            await old.append(StepRecord(*fields))
        for kind in ("approval", "approval-step"):
            for entry in await store.scan(kind):
                await old.put(kind, entry.key, entry.body, expected=0)

    asyncio.run(copied())
    assert "other tools: `pay`" in str(resume(old, with_note()).error)
    assert resume(old, with_a_stranger()).final_answer == "[ok] paid"
