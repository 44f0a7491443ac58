"""A scripted agent, a few tools, and a run that keeps everything it saw. For the tests of the kernel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import bobcat
from bobcat import AuditEvent, FinalAnswer, Message, PolicyBundle, RunResult, ToolCall, ToolSet, run_agent, tool
from bobcat.runtime.loop import run_with
from bobcat.runtime.options import Options

POLICY = """
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: no-force, match: {args.text: force}, decision: deny, reason: not like this, priority: 9}
  - {id: echo, match: {tool: echo}, decision: allow, reason: harmless}
  - {id: preview, match: {tool: delete}, decision: dry_run}
  - {id: ask, match: {tool: deploy}, decision: approve_required, approvers: [alice, oncall], reason: prod}
  - {id: ask-anyone, match: {tool: restart}, decision: approve_required}
  - {id: limit, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.text, append: " LIMIT 1"}}
  - {id: slow, match: {tool: slow}, decision: allow}
  - {id: broken, match: {tool: broken}, decision: allow}
"""


class Scripted:
    """Replies with its items, one per step; a callable item is called with the conversation."""

    def __init__(self, *replies: object) -> None:
        self.replies = list(replies)
        self.seen: list[tuple[Message, ...]] = []

    async def step(self, conversation: Sequence[Message]) -> Any:
        self.seen.append(tuple(conversation))
        reply = self.replies.pop(0) if self.replies else FinalAnswer("done")
        if callable(reply):
            reply = reply(conversation)
            if isinstance(reply, Awaitable):
                reply = await reply
        return reply


@dataclass
class Tools:
    """The tools of `POLICY`. `ran` lists what really happened."""

    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    during: Callable[[], Awaitable[object]] | None = None

    def toolset(self) -> ToolSet:
        ran = self.ran

        @tool()
        async def echo(text: str, times: int = 1) -> str:
            ran.append(("echo", {"text": text, "times": times}))
            return text * times

        @tool(reversible=False)
        async def delete(path: str, force: bool = False) -> str:
            ran.append(("delete", {"path": path, "force": force}))
            return "deleted"

        @delete.shadow  # type: ignore[attr-defined]
        async def delete_shadow(path: str) -> str:
            return f"would delete {path}"

        @tool()
        async def deploy(version: str) -> str:
            ran.append(("deploy", {"version": version}))
            if version == "broken":
                raise RuntimeError("deployment failed")
            return f"deployed {version}"

        @tool()
        async def restart(targets: list[str]) -> str:
            ran.append(("restart", {"targets": targets}))
            return "restarted"

        @tool()
        async def query(text: str) -> str:
            ran.append(("query", {"text": text}))
            return text

        @tool()
        async def slow() -> str:
            ran.append(("slow", {}))
            if self.during is not None:
                await self.during()
            return "slept"

        @tool()
        async def broken(kind: str) -> object:
            ran.append(("broken", {"kind": kind}))
            return _break(kind)

        return ToolSet.from_functions(echo, delete, deploy, restart, query, slow, broken)


class Unprintable:
    """A result that has no text."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error or ValueError("no text for you")

    def __str__(self) -> str:
        raise self.error


def _break(kind: str) -> object:
    if kind.startswith("unprintable"):
        return Unprintable(
            {"unprintable-exit": SystemExit(3), "unprintable-cancelled": asyncio.CancelledError()}.get(kind)
        )
    errors: dict[str, BaseException] = {
        "exit": SystemExit(3),
        "cancelled": asyncio.CancelledError("by my own hand"),
        "timeout": TimeoutError("mine"),
        "plain": ValueError("wrong"),
    }
    raise errors[kind]


@dataclass
class Seen:
    """A finished run: its result, its events, and what the agent saw."""

    result: RunResult
    events: list[AuditEvent]
    agent: Scripted
    ran: list[tuple[str, dict[str, Any]]]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.body) for event in self.events if event.kind == kind]

    @property
    def tool_messages(self) -> list[str]:
        """The messages of the tools, as the agent saw them at its last step."""
        return [message.content for message in self.agent.seen[-1] if message.role == "tool"]


async def run(
    *replies: object, tools: Tools | None = None, policy: str | PolicyBundle = POLICY, **options: Any
) -> Seen:
    """Run a scripted agent; its last reply is a final answer unless the script has one."""
    agent, tools, events = Scripted(*replies), tools or Tools(), []

    async def sink(event: AuditEvent) -> None:
        events.append(event)

    sinks = (sink, *options.pop("sinks", ()))
    bundle = bobcat.compile_policy(policy) if isinstance(policy, str) else policy
    if "compat" in options:
        compat = options.pop("compat")
        given = Options(tools=tools.toolset(), policy=bundle, sinks=sinks, **options)
        return Seen(await run_with(compat, agent, "task", given), events, agent, tools.ran)
    result = await run_agent(agent, "task", tools=tools.toolset(), policy=bundle, sinks=sinks, **options)
    return Seen(result, events, agent, tools.ran)


def seen(*replies: object, **options: Any) -> Seen:
    """`run`, for tests that are not async; a run that hangs fails."""

    async def bounded() -> Seen:
        async with asyncio.timeout(10):
            return await run(*replies, **options)

    return asyncio.run(bounded())


def call(name: str, /, **args: object) -> ToolCall:
    """A tool call with keyword arguments."""
    return ToolCall(name, args)
