"""Executor routing: a tool runs in this process, in a process with limits, or on your own executor."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence

from bobcat import (
    ActionRequest,
    ActionResult,
    FinalAnswer,
    Message,
    Policy,
    ToolCall,
    ToolDef,
    ToolSet,
    inline_executor,
    route_executor,
    run_agent,
    subprocess_executor,
    tool,
)

PARENT = os.getpid()


@tool()
async def here() -> bool:
    """In the process of the agent?"""
    return os.getpid() == PARENT


@tool(isolation="process")
async def there(parent: int) -> bool:
    """In the process of the agent?"""
    return os.getpid() == parent


@tool(isolation="process")
async def spin() -> None:
    """Never come back."""
    while True:
        time.sleep(0.01)  # noqa: ASYNC251 - the point is that it blocks


@tool(isolation="recorded")
async def email(to: str) -> None:
    """Is only written down."""


@tool(isolation="vm")
async def risky() -> None:
    """Requires an isolation that no executor provides."""


async def recorder(request: ActionRequest, tool: ToolDef) -> ActionResult:
    """An executor is any async function like this one."""
    return ActionResult(True, f"noted: {tool.name} {dict(request.args)}")


EXECUTOR = route_executor(
    {
        None: inline_executor(timeout_seconds=5),
        "process": subprocess_executor(cpu_seconds=5, max_memory_mb=512, timeout_seconds=2.0),
        "recorded": recorder,
    }
)
CALLS = [
    ToolCall("here", {}),
    ToolCall("there", {"parent": PARENT}),
    ToolCall("spin", {}),
    ToolCall("email", {"to": "ann"}),
    ToolCall("risky", {}),
]


class Agent:
    """Calls everything in one reply."""

    async def step(self, conversation: Sequence[Message]) -> list[ToolCall] | FinalAnswer:
        if len(conversation) == 1:
            return CALLS
        return FinalAnswer("\n".join(f"{one.name}: {one.content}" for one in conversation if one.role == "tool"))


async def main() -> None:
    tools = ToolSet.from_functions(here, there, spin, email, risky)
    policy = Policy.compile("""
rules:
  - {id: harmless, match: {tool.in: [here, there, spin, risky]}, decision: allow}
  - {id: colleagues, match: {tool: email, args.to.in: [ann, bob]}, decision: allow}
""")
    result = await run_agent(Agent(), "go", tools=tools, policy=policy, executor=EXECUTOR)
    print(result.final_answer)


if __name__ == "__main__":
    asyncio.run(main())
