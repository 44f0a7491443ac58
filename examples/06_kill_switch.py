"""The kill switch: a run stops in the middle of a tool, and says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from bobcat import CancelToken, FinalAnswer, Message, Policy, ToolCall, ToolSet, run_agent, tool


@tool()
async def work(minutes: int) -> str:
    """Take a long time."""
    await asyncio.sleep(60 * minutes)
    return "worked"


class Agent:
    """Works without end."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        return ToolCall("work", {"minutes": len(conversation)})


async def main() -> None:
    switch = CancelToken()
    asyncio.get_running_loop().call_later(0.2, switch.cancel, "the user pressed stop")
    policy = Policy.compile("rules: [{id: work, match: {tool: work}, decision: allow}]")
    started = time.monotonic()
    result = await run_agent(Agent(), "work", tools=ToolSet.from_functions(work), policy=policy, cancel=switch)
    print(result.error)
    print(f"stopped long before the minute was over: {time.monotonic() - started < 10}")


if __name__ == "__main__":
    asyncio.run(main())
