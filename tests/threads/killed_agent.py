"""The agent, the tools and the world of conversations that are killed.

The text of a message is the agent's program: replies separated by `|`, calls of a reply by `,`. Effects, model calls
and the events that a client saw are lines of a file, which no kill loses.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, Happened, Message, NotHappened, Policy, Prices, ToolCall, ToolSet, Usage, tool
from bobcat.model.deltas import TextDelta, ThinkingDelta

POLICY = Policy.compile(
    """
rules:
  - {id: asked, match: {tool: wire}, decision: approve_required}
  - {id: soon, match: {tool: hurry}, decision: approve_required, timeout_seconds: 0.5}
  - {id: refused, match: {tool: rob}, decision: deny, reason: never}
  - {id: rest, match: {tool.in: [pay, charge, look, gamble, forget]}, decision: allow}
"""
)
DATE = re.compile(r"\d{4}-\d\d-\d\d[ T][\d:.+]+")
PRICES = Prices.from_mapping({"small": {"input": 1, "output": 5}}, date="2026-11-01")
USAGE = Usage(100, 20, model="small")


class World:
    """A file of JSON lines. A line is one write, so a kill leaves it whole or absent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.on_effect: Callable[[], None] = lambda: None
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, kind: str, *values: object) -> None:
        os.write(self._file, (json.dumps([kind, *values]) + "\n").encode())

    def lines(self, kind: str) -> list[list[Any]]:
        found = [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
        return [values for name, *values in found if name == kind]


class Scripted:
    """Does what the text of the last user message says. With `streams`, in deltas, with pauses between them."""

    model = "small"
    max_output_tokens = 100

    def __init__(self, world: World, *, streams: bool) -> None:
        self._world = world
        if streams:
            self.stream = self._stream

    def count_tokens(self, conversation: Sequence[Message]) -> int:
        return 500

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: a reply
        text, made = self._begin(conversation)
        await asyncio.sleep(0)
        return await self._reply(conversation, text, made)

    def _begin(self, conversation: Sequence[Message]) -> tuple[str, int]:
        question = max(number for number, each in enumerate(conversation) if each.role == "user")
        text = conversation[question].content
        made = sum(each.role == "tool" for each in conversation[question:])
        self._world.note("model", text, made, _digest(conversation))
        return text, made

    async def _reply(self, conversation: Sequence[Message], text: str, made: int) -> Any:  # Any: a reply
        for number, reply in enumerate(text.split("|")[:-1]):
            calls = [each.split() for each in reply.split(",")]
            if made == 0:
                return tuple(
                    ToolCall(name, {"what": what}, f"{number}.{index}", USAGE if index == 0 else None, text="Now this.")
                    for index, (name, what) in enumerate(calls)
                )
            made -= len(calls)
        if "wait" in text:
            await asyncio.get_running_loop().create_future()
        return FinalAnswer(f"saw {len(conversation)}", USAGE)

    async def _stream(self, conversation: Sequence[Message]) -> AsyncIterator[Any]:
        text, made = self._begin(conversation)
        yield ThinkingDelta("Hm.")
        yield TextDelta("Now ")
        await asyncio.sleep(0.001)
        yield TextDelta("this.")
        yield await self._reply(conversation, text, made)


def _digest(conversation: Sequence[Message]) -> str:
    files = [[each.content().decode() for each in message.attachments] for message in conversation]
    plain = [[m.role, DATE.sub("", m.content), m.name, m.tool_call_id, repr(m.tool_call_args)] for m in conversation]
    return sha256(json.dumps([plain, files]).encode()).hexdigest()[:12]


def tools(world: World) -> ToolSet:
    """Tools whose effect is a line of the world."""

    async def happen(name: str, what: str, key: str | None = None) -> str:
        await asyncio.sleep(0)
        if key is None or [name, what, key] not in world.lines("effect"):
            world.note("effect", name, what, *([] if key is None else [key]))
            world.on_effect()
        await asyncio.sleep(0)
        return f"{name} {what} {'.' * 60}"

    def did(name: str) -> Callable[..., Awaitable[Happened | NotHappened]]:
        async def ask(key: str, args: Any) -> Happened | NotHappened:
            done = any(line[:2] == [name, args["what"]] for line in world.lines("effect"))
            return Happened(f"{name} {args['what']} {'.' * 60}") if done else NotHappened()

        return ask

    @tool(effect="unsafe")
    async def pay(what: str) -> str:
        """Pay; there is a record of payments."""
        return await happen("pay", what)

    @tool(effect="unsafe")
    async def wire(what: str) -> str:
        """Pay with an approval."""
        return await happen("wire", what)

    @tool(effect="unsafe")
    async def hurry(what: str) -> str:
        """Pay with an approval that expires soon."""
        return await happen("hurry", what)

    @tool(effect="unsafe")
    async def rob(what: str) -> str:
        """Never allowed."""
        return await happen("rob", what)

    @tool(effect="keyed")
    async def charge(what: str, idempotency_key: str) -> str:
        """Pay once for each key."""
        return await happen("charge", what, idempotency_key)

    @tool(effect="none")
    async def look(what: str) -> str:
        """Look."""
        await asyncio.sleep(0)
        return f"{what} {'x' * 60}"

    @tool(effect="unsafe")
    async def gamble(what: str) -> str:
        """Pay without any record of payments."""
        return await happen("gamble", what)

    @tool(effect="idempotent")
    async def forget(what: str) -> str:
        """Pay again each time, unlike what it declares."""
        return await happen("forget", what)

    for each in (pay, wire, hurry):
        each.reconcile(did(each.__name__))  # type: ignore[attr-defined]
    return ToolSet.from_functions(pay, wire, hurry, rob, charge, look, gamble, forget)
