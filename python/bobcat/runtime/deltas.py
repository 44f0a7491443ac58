"""Deltas of model replies on their way from an agent to `on_delta`.

`StreamedAgent` takes the agent's place in a run, so the machine and the fast path see complete replies only. Neither a
slow nor a failing reader delays or fails the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from inspect import isawaitable
from typing import Any, Protocol

from bobcat.errors import IncompleteReply
from bobcat.logs import logger
from bobcat.model.agent import Agent
from bobcat.model.deltas import CallDelta, Delta, DeltaEvent, DeltasLost, OnDelta, ReplyEnd, TextDelta, ThinkingDelta
from bobcat.model.run import FinalAnswer, Message, ToolCall

log = logger("runtime")

MAX_SEPARATE = 256
"""Number of waiting deltas from which adjacent ones are merged."""
MAX_WAITING_CHARACTERS = 1_000_000
"""Number of waiting characters from which deltas are left out, and counted in a `DeltasLost`."""
DRAIN_SECONDS = 1.0
"""Time that the end of a run gives its reader."""

_OVERHEAD = 64
"""Characters that a delta without any counts for, so that empty ones are bounded, too."""


class TakesDeltas(Protocol):
    """Receives deltas, without waiting."""

    def put(self, event: DeltaEvent, /) -> None:
        """Receive one."""


class Feeds:
    """Several receivers of deltas as one."""

    def __init__(self, *puts: Callable[[DeltaEvent], None]) -> None:
        self.puts = list(puts)

    def put(self, event: DeltaEvent) -> None:
        """Pass a delta to each."""
        for put in self.puts:
            put(event)


class DeltaFeed:
    """A bounded queue of deltas, and the task that passes them to `on_delta` in order."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._waiting: deque[DeltaEvent] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        self._closing = False
        self._reader = asyncio.create_task(self._read())

    def put(self, event: DeltaEvent) -> None:
        """Queue an event: separately, merged with the last one, or counted as lost."""
        if self._reader.done():
            return
        waiting, size = self._waiting, _size(event)
        last = waiting[-1] if waiting else None
        if self._size + size > MAX_WAITING_CHARACTERS:
            lost = len(getattr(event, "text", ""))
            if isinstance(last, DeltasLost):
                waiting[-1] = DeltasLost(last.characters + lost)
            else:
                waiting.append(DeltasLost(lost))
                self._size += _OVERHEAD
        elif len(waiting) >= MAX_SEPARATE and last is not None and (merged := _merged(last, event)) is not None:
            waiting[-1] = merged
            self._size += _size(merged) - _size(last)
        else:
            waiting.append(event)
            self._size += size
        self._wake.set()

    async def drain(self) -> None:
        """Wait until the reader has received everything, for at most `DRAIN_SECONDS`."""
        self._closing = True
        self._wake.set()
        await asyncio.wait([self._reader], timeout=DRAIN_SECONDS)

    def abandon(self) -> None:
        """End the reader's task; deltas that still wait are dropped."""
        self._reader.cancel()

    async def _read(self) -> None:
        while True:
            while self._waiting:
                event = self._waiting.popleft()
                self._size -= _size(event)
                try:
                    received = self._on_delta(event)
                    if isawaitable(received):
                        await received
                except (Exception, SystemExit) as error:
                    log.log(logging.WARNING, "on_delta failed; it receives no further deltas", exc_info=error)
                    return
            if self._closing:
                return
            self._wake.clear()
            await self._wake.wait()


class StreamedAgent:
    """An agent whose deltas go to a feed while its reply is awaited."""

    def __init__(self, agent: Agent, feed: TakesDeltas) -> None:
        self._agent = agent
        self._feed = feed

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: an agent may return anything
        """The agent's next action. Its text is one delta where the agent does not stream."""
        complete = False
        try:
            stream = getattr(self._agent, "stream", None)
            reply = await (self._collect(stream(conversation)) if callable(stream) else self._whole(conversation))
            complete = True
        finally:
            self._feed.put(ReplyEnd(complete))
        return reply

    async def _whole(self, conversation: Sequence[Message]) -> Any:  # Any: as above
        reply = await self._agent.step(conversation)
        self._show(reply)
        return reply

    # Any: as above.
    async def _collect(self, items: Any) -> Any:
        """Pass deltas on until the reply comes."""
        if not hasattr(items, "__aiter__"):
            if asyncio.iscoroutine(items):
                items.close()
            raise TypeError("agent.stream must be an async generator: `async def` with `yield`")
        shown = False
        try:
            async for item in items:
                if not isinstance(item, Delta):
                    if not shown:
                        self._show(item)
                    return item
                self._feed.put(item)
                shown = True
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()
        raise IncompleteReply("agent.stream ended without a reply", "reply_cut_off")

    def _show(self, reply: object) -> None:
        """Send the text of a reply without deltas."""
        first = reply[0] if isinstance(reply, (list, tuple)) and reply else reply
        text: object = first.text if isinstance(first, (FinalAnswer, ToolCall)) else ""
        if text and isinstance(text, str):
            self._feed.put(TextDelta(text))


def _size(event: DeltaEvent) -> int:
    match event:
        case TextDelta(text) | ThinkingDelta(text):
            return _OVERHEAD + len(text)
        case CallDelta(call_id, tool, text):
            return _OVERHEAD + len(call_id) + len(tool) + len(text)
        case ReplyEnd() | DeltasLost():
            return _OVERHEAD


def _merged(last: DeltaEvent, event: DeltaEvent) -> DeltaEvent | None:
    """One delta in place of two adjacent ones of the same kind, or None."""
    match last, event:
        case TextDelta(before), TextDelta(text):
            return TextDelta(before + text)
        case ThinkingDelta(before), ThinkingDelta(text):
            return ThinkingDelta(before + text)
        case CallDelta(call_id, tool, before), CallDelta(same, _, text) if call_id == same:
            return CallDelta(call_id, tool, before + text)
    return None
