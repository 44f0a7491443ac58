"""agent-hooks: the interceptor at the real emitter, with `run_agent` as the host."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agent_hooks import InterceptionEmitter

from bobcat import FinalAnswer, Message, Policy, ToolCall
from bobcat.guard.tools import tool_set
from bobcat.guards.agent_hooks import GuardInterceptor
from bobcat.guards.agent_hooks_host import run_intercepted
from doors.adapter import Observed, Setup

PREFIX = ""
INTERRUPTS = False
MODES = [("async", "async"), ("async", "plain"), ("sync", "plain")]
ANYTHING = Policy.compile("rules: [{id: all, match: {}, decision: allow}]")


class _Model:
    def __init__(self, setup: Setup) -> None:
        self.turns = iter(setup.turns)
        self.seen: Sequence[Message] = ()

    async def step(self, conversation: Sequence[Message], /) -> FinalAnswer | list[ToolCall]:
        self.seen = conversation
        turn = next(self.turns, None)
        return FinalAnswer("done") if turn is None else [ToolCall(each.tool, each.args, each.id) for each in turn]


async def run(setup: Setup) -> Observed:
    """Run an intercepted run to its end."""
    model, observed = _Model(setup), Observed()
    emitter = InterceptionEmitter().register(GuardInterceptor(setup.guard, escalate=False), name="bobcat")
    try:
        result = await run_intercepted(model, "go", emitter=emitter, tools=tool_set(setup.functions), policy=ANYTHING)
    except Exception as error:
        observed.error = error
        return observed
    observed.final = result.final_answer
    observed.replies = [(each.tool_call_id or "", each.content) for each in model.seen if each.role == "tool"]
    return observed


def run_sync(setup: Setup) -> Observed:
    """Run it in an event loop that is not the guard's."""
    return asyncio.run(run(setup))


def model(turns: Any) -> list[Any]:
    """The calls of an example."""
    return [each for turn in turns for each in turn]
