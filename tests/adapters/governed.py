"""Tools, a policy, and a run that keeps its events: what the tests of every adapter share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bobcat import Agent, Message, RunResult, ToolSet, compile_policy, run_agent, tool

POLICY = compile_policy(
    """
rules:
  - {id: read, match: {tool: read}, decision: allow}
  - {id: no-root, match: {tool: notes.write, args.path.matches: "^/"}, decision: deny, reason: stay here, priority: 5}
  - {id: write, match: {tool: notes.write}, decision: allow}
"""
)
ran: list[tuple[str, str]] = []


@tool()
async def read(path: str, lines: int = 10) -> str:
    """Read a note."""
    ran.append(("read", path))
    return f"{lines} lines of {path}"


@tool(reversible=False, name="notes.write")
async def write(path: str, text: str | None = None) -> str:
    """Write a note."""
    ran.append(("write", path))
    return "written"


TOOLS = ToolSet.from_functions(read, write)


class Watched:
    """An agent, and the conversations it was shown."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.seen: list[tuple[Message, ...]] = []

    async def step(self, conversation: Sequence[Message]) -> Any:
        self.seen.append(tuple(conversation))
        return await self._agent.step(conversation)


@dataclass
class Run:
    """A finished run. `ran` is what the tools really did."""

    result: RunResult
    seen: list[tuple[Message, ...]]
    ran: list[tuple[str, str]]
    events: list[tuple[str, Any]] = field(default_factory=list)

    def bodies(self, kind: str) -> list[Any]:
        return [body for found, body in self.events if found == kind]


async def governed_async(agent: Agent, *, tools: ToolSet = TOOLS, **more: Any) -> Run:
    """Run an agent under `POLICY`."""
    ran.clear()
    events: list[tuple[str, Any]] = []

    async def sink(event: Any) -> None:
        events.append((event.kind, event.body))

    watched = Watched(agent)
    arguments = {"policy": POLICY, "sinks": [sink], **more}
    result = await run_agent(watched, "tidy up", tools=tools, **arguments)
    return Run(result, watched.seen, list(ran), events)


def governed(agent: Agent, **more: Any) -> Run:
    """`governed_async`, from ordinary code."""
    return asyncio.run(governed_async(agent, **more))
