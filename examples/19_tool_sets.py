"""Sets of tools: narrowed for one agent, widened for another, and described to a model as JSON Schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Literal

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, run_agent, tool
from bobcat.tools.schema import tooldef_to_json_schema


@tool()
async def convert(amount: float, to: Literal["EUR", "USD"], note: str | None = None) -> str:
    """Convert an amount of money."""
    return f"{amount} {to}"


@tool(reversible=False, cost="high")
async def pay(amount: float) -> str:
    """Pay."""
    return "paid"


@tool()
async def clock() -> str:
    """Tell the time."""
    return "noon"


class Agent:
    """Tries a tool that it was not given."""

    async def step(self, conversation: Sequence[Message]) -> list[ToolCall] | FinalAnswer:
        if len(conversation) == 1:
            return [ToolCall("pay", {"amount": 5}), ToolCall("convert", {"amount": 5, "to": "EUR"})]
        return FinalAnswer(" / ".join(one.content for one in conversation if one.role == "tool"))


async def main() -> None:
    everything = ToolSet.from_functions(convert, pay)
    careful = everything.without_tool("pay")
    wider = careful.union(ToolSet.from_functions(clock))
    print(everything.names(), careful.names(), wider.names())
    try:
        wider.union(careful)
    except ValueError as error:
        print(error)
    print(json.dumps(tooldef_to_json_schema(careful.get("convert")), indent=1))
    policy = Policy.compile(
        "rules: [{id: convert, match: {tool: convert, args.amount.between: [0, 1000]}, decision: allow}]"
    )
    print((await run_agent(Agent(), "pay", tools=careful, policy=policy)).final_answer)


if __name__ == "__main__":
    asyncio.run(main())
