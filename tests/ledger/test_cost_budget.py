"""`Budget(cost=)`: dollars of one run beside the caps of its ledger; the cost of each reply in events and records."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from bobcat import (
    AuditEvent,
    Budget,
    Cap,
    Ended,
    FinalAnswer,
    GraphNode,
    Guard,
    Ledger,
    MemoryStore,
    Message,
    Policy,
    Prices,
    RunResult,
    Thread,
    ToolCall,
    ToolSet,
    Usage,
    run_agent,
    run_graph,
    tool,
)  # fmt: skip
from ledger.awaited import awaited

PRICES = Prices.from_mapping({"m": {"input": 1, "output": 10, "cache_read": "0.1"}}, date="2026-10-24")
POLICY = Policy.compile("rules: [{id: all, match: {tool: echo}, decision: allow}]")
COST = 1_100
"""Micro-dollars of a reply: 100 tokens in, 100 out."""
WORST = 10_100
"""Micro-dollars of the worst case of a call: 100 tokens in, 1,000 out."""


@tool
async def echo(text: str) -> str:
    """Return the text."""
    return text


TOOLS = ToolSet.from_functions(echo)


class Model:
    """Calls `echo` until `calls` replies were given. The reply after `hangs_at` results never comes."""

    model = "m"
    max_output_tokens = 1000

    def __init__(self, calls: int = 3, hangs_at: int | None = None) -> None:
        self.calls, self.hangs_at, self.asked = calls, hangs_at, 0

    def count_tokens(self, conversation: Sequence[Message]) -> int:
        return 100

    async def step(self, conversation: Sequence[Message]) -> Any:
        self.asked += 1
        done = sum(message.role == "tool" for message in conversation)
        if done == self.hangs_at:
            await asyncio.sleep(60)
        usage = Usage(100, 100, model="m")
        return FinalAnswer("done", usage) if done >= self.calls else ToolCall("echo", {"text": f"{done}"}, usage=usage)


async def run(agent: Any, ledger: Any, **more: Any) -> RunResult:
    return await run_agent(agent, "go", tools=TOOLS, policy=POLICY, ledger=ledger, **more)


def usd(micro: int) -> str:
    return str(Decimal(micro) / 1_000_000)


@awaited
async def test_a_run_ends_before_the_call_whose_worst_case_is_above_its_cost(place: str) -> None:
    async with Ledger(place, prices=PRICES) as ledger:
        for replies in (0, 1, 3):
            allowed = max(replies - 1, 0) * COST + WORST - (replies == 0)
            agent = Model(9)
            result = await run(agent, ledger, budget=Budget(cost=usd(allowed)), correlation_id=f"r{replies}")
            assert (result.outcome, result.code, agent.asked) == ("failed", "budget_exhausted", replies)
            assert (result.error or "").startswith(f"cost budget exhausted (${usd(allowed)}): ")
        assert [row.usd for row in await ledger.spending("run")] == [3 * COST, COST]
        assert await ledger.unsettled() == []


@awaited
async def test_a_run_that_its_cost_allows_ends_as_without_one(place: str) -> None:
    async with Ledger(place, prices=PRICES) as ledger:
        for cost in (usd(3 * COST + WORST), 1, 0.25, Decimal("0.5")):
            assert (await run(Model(), ledger, budget=Budget(cost=cost))).final_answer == "done"


@awaited
async def test_the_cost_of_a_run_is_its_own_and_the_caps_hold_beside_it(place: str) -> None:
    async with Ledger(place, [Cap("day", usd="0.05")], prices=PRICES) as ledger:
        budget = Budget(cost=usd(3 * COST + WORST))
        results = [await run(Model(), ledger, budget=budget) for _ in range(20)]
        assert [each.outcome for each in results[:9]] == ["succeeded"] * 9
        assert results[-1].code == "budget_exhausted"
        assert (results[-1].error or "").startswith("the next model call cannot be paid: the cap of $0.05 per day")


@awaited
async def test_a_resumed_run_has_what_is_left_also_of_a_call_that_was_killed(place: str) -> None:
    store, given = MemoryStore(), {"budget": Budget(cost=usd(2 * COST + 2 * WORST)), "run_id": "r"}
    async with Ledger(place, prices=PRICES) as ledger:
        task = asyncio.create_task(run(Model(9, hangs_at=1), ledger, store=store, **given))
        while not await ledger.unsettled() or (await ledger.spending())[0].calls < 2:  # noqa: ASYNC110 - a table
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    async with Ledger(place, prices=PRICES) as ledger:
        agent = Model(9)
        result = await run(agent, ledger, store=store, **given)
        assert (result.code, agent.asked) == ("budget_exhausted", 2)
        (row,) = await ledger.spending()
        assert (row.usd, row.reserved_usd) == (3 * COST, WORST)


@pytest.mark.parametrize("cost", [-1, float("nan"), float("inf"), "NaN", "ten", "0.0000001", True, [1], object()])
@awaited
async def test_an_invalid_cost_is_refused(place: str, cost: Any) -> None:
    async with Ledger(place, prices=PRICES) as ledger:
        agent = Model()
        with pytest.raises((TypeError, ValueError), match=r"budget\.cost"):
            await run(agent, ledger, budget=Budget(cost=cost))
        assert agent.asked == 0


@awaited
async def test_a_cost_without_a_ledger_is_refused() -> None:
    budget = Budget(cost=1)
    with pytest.raises(ValueError, match="needs a ledger"):
        await run(Model(), None, budget=budget)
    with pytest.raises(ValueError, match="needs a ledger"):
        Thread(MemoryStore(), "t", agent=Model(), tools=TOOLS, policy=POLICY, budget=budget)
    with pytest.raises(ValueError, match="cannot cap tokens or cost"):
        Guard(POLICY, TOOLS, budget=budget)


@awaited
async def test_a_cost_of_a_node_is_refused_because_the_graph_pays(place: str) -> None:
    node = GraphNode(Model(), TOOLS, POLICY, budget=Budget(cost=1))
    async with Ledger(place, prices=PRICES) as ledger:
        with pytest.raises(ValueError, match="node 'a' has a cost"):
            await run_graph({"a": node}, "go", router=lambda *_: None, start="a", ledger=ledger)


@awaited
async def test_a_cost_is_of_each_turn_of_a_thread(place: str) -> None:
    async with Ledger(place, prices=PRICES) as ledger:
        parts: dict[str, Any] = {"tools": TOOLS, "policy": POLICY, "ledger": ledger, "budget": Budget(cost=usd(WORST))}
        async with Thread(MemoryStore(), "t", agent=Model(0), **parts) as thread:
            for _ in range(3):
                events = [event async for event in thread.send("go")]
                assert isinstance(events[-1], Ended)
                assert events[-1].outcome == "succeeded"
        async with Thread(MemoryStore(), "u", agent=Model(5), **parts) as thread:
            events = [event async for event in thread.send("go")]
            assert isinstance(events[-1], Ended)
            assert (events[-1].outcome, events[-1].code) == ("failed", "budget_exhausted")


@awaited
async def test_the_cost_of_each_reply_is_in_its_event_and_in_the_journal(place: str) -> None:
    class Two(Model):
        """Makes two calls in one reply, each with a usage."""

        async def step(self, conversation: Sequence[Message]) -> Any:
            reply = await super().step(conversation)
            if isinstance(reply, FinalAnswer):
                return reply
            return [ToolCall("echo", {"text": each}, usage=Usage(50, 50, 10, 0, "m")) for each in "ab"]

    store, seen = MemoryStore(), list[AuditEvent]()

    async def sink(event: AuditEvent) -> None:
        seen.append(event)

    async with Ledger(place, prices=PRICES) as ledger:
        given: dict[str, Any] = {"store": store, "run_id": "r", "sinks": [sink], "budget": Budget(cost="0.5")}
        assert (await run(Two(1), ledger, **given)).outcome == "succeeded"
        (row,) = await ledger.spending()
        assert row.usd == 2 * COST + 2
        usages = [event.body for event in seen if event.kind == "step.usage"]
        assert [body.get("cost_micros") for body in usages] == [COST + 2, None, COST]
        assert next(event.body for event in seen if event.kind == "run.started")["budget"]["cost_micros"] == 500_000
        replies = [record.body for record in await store.load("r") if record.kind == "model.output"]
        assert [body["cost_micros"] for body in replies] == [COST + 2, COST]
        assert (await run(Two(1), ledger, **given)).outcome == "succeeded"
        assert len([event for event in seen if event.kind == "step.usage"]) == 3, "a resumed run pays nothing again"


@awaited
async def test_without_a_ledger_records_and_events_name_no_cost() -> None:
    store, seen = MemoryStore(), list[AuditEvent]()

    async def sink(event: AuditEvent) -> None:
        seen.append(event)

    assert (await run(Model(), None, store=store, run_id="r", sinks=[sink])).outcome == "succeeded"
    assert "cost_micros" not in repr([each.body for each in [*seen, *await store.load("r")]])
