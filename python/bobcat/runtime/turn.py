"""A run that is a turn of a thread: earlier messages before its task, and its deltas in its journal.

Deltas are written in batches while the model's reply is awaited, and nothing else is written meanwhile, so the order of
records stays that of events. All of them are durable before the reply's own record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bobcat.errors import IncompleteReply
from bobcat.journal.records import DuplicateRecord
from bobcat.model.agent import Agent
from bobcat.model.attachment import Attachment
from bobcat.model.deltas import CallDelta, DeltaEvent, TextDelta, ThinkingDelta
from bobcat.model.run import Message
from bobcat.runtime.commands import StoreFailed, Superseded
from bobcat.runtime.deltas import Feeds, StreamedAgent
from bobcat.runtime.journaling import CLOSING_SECONDS, RunJournal
from bobcat.stores.protocol import LeaseLost
from bobcat.text.json_text import format_exception

REPLY_DELTA = "reply.delta"
BATCH_SECONDS = 0.02
"""Minimum time between two batches of one reply."""


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """Messages before the task, the task's attachments, and a function that is called after each record."""

    history: Sequence[Message] = ()
    attachments: tuple[Attachment, ...] = ()
    on_record: Callable[[], None] | None = None


class DeltaJournal:
    """Deltas on their way into the journal. `put` takes them; `flush` waits until all of them are durable."""

    def __init__(self, journal: RunJournal, now: Callable[[], datetime]) -> None:
        self._journal = journal
        self._now = now
        self._waiting: list[list[str]] = []
        self._step = 0
        self._open = False
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failure: StoreFailed | Superseded | None = None

    def begin(self, step: int) -> None:
        """Begin the reply of a step."""
        self._step = step
        self._open = True
        self._hurry.clear()

    def put(self, event: DeltaEvent) -> None:
        """Take a delta of text or thinking; others are not kept."""
        if not self._open or self._failure is not None:
            return
        if not isinstance(event, TextDelta | ThinkingDelta) or not event.text:
            return
        kind = "thinking" if isinstance(event, ThinkingDelta) else "text"
        if self._waiting and self._waiting[-1][0] == kind:
            self._waiting[-1][1] += event.text
        else:
            self._waiting.append([kind, event.text])
        if self._task is None:
            self._task = asyncio.create_task(self._write())

    async def flush(self) -> StoreFailed | Superseded | None:
        """Wait until every delta is durable; return the reason when one is not. Later ones are not taken."""
        self._open = False
        self._hurry.set()
        if self._task is not None:
            await asyncio.shield(self._task)
        return self._failure

    async def stop(self) -> None:
        """End the writes, the present one completed, so that the journal can be closed."""
        self._waiting.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await self.flush()

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                body: dict[str, Any] = {"step": self._step, "deltas": batch}
                await self._journal.write(REPLY_DELTA, body, "", self._now())
                if not self._hurry.is_set():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._hurry.wait(), BATCH_SECONDS)
        except (DuplicateRecord, LeaseLost) as lost:
            self._failure = Superseded(str(lost))
        except (Exception, SystemExit) as error:
            self._failure = StoreFailed(f"store.append failed: {format_exception(error)}")
        finally:
            self._task = None


class TurnAgent:
    """An agent whose deltas go to `put` while its reply is awaited. `stream` is absent: `step` collects."""

    def __init__(
        self, agent: Agent, put: Callable[[DeltaEvent], None], show: Callable[[DeltaEvent], None] | None = None
    ) -> None:
        self._agent = agent
        self._put = put
        self._show = show

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: an agent may return anything
        """The agent's next action. `show` also gets the end of the reply, and the text of one without deltas."""
        if self._show is None:
            return await self._step(conversation)
        return await StreamedAgent(self._agent, Feeds(self._put, self._show)).step(conversation)

    async def _step(self, conversation: Sequence[Message]) -> Any:  # Any: as above
        stream = getattr(self._agent, "stream", None)
        if not callable(stream):
            return await self._agent.step(conversation)
        items = stream(conversation)
        if not hasattr(items, "__aiter__"):
            if asyncio.iscoroutine(items):
                items.close()
            raise TypeError("agent.stream must be an async generator: `async def` with `yield`")
        try:
            async for item in items:
                if not isinstance(item, TextDelta | ThinkingDelta | CallDelta):
                    return item
                self._put(item)
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()
        raise IncompleteReply("agent.stream ended without a reply", "reply_cut_off")
