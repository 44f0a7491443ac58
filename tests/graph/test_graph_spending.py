"""Graphs with a ledger and with deltas: all nodes pay from one account, and every delta names its node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    Cap,
    FinalAnswer,
    GraphNode,
    GraphResult,
    Ledger,
    Message,
    Policy,
    Prices,
    ReplyEnd,
    SQLiteStore,
    TextDelta,
    ToolSet,
    Usage,
    run_graph,
)

PRICES = Prices.from_mapping({"m": {"input": 1, "output": 10}}, date="2026-10-24")
POLICY = Policy.compile("rules: []")
WORST = 10_000
"""Micro-dollars of the output of one reply, at most."""


class Writer:
    """Streams its text in two parts. A reply takes 1,000 output tokens at most, and all of them."""

    model = "m"
    max_output_tokens = 1000

    def __init__(self, text: str) -> None:
        self.text, self.asked = text, 0

    async def step(self, conversation: Sequence[Message]) -> FinalAnswer:
        raise AssertionError("it streams")

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Any]:
        self.asked += 1
        yield TextDelta(self.text[:1])
        await asyncio.sleep(0)
        yield TextDelta(self.text[1:])
        yield FinalAnswer(self.text, Usage(0, 1000, model="m"))


def graph(**agents: Any) -> dict[str, GraphNode]:
    return {name: GraphNode(agent, ToolSet.from_functions(), POLICY) for name, agent in agents.items()}


def route(outcome: Any) -> str | None:
    return "check" if outcome.node == "draft" else None


async def run(agents: dict[str, Any], ledger: Any, **more: Any) -> GraphResult:
    seen: list[Any] = more.pop("seen", [])
    return await run_graph(
        graph(**agents), "go", router=route, start="draft", ledger=ledger,
        on_delta=lambda node, event: seen.append((node, event)), **more,
    )  # fmt: skip


def agents() -> dict[str, Any]:
    return {"draft": Writer("one"), "check": Writer("two")}


def test_all_nodes_pay_from_one_account_and_deltas_name_their_node(tmp_path: Path) -> None:
    async def main() -> None:
        seen: list[Any] = []
        async with Ledger(tmp_path / "l.db", [Cap("run", usd=1)], prices=PRICES) as ledger:
            result = await run(agents(), ledger.account(tenant="acme"), run_id="g", seen=seen)
            assert (result.outcome, result.error) == ("succeeded", None)
            (row,) = await ledger.spending("run")
            assert (row.name, row.calls, row.usd) == ("g", 2, 2 * WORST)
            assert [row.name for row in await ledger.spending("tenant")] == ["acme"]
            assert await ledger.unsettled() == []
        assert seen == [
            *[("draft", each) for each in (TextDelta("o"), TextDelta("ne"), ReplyEnd(True))],
            *[("check", each) for each in (TextDelta("t"), TextDelta("wo"), ReplyEnd(True))],
        ]

    asyncio.run(main())


def test_a_graph_ends_before_a_call_that_cannot_be_paid_and_continues_when_it_can(tmp_path: Path) -> None:
    async def main() -> None:
        path, made = tmp_path / "l.db", agents()
        store = SQLiteStore(tmp_path / "runs.db")
        async with Ledger(path, [Cap("run", usd="0.015")], prices=PRICES) as ledger:
            result = await run(made, ledger.account(overhead_tokens=0), run_id="g", store=store)
            assert (result.outcome, [each.node for each in result.path]) == ("failed", ["draft", "check"])
            assert (result.error or "").startswith("node 'check': the next model call cannot be paid: ")
            assert result.final is not None
            assert result.final.code == "budget_exhausted"
            assert (made["draft"].asked, made["check"].asked) == (1, 0)
        async with Ledger(path, [Cap("run", usd="0.025")], prices=PRICES) as ledger:
            for _ in range(2):
                result = await run(made, ledger.account(overhead_tokens=0), run_id="g", store=store)
                assert (result.outcome, result.error) == ("succeeded", None)
                assert (made["draft"].asked, made["check"].asked) == (1, 1)
                (row,) = await ledger.spending("run")
                assert (row.calls, row.usd) == (2, 2 * WORST), "what is in the journal is not paid again"

    asyncio.run(main())


def test_a_call_cancelled_amid_its_stream_stays_reserved(tmp_path: Path) -> None:
    class Stuck(Writer):
        async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Any]:
            yield TextDelta("x")
            await asyncio.sleep(60)

    async def main() -> None:
        begun = asyncio.Event()
        async with Ledger(tmp_path / "l.db", [Cap("run", usd=1)], prices=PRICES) as ledger:
            running = asyncio.ensure_future(
                run_graph(
                    graph(draft=Stuck("x"), check=Writer("two")), "go", router=route, start="draft", run_id="g",
                    ledger=ledger.account(overhead_tokens=0), on_delta=lambda *_: begun.set(),
                )
            )  # fmt: skip
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            (left,) = await ledger.unsettled()
            assert (left.run, left.usd >= WORST) == ("g", True)
            (balance,) = await ledger.balances(run="g")
            assert (balance.spent, balance.reserved) == (0, left.usd)

    asyncio.run(main())


def test_a_node_that_the_ledger_cannot_pay_is_refused_before_any_runs(tmp_path: Path) -> None:
    async def main() -> None:
        made = agents()
        made["check"].model = "unknown"
        async with Ledger(tmp_path / "l.db", [Cap("run", usd=1)], prices=PRICES) as ledger:
            with pytest.raises(ValueError, match="node 'check': no price of model `unknown`"):
                await run(made, ledger)
        with pytest.raises(TypeError, match="ledger must be a Ledger"):
            await run(made, "l.db")
        with pytest.raises(TypeError, match="on_delta"):
            await run_graph(graph(**made), "go", router=route, start="draft", on_delta="x")  # type: ignore[arg-type]
        assert made["draft"].asked == 0

    asyncio.run(main())
