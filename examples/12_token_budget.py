"""Budgets: tokens, steps, time and repetitions. Cache tokens count, and every way to run out has its own words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bobcat import Budget, FinalAnswer, Message, Policy, ToolCall, ToolSet, Usage, run_agent, tool

BUDGETS = [
    Budget(tokens=5000),
    Budget(output_tokens=250),
    Budget(steps=3),
    Budget(duration_seconds=0.2),
    Budget(max_repeated_calls=2),
    Budget(),
]


@tool()
async def search(text: str) -> str:
    """Search, slowly."""
    await asyncio.sleep(0.03)
    return f"nothing about {text}"


class Agent:
    """Looks for the same thing eleven times; each step costs 1,200 tokens, most of them read from the cache."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        usage = Usage(input_tokens=100, output_tokens=100, cache_read_tokens=1000, model="a-model")
        if len(conversation) > 22:
            return FinalAnswer("I give up", usage)
        return ToolCall("search", {"text": "lynx"}, usage=usage)


async def main() -> None:
    tools = ToolSet.from_functions(search)
    policy = Policy.compile("rules: [{id: search, match: {tool: search}, decision: allow}]")
    for budget in BUDGETS:
        result = await run_agent(Agent(), "find it", tools=tools, policy=policy, budget=budget)
        ended = result.error or result.final_answer
        if budget.duration_seconds == 0.2:
            print(ended)  # how far it gets in that time depends on the machine
        else:
            tokens = result.usage and (result.usage.input_tokens, result.usage.output_tokens)
            print(f"{ended}: {result.steps_taken} steps, {tokens} tokens")


if __name__ == "__main__":
    asyncio.run(main())
