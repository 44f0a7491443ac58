"""The worst case of the adapters' agents: an upper bound of the whole request, prompt and tools included."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bobcat import Cap, Ledger, Message, Policy, ToolSet, run_agent, tool
from bobcat.adapters import ClaudeAgent, OpenAIAgent, OpenAIResponsesAgent
from bobcat.adapters.client_agent import PROMPT_TOKENS
from ledger.awaited import awaited


@tool
async def look(place: str) -> str:
    """Look at a place."""
    return place


TOOLS = ToolSet.from_functions(look)
TALK = (Message("user", "où est-ce ?" * 40), Message("assistant", "là"), Message("user", "merci"))


class Client:
    """Keeps the request instead of sending it, and fails."""

    def __init__(self) -> None:
        self.sent: dict[str, Any] = {}
        self.messages = self.chat = self.completions = self.responses = self

    async def create(self, **request: Any) -> Any:
        self.sent = request
        raise ConnectionError("not sent")


def agent_of(kind: str, client: Client) -> ClaudeAgent | OpenAIAgent | OpenAIResponsesAgent:
    if kind == "claude":
        return ClaudeAgent(tools=TOOLS, system="Be brief. " * 50, max_tokens=2000, client=client)
    if kind == "responses":
        return OpenAIResponsesAgent(tools=TOOLS, system="Be brief. " * 50, max_tokens=2000, client=client)
    return OpenAIAgent(
        tools=TOOLS, model="gpt-5", system="Be brief. " * 50, extra={"max_completion_tokens": 2000}, client=client
    )


@pytest.mark.parametrize("kind", ["claude", "openai", "responses"])
@awaited
async def test_the_bound_covers_every_byte_of_the_request(kind: str) -> None:
    client = Client()
    agent = agent_of(kind, client)
    bound = agent.count_tokens(TALK)
    with pytest.raises(ConnectionError):
        await agent.step(TALK)
    assert client.sent["tools"]
    size = len(json.dumps(client.sent, ensure_ascii=False).encode())
    assert size <= bound - PROMPT_TOKENS < size + 200
    assert agent.max_output_tokens == 2000
    assert agent.model == client.sent["model"]


@pytest.mark.parametrize("kind", ["claude", "openai", "responses"])
@awaited
async def test_default_models_have_stock_prices(kind: str, tmp_path: Any) -> None:
    agent = agent_of(kind, Client())
    policy = Policy.compile("rules: [{id: all, match: {tool: look}, decision: allow}]")
    async with Ledger(tmp_path / "l.db") as ledger:
        result = await run_agent(agent, "go", tools=TOOLS, policy=policy, ledger=ledger)
        assert result.code == "agent_failed"
        (held,) = await ledger.unsettled()
        assert (held.model, held.tokens > 3000, held.usd > 0) == (agent.model, True, True)


@awaited
async def test_an_agent_without_a_limit_of_its_replies_is_refused(tmp_path: Any) -> None:
    agent = OpenAIAgent(tools=TOOLS, client=Client())
    policy = Policy.compile("rules: [{id: all, match: {tool: look}, decision: allow}]")
    async with Ledger(tmp_path / "l.db") as ledger:
        with pytest.raises(ValueError, match="the most tokens of a reply"):
            await run_agent(agent, "go", tools=TOOLS, policy=policy, ledger=ledger)


@awaited
async def test_a_model_of_a_gateway_is_priced_by_the_name_that_the_account_gives(tmp_path: Any) -> None:
    agent = OpenAIAgent(tools=TOOLS, model="anthropic/claude-opus-5", max_tokens=500, client=Client())
    policy = Policy.compile("rules: []")
    async with Ledger(tmp_path / "l.db", [Cap("run", usd="0.01")]) as ledger:
        with pytest.raises(ValueError, match="no price of model `anthropic/claude-opus-5`"):
            await run_agent(agent, "go", tools=TOOLS, policy=policy, ledger=ledger)
        account = ledger.account(model="claude-opus-5")
        result = await run_agent(agent, "go", tools=TOOLS, policy=policy, ledger=account)
        assert (result.outcome, result.code) == ("failed", "budget_exhausted")
        assert "more than the whole cap of $0.01 per run" in (result.error or "")
