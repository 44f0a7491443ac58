"""Runs with a ledger: every model call is paid, and a run ends cleanly before one that cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    Budget,
    Cap,
    FinalAnswer,
    Ledger,
    Message,
    Policy,
    Prices,
    RunResult,
    SQLiteStore,
    ToolCall,
    ToolSet,
    Usage,
    run_agent,
    tool,
)  # fmt: skip
from ledger.awaited import awaited

PRICES = Prices.from_mapping({"m": {"input": 1, "output": 10}}, date="2026-10-24")
POLICY = Policy.compile("rules: [{id: all, match: {tool: echo}, decision: allow}]")
MICRO = 1_000_000


@tool
async def echo(text: str) -> str:
    """Return the text."""
    return text


TOOLS = ToolSet.from_functions(echo)


class Model:
    """Calls `echo` until `calls` replies were given. Each reply takes 1,000 output tokens at most, and reports 100."""

    model = "m"
    max_output_tokens = 1000

    def __init__(self, calls: int = 3, usage: Usage | None = Usage(10, 100, model="m")) -> None:  # noqa: B008
        self.calls, self.usage, self.asked = calls, usage, 0

    async def step(self, conversation: Sequence[Message]) -> Any:
        self.asked += 1
        done = sum(message.role == "tool" for message in conversation)
        if done >= self.calls:
            return FinalAnswer("done", self.usage)
        return ToolCall("echo", {"text": f"{done}"}, f"c{done}", self.usage)


async def run(agent: Any, ledger: Any, **more: Any) -> RunResult:
    return await run_agent(agent, "go", tools=TOOLS, policy=POLICY, ledger=ledger, **more)


@awaited
async def test_every_model_call_of_a_run_is_paid(place: str) -> None:
    async with Ledger(place, [Cap("run", usd=1), Cap("principal", tokens=100_000)], prices=PRICES) as ledger:
        result = await run(Model(), ledger, correlation_id="r")
        assert (result.outcome, result.steps_taken) == ("succeeded", 3)
        (row,) = await ledger.spending("run")
        assert (row.name, row.calls, row.usd, row.tokens) == ("r", 4, 4 * (10 + 1000), 4 * 110)
        assert [row.name for row in await ledger.spending("principal")] == ["user:anonymous"]
        assert await ledger.unsettled() == []


@awaited
async def test_a_run_ends_before_a_call_that_cannot_be_paid(tmp_path: Path) -> None:
    async with Ledger(tmp_path / "l.db", [Cap("thread", usd="0.0122")], prices=PRICES) as ledger:
        agent = Model()
        result = await run(agent, ledger.account(thread="acme/42", overhead_tokens=0))
        assert (result.outcome, result.code) == ("failed", "budget_exhausted"), result
        (row,) = await ledger.spending("thread")
        assert 0 < row.calls == agent.asked == result.steps_taken < 4
        assert result.error is not None
        assert result.error.startswith("the next model call cannot be paid: the cap of $0.0122 per thread has no room")
        assert result.final_answer is None
        assert await ledger.unsettled() == []


@awaited
async def test_a_call_above_a_whole_cap_is_never_made(tmp_path: Path) -> None:
    async with Ledger(tmp_path / "l.db", [Cap("day", usd="0.01")], prices=PRICES) as ledger:
        agent = Model()
        result = await run(agent, ledger)
        assert (result.code, agent.asked, await ledger.spending()) == ("budget_exhausted", 0, [])
        assert "more than the whole cap of $0.01 per day" in (result.error or "")


@awaited
async def test_the_worst_case_is_never_below_the_bytes_of_the_input(tmp_path: Path) -> None:
    class Long(Model):
        async def step(self, conversation: Sequence[Message]) -> Any:
            (held,) = await ledger.unsettled()
            size = sum(len(message.content.encode()) for message in conversation)
            assert held.tokens >= size + self.max_output_tokens
            seen.append(held.tokens)
            return await super().step(conversation)

    seen: list[int] = []
    async with Ledger(tmp_path / "l.db", prices=PRICES) as ledger:
        result = await run_agent(Long(), "ä" * 5000, tools=TOOLS, policy=POLICY, ledger=ledger)
        assert result.outcome == "succeeded", result
        assert seen == sorted(seen)
        assert len(set(seen)) == 4
        assert seen[0] >= 11_000


@awaited
async def test_an_agents_own_count_is_used(tmp_path: Path) -> None:
    class Counting(Model):
        async def count_tokens(self, conversation: Sequence[Message]) -> int:
            return 7 * len(conversation)

        async def step(self, conversation: Sequence[Message]) -> Any:
            (held,) = await ledger.unsettled()
            assert held.tokens == 7 * len(conversation) + 1000
            return await super().step(conversation)

    class Wrong(Model):
        def count_tokens(self, conversation: Sequence[Message]) -> int:
            return -1

    async with Ledger(tmp_path / "l.db", prices=PRICES) as ledger:
        assert (await run(Counting(), ledger)).outcome == "succeeded"
        wrong = Wrong()
        result = await run(wrong, ledger)
        assert (result.code, wrong.asked) == ("agent_failed", 0)
        assert "count_tokens must return a number of tokens, got -1" in (result.error or "")


@awaited
async def test_a_call_that_began_and_brought_no_reply_counts_in_full(tmp_path: Path) -> None:
    class Hanging(Model):
        async def step(self, conversation: Sequence[Message]) -> Any:
            await asyncio.sleep(60)

    class Failing(Model):
        async def step(self, conversation: Sequence[Message]) -> Any:
            raise RuntimeError("cut off")

    async with Ledger(tmp_path / "l.db", [Cap("run", usd=1)], prices=PRICES) as ledger:
        hanging = await run(Hanging(), ledger, budget=Budget(step_timeout_seconds=0.05))
        assert hanging.code == "agent_timed_out"
        assert (await run(Failing(), ledger)).code == "agent_failed"
        task = asyncio.create_task(run(Hanging(), ledger))
        await asyncio.sleep(0.3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert len(await ledger.unsettled()) == 3
        assert (await run(Model(0, None), ledger, correlation_id="silent")).outcome == "succeeded"
        row = next(row for row in await ledger.spending("run") if row.name == "silent")
        assert row.usd >= 10_000, "a reply without a usage costs its reservation"


@awaited
async def test_a_resumed_run_does_not_pay_again_for_a_recorded_reply(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "runs.db")
    async with Ledger(store, [Cap("run", usd="0.05")], prices=PRICES) as ledger:
        given = {"store": store, "run_id": "r"}
        first = await run(Model(), ledger, budget=Budget(steps=2), **given)
        assert first.code == "budget_exhausted"
        assert (await ledger.spending())[0].calls == 2
        second = Model()
        result = await run(second, ledger, **given)
        assert (result.outcome, second.asked) == ("succeeded", 2)
        assert (await ledger.spending())[0].calls == 4
        again = Model()
        assert (await run(again, ledger, **given)).outcome == "succeeded"
        assert (again.asked, (await ledger.spending())[0].calls) == (0, 4)
    await store.aclose()


@awaited
async def test_what_cannot_be_priced_is_refused_before_the_run(tmp_path: Path) -> None:
    class Bare:
        async def step(self, conversation: Sequence[Message]) -> Any:
            raise AssertionError("never asked")

    async with Ledger(tmp_path / "l.db", [Cap("thread", usd=1)], prices=PRICES) as ledger:
        for account, problem in (
            (ledger, r"max_output_tokens=\.\.\."),
            (ledger.account(max_output_tokens=10), r"the agent names no model; pass ledger.account\(model=\.\.\.\)"),
            (ledger.account(max_output_tokens=10, model="other"), "no price of model `other`"),
            (ledger.account(max_output_tokens=10, model="m"), r"needs a thread; pass ledger.account\(thread=\.\.\.\)"),
        ):
            with pytest.raises(ValueError, match=problem):
                await run(Bare(), account)
        with pytest.raises(TypeError, match="ledger must be a Ledger"):
            await run(Bare(), "ledger.db")
        ledger.close()
        result = await run(Model(), ledger.account(thread="t"))
        assert (result.code, result.error) == ("store_failed", "the ledger failed: the ledger was closed (closed)")
