"""`LiteLLMAgent` with a `Ledger`, through LiteLLM itself: usage, cached tokens and costs as the vendor said them."""

from __future__ import annotations

import json
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litellm", reason="LiteLLM has an environment of its own: `make check-doors`")

from adapters.stream_server import chat_chunks, streaming
from adapters.vendor_server import serving
from bobcat import Budget, Cap, Ledger, Policy, RunResult, ToolSet, run_agent
from bobcat.adapters.litellm_agent import LiteLLMAgent
from bobcat.ledger.prices import STOCK
from ledger.awaited import awaited

TOOLS = ToolSet.from_functions()
POLICY = Policy.compile("rules: []")
CHAT = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5-2025-08-07",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "done"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 1_000, "completion_tokens": 200, "total_tokens": 1_200,
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 150},
    },
}  # fmt: skip
CLAUDE = {
    "id": "msg", "type": "message", "role": "assistant", "model": "claude-opus-5", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": "done"}],
    "usage": {
        "input_tokens": 70, "output_tokens": 30, "cache_read_input_tokens": 1_000, "cache_creation_input_tokens": 500,
    },
}  # fmt: skip
CHAT_COST = 400 * Decimal("1.25") + 600 * Decimal("0.125") + 200 * 10
"""Micro-dollars of `CHAT`, at the list prices of gpt-5."""
CLAUDE_COST = 70 * 5 + 1_000 * Decimal("0.50") + 500 * Decimal("6.25") + 30 * 25


async def run(url: str, model: str, account: Any, *, shown: bool, **more: Any) -> RunResult:
    async with LiteLLMAgent(
        tools=TOOLS, model=model, max_tokens=1_000, base_url=url, api_key="k", retries=0
    ) as agent:  # fmt: skip
        shows = (lambda _: None) if shown else None
        return await run_agent(agent, "go", tools=TOOLS, policy=POLICY, ledger=account, on_delta=shows, **more)


@pytest.mark.parametrize("shown", [False, True])
@awaited
async def test_cached_tokens_of_openai_cost_what_the_price_says(tmp_path: Path, shown: bool) -> None:
    async with Ledger(tmp_path / "l.db", [Cap("run", usd=1)]) as ledger:
        if shown:
            with streaming(chat_chunks(CHAT)) as streams:
                result = await run(streams.url, "openai/gpt-5", ledger.account(model="gpt-5"), shown=True)
        else:
            with serving(CHAT) as vendor:
                result = await run(vendor.url, "openai/gpt-5", ledger.account(model="gpt-5"), shown=False)
        assert result.final_answer == "done"
        usage = result.usage
        assert usage is not None
        assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (400, 600, 200)
        (row,) = await ledger.spending("run")
        assert (row.usd, row.tokens, row.calls) == (CHAT_COST, 1_200, 1)
        assert await ledger.unsettled() == []


@pytest.mark.parametrize("shown", [False, True])
@awaited
async def test_tokens_read_from_and_written_to_the_cache_of_claude_have_their_own_prices(
    tmp_path: Path, shown: bool
) -> None:
    async with Ledger(tmp_path / "l.db") as ledger:
        with serving(CLAUDE) as vendor:
            account = ledger.account(model="claude-opus-5")
            result = await run(vendor.url, "anthropic/claude-opus-5", account, shown=shown)
        assert result.final_answer == "done"
        usage = result.usage
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens) == (70, 30)
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (1_000, 500)
        (row,) = await ledger.spending("model")
        assert (row.name, row.usd, row.tokens) == ("claude-opus-5", CLAUDE_COST, 1_600)


@awaited
async def test_a_call_that_cannot_be_paid_is_not_made(tmp_path: Path) -> None:
    async with Ledger(tmp_path / "l.db") as ledger:
        with serving() as vendor:
            result = await run(
                vendor.url, "openai/gpt-5", ledger.account(model="gpt-5"), shown=False, budget=Budget(cost="0.009")
            )
        assert (result.code, vendor.requests, await ledger.spending()) == ("budget_exhausted", [], [])


@awaited
async def test_a_request_that_failed_counts_until_it_is_settled(tmp_path: Path) -> None:
    async with Ledger(tmp_path / "l.db") as ledger:
        with serving({"status": 500, "error": {"message": "down", "type": "server_error"}}) as vendor:
            result = await run(vendor.url, "openai/gpt-5", ledger.account(model="gpt-5"), shown=False)
        assert result.code == "agent_failed"
        (held,) = await ledger.unsettled()
        assert held.usd >= 1_000 * 10


@awaited
async def test_a_model_with_its_vendor_needs_a_price_or_the_name_of_one(tmp_path: Path) -> None:
    async with Ledger(tmp_path / "l.db") as ledger:
        with pytest.raises(ValueError, match="no price of model `openai/gpt-5`"):
            await run("http://127.0.0.1:1", "openai/gpt-5", ledger, shown=False)


PARTS = {
    "input": "input_cost_per_token", "output": "output_cost_per_token", "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}  # fmt: skip


def test_stock_prices_are_those_of_the_table_that_litellm_ships() -> None:
    """A model that costs more for long prompts has the higher price here."""
    text = resources.files("litellm").joinpath("model_prices_and_context_window_backup.json").read_text("utf-8")
    table, compared = json.loads(text), 0
    for model, price in STOCK.items():
        known = table.get(model, {})
        for part, plain in PARTS.items():
            long = [name for name in known if name.startswith(f"{plain}_above_") and name.endswith("k_tokens")]
            names = [name for name in (plain, *long) if name in known and "hr_" not in name]
            found = [Decimal(str(known[name])) * 1_000_000 for name in names]
            if found and part in price:
                compared += 1
                assert Decimal(str(price[part])) == max(found), (model, part)
    assert compared > 40
