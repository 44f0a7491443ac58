"""Scripted nodes for the tests of handoff graphs: what each was asked, what its tools did, and a store to crash in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bobcat import (
    AuditEvent,
    Budget,
    FinalAnswer,
    GraphNode,
    GraphResult,
    MemoryStore,
    Message,
    StepRecord,
    ToolCall,
    ToolSet,
    compile_policy,
    run_graph,
    tool,
)

POLICY = compile_policy(
    """
defaults: {on_no_match: deny}
rules:
  - {id: work, match: {tool: work}, decision: allow}
  - {id: risky, match: {tool: risky}, decision: approve_required}
"""
)
WORK, FORBIDDEN = ToolCall("work", {"what": "a"}), ToolCall("forbidden", {})


class Agent:
    """Says one reply after the other, from the start for every run; an exception is raised."""

    def __init__(self, *replies: object) -> None:
        self.replies = replies
        self.tasks: list[str] = []
        self.asked = 0

    async def step(self, conversation: Sequence[Message]) -> Any:
        said = sum(message.role == "assistant" for message in conversation)
        if said == 0:
            self.tasks.append(conversation[0].content)
        self.asked += 1
        await asyncio.sleep(0)  # other tasks get a turn
        reply = self.replies[said] if said < len(self.replies) else FinalAnswer("done")
        if isinstance(reply, BaseException):
            raise reply
        return reply


@dataclass
class Nodes:
    """Nodes by name, and everything their tools did."""

    ran: list[str] = field(default_factory=list)
    agents: dict[str, Agent] = field(default_factory=dict)
    nodes: dict[str, GraphNode] = field(default_factory=dict)

    def add(self, name: str, *replies: object, **options: Any) -> Nodes:
        """A node that says `replies`; a plain string is a final answer."""
        ran = self.ran

        @tool(effect="idempotent")
        async def work(what: str) -> str:
            ran.append(f"{name}:{what}")
            return what

        @tool()
        async def forbidden() -> None: ...

        @tool()
        async def risky() -> None:
            raise RuntimeError("it broke")

        said = [FinalAnswer(reply) if isinstance(reply, str) else reply for reply in replies]
        agent = self.agents[name] = Agent(*said)
        tools = ToolSet.from_functions(work, forbidden, risky)
        self.nodes[name] = GraphNode(agent, tools, POLICY, **{"budget": Budget(steps=5), **options})
        return self


@dataclass
class Seen:
    """A finished graph: its result and its events."""

    result: GraphResult
    events: list[AuditEvent]

    @property
    def path(self) -> list[str]:
        return [outcome.node for outcome in self.result.path]

    @property
    def graph_kinds(self) -> list[str]:
        return [event.kind for event in self.events if event.bundle_id == "graph"]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.body) for event in self.events if event.kind == kind]


def run(nodes: Nodes | Mapping[str, GraphNode], router: Any, **options: Any) -> Seen:
    """Run a graph; one that hangs fails."""
    events: list[AuditEvent] = []

    async def sink(event: AuditEvent) -> None:
        events.append(event)

    async def bounded() -> GraphResult:
        async with asyncio.timeout(20):
            found = nodes.nodes if isinstance(nodes, Nodes) else nodes
            sinks = (sink, *options.pop("sinks", ()))
            return await run_graph(found, options.pop("task", "the task"), router=router, sinks=sinks, **options)

    return Seen(asyncio.run(bounded()), events)


class Died(BaseException):
    """The process is gone."""


class DyingStore(MemoryStore):
    """Dies before or after the append number `at`, counted from 1 over everything that is written."""

    def __init__(self, at: int, *, after: bool = False) -> None:
        super().__init__()
        self.at = at
        self.after = after
        self.count = 0

    async def append(self, record: StepRecord) -> None:
        self.count += 1
        if self.count == self.at and not self.after:
            raise Died
        await super().append(record)
        if self.count == self.at:
            raise Died


def records(store: MemoryStore, run_id: str = "g") -> list[StepRecord]:
    """Everything on record of a run."""
    return list(asyncio.run(store.load(run_id)))
