"""Strands Agents: an agent with a fake model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands import tool as strands_tool
from strands.models import Model

from bobcat.guards.strands import guard_agent
from doors.adapter import Observed, Setup

PREFIX = ""
INTERRUPTS = True
MODES = [("async", "async"), ("async", "plain"), ("sync", "plain")]


class FakeModel(Model):
    """Proposes the calls of one turn after the other, then says `done`."""

    def __init__(self, turns: Any) -> None:
        self.turns = iter(turns)

    def update_config(self, **_: Any) -> None:
        """Take no options."""

    def get_config(self) -> dict[str, Any]:
        """Return no options."""
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Refuse."""
        raise NotImplementedError

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Stream the next turn."""
        turn = next(self.turns, None)
        yield {"messageStart": {"role": "assistant"}}
        for call in turn or ():
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.tool, "toolUseId": call.id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(dict(call.args))}}}}
            yield {"contentBlockStop": {}}
        if turn is None:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if turn is None else "tool_use"}}


def make(setup: Setup) -> Agent:
    """An agent with the tools of the setup behind its guard."""
    tools = [strands_tool(each) for each in setup.functions]
    return guard_agent(Agent(model=FakeModel(setup.turns), tools=tools, callback_handler=None), setup.guard)


async def run(setup: Setup) -> Observed:
    """Run the agent, answering its interrupts."""
    agent = make(setup)
    return await _answered(setup, agent, agent.invoke_async)


def run_sync(setup: Setup) -> Observed:
    """Call the agent."""
    agent = make(setup)

    async def call(prompt: Any) -> Any:
        return agent(prompt)

    return asyncio.run(_answered(setup, agent, call))


async def _answered(setup: Setup, agent: Agent, invoke: Any) -> Observed:
    observed = Observed()
    try:
        result = await invoke("go")
        while result.stop_reason == "interrupt":
            observed.questions += [each.reason for each in result.interrupts]
            if not all(each.reason["tool"] in setup.answers for each in result.interrupts):
                observed.pending = True
                return observed
            answers = [(each.id, setup.answers[each.reason["tool"]]) for each in result.interrupts]
            result = await invoke(
                [{"interruptResponse": {"interruptId": name, "response": answer}} for name, answer in answers]
            )
    except Exception as error:
        observed.error = error
        return observed
    for message in agent.messages:
        for block in message["content"]:
            if "toolResult" in block:
                given = block["toolResult"]
                observed.replies.append((given["toolUseId"], " ".join(each["text"] for each in given["content"])))
    observed.final = str(result).strip()
    return observed


def model(turns: Any) -> FakeModel:
    """The model of an example."""
    return FakeModel(turns)
