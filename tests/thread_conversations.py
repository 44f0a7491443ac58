"""An agent that pays what the user asks for, its tool, and a store that stops as a process does."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import bobcat
from bobcat import FinalAnswer, Happened, MemoryStore, Message, NotHappened, ToolCall, ToolSet, Usage, tool
from bobcat.model.deltas import Delta, TextDelta
from bobcat.threads import Thread, ThreadEvent

POLICY = bobcat.compile_policy("rules: [{id: pay, match: {tool: pay}, decision: allow}]")
ASKING = bobcat.compile_policy("rules: [{id: pay, match: {tool: pay}, decision: approve_required}]")


class Payer:
    """Says something, pays the amount in the message, and says how many messages it saw."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        last = conversation[-1]
        if last.role == "user":
            return ToolCall("pay", {"amount": last.content}, f"c{len(conversation)}", Usage(3, 2), text="Paying.")
        return FinalAnswer(f"{len(conversation)} messages")

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Delta | ToolCall | FinalAnswer]:
        reply = await self.step(conversation)
        for part in ("Pay", "ing."):
            yield TextDelta(part)
            await asyncio.sleep(0)
        yield reply


class Ledger:
    """The payments that happened."""

    def __init__(self) -> None:
        self.paid: list[str] = []

    def tools(self) -> ToolSet:
        @tool(effect="unsafe")
        async def pay(amount: str) -> str:
            """Pay."""
            await asyncio.sleep(0)
            self.paid.append(amount)
            await asyncio.sleep(0)
            return f"paid {amount}"

        @pay.reconcile  # type: ignore[untyped-decorator]
        async def did_pay(key: str, args: Any) -> Happened | NotHappened:
            return Happened("paid") if args["amount"] in self.paid else NotHappened()

        return ToolSet.from_functions(pay)


def thread(store: Any, payments: Ledger, **options: Any) -> Thread:
    """A thread of the payer."""
    return Thread(store, "acme/42", **{"agent": Payer(), "tools": payments.tools(), "policy": POLICY, **options})


async def collect(events: Any) -> list[ThreadEvent]:
    return [event async for event in events]


KINDS = (
    "thread", "thread.key", "thread.note", "thread.pin", "thread.cancel", "thread.attachment", "approval",
    "approval-step", "waiting", "attachment", "attachment.chunk",
)  # fmt: skip
"""Kinds of the documents that threads leave in a store."""


async def content(store: Any) -> tuple[list[str], dict[str, list[str]]]:
    """The ids of all runs, and the keys of all documents by kind."""
    runs = sorted(each.run_id for each in await store.runs(limit=10_000))
    return runs, {kind: [each.key for each in await store.scan(kind, limit=10_000)] for kind in KINDS}


class StoppingStore:
    """Stops before or after its `at`th operation: neither it nor a later one returns."""

    _WRITES = ("append", "append_fenced", "set_status", "put", "acquire", "release", "renew")

    def __init__(self, inner: MemoryStore, at: int) -> None:
        self._inner = inner
        self._left = at
        self.stopped = asyncio.Event()

    # Any: a method of the store.
    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any, **options: Any) -> Any:
            await self._point()
            result = await method(*args, **options)
            await self._point()
            return result

        return call

    async def _point(self) -> None:
        self._left -= 1
        if self._left < 0:
            self.stopped.set()
            await asyncio.get_running_loop().create_future()


class InterruptedStore:
    """Does other work to its end before its `at`th operation. `done` is true once that has happened."""

    def __init__(self, inner: Any, at: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._inner, self._left, self._work = inner, at, work
        self.done = False

    # Any: a method of the store.
    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left < 0 and not self.done:
                self.done = True
                await self._work()
            return await method(*args, **options)

        return call


# Any: a test's fixtures.
def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test."""

    @functools.wraps(test)
    def run(*args: Any, **options: Any) -> None:
        asyncio.run(test(*args, **options))

    return run
