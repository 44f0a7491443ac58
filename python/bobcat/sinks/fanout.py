"""Delivery of one event to several sinks: none of them can stop the run or hold it up for long.

Called by the run loop and by `multi_sink`. A sink that raises is reported on stderr. One that takes longer than
`SINK_TIMEOUT_SECONDS` for an event is reported and left out from then on, so all sinks together delay a run by at most
that much. A sink that blocks the event loop blocks it: write such a sink with `asyncio.to_thread`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Sequence
from inspect import isawaitable

from bobcat.model import AuditEvent
from bobcat.plain_json import describe
from bobcat.sinks.base import Sink

SINK_TIMEOUT_SECONDS = 5.0


class Fanout:
    """A group of sinks, with the memory of which of them hung."""

    def __init__(self, sinks: Sequence[Sink], *, timeout_seconds: float = SINK_TIMEOUT_SECONDS) -> None:
        self._sinks = list(sinks)
        self._timeout = timeout_seconds

    def __bool__(self) -> bool:
        return bool(self._sinks)

    async def deliver(self, event: AuditEvent) -> None:
        """Hand `event` to every sink, at the same time. Never raises on a sink's account."""
        if len(self._sinks) == 1:
            await self._one(self._sinks[0], event)
        elif self._sinks:
            await asyncio.gather(*(self._one(sink, event) for sink in tuple(self._sinks)))

    async def _one(self, sink: Sink, event: AuditEvent) -> None:
        try:
            pending: object = sink(event)
            if isawaitable(pending):  # a plain function is a sink too: it is done once it has returned
                await self._wait(pending, sink, event)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            _report(sink, event, describe(error))
        except (Exception, SystemExit) as error:
            _report(sink, event, describe(error))

    async def _wait(self, pending: Awaitable[object], sink: Sink, event: AuditEvent) -> None:
        try:
            async with asyncio.timeout(self._timeout) as clock:
                await pending
        except TimeoutError:
            if not clock.expired():
                raise
            if sink in self._sinks:
                self._sinks.remove(sink)
            _report(sink, event, f"no answer within {self._timeout}s; it gets no further events")


def _report(sink: Sink, event: AuditEvent, problem: str) -> None:
    name = getattr(sink, "__qualname__", None) or repr(sink)
    print(f"[bobcat] sink {name} failed on event {event.kind!r} seq={event.seq}: {problem}", file=sys.stderr)
