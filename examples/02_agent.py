"""An agent behind a policy: it proposes, the policy decides, and only what is allowed runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, run_agent, tool

POLICY = """
rules:
  - {id: small, match: {tool: add, args.a.between: [0, 100], args.b.between: [0, 100]}, decision: allow}
"""


@tool()
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


class Agent:
    """Plays a model. A real one would send the conversation to a provider."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        if len(conversation) == 1:
            return ToolCall("add", {"a": 2})
        if len(conversation) == 3:
            return ToolCall("add", {"a": 2, "b": 1000})
        return FinalAnswer(" / ".join(message.content for message in conversation if message.role == "tool"))


async def main() -> None:
    result = await run_agent(Agent(), "add", tools=ToolSet.from_functions(add), policy=Policy.compile(POLICY))
    print(result.final_answer)
    print(f"{result.steps_taken} steps, error: {result.error}")


if __name__ == "__main__":
    asyncio.run(main())
