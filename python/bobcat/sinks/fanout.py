"""Delivery of one event to several sinks: none of them can break the run or hold it up for long.

Called by the run loop, by handoff graphs and by `multi_sink`. A sink that raises is reported on stderr. One that takes
longer than `SINK_TIMEOUT_SECONDS` for an event, or than `SINK_TOTAL_SECONDS` for all of them, is reported and left out
from then on. A plain function runs on a thread, so that it may block; an async one that blocks the event loop blocks it
once at most. When a sink that is `required` fails, `failure` says so, and whoever performs effects stops.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from inspect import isawaitable, iscoroutinefunction
from math import inf
from time import monotonic

from bobcat.model import AuditEvent
from bobcat.plain_json import describe
from bobcat.sinks.base import AnySink
from bobcat.sinks.thread import SinkThread
from bobcat.tasks import being_cancelled

SINK_TIMEOUT_SECONDS = 5.0
"""How long a sink may take for one event."""
SINK_TOTAL_SECONDS = 30.0
"""How long a sink may hold up one run altogether."""


def runs_on_the_loop(sink: Callable[..., object]) -> bool:
    """Whether calling it gives a coroutine at once. Anything else may block, and is called on a thread."""
    return iscoroutinefunction(sink) or iscoroutinefunction(getattr(sink, "__call__", None))  # noqa: B004


class _Outlet:
    """One sink of a run, and how much of the run's time it has had."""

    __slots__ = ("name", "required", "sink", "spent", "thread")

    def __init__(self, sink: AnySink) -> None:
        self.sink = sink
        self.required = getattr(sink, "required", False) is True
        self.thread = None if runs_on_the_loop(sink) else SinkThread()
        self.spent = 0.0
        self.name = getattr(sink, "__qualname__", None) or repr(sink)

    async def take(self, event: AuditEvent) -> None:
        """Hand the sink one event."""
        sink, thread = self.sink, self.thread
        pending: object = sink(event) if thread is None else await thread.run(lambda: sink(event))
        if isawaitable(pending):  # a plain function is a sink too: it is done once it has returned
            await pending


class Fanout:
    """A group of sinks, with the memory of which of them hung."""

    def __init__(
        self,
        sinks: Sequence[AnySink],
        *,
        timeout_seconds: float = SINK_TIMEOUT_SECONDS,
        total_seconds: float = SINK_TOTAL_SECONDS,
        reporter: str = "bobcat",
    ) -> None:
        self._outlets = [_Outlet(sink) for sink in _flat(sinks)]
        self._timeout = timeout_seconds
        self._total = inf if timeout_seconds == inf else total_seconds
        self._reporter = reporter
        self.failure: str | None = None
        """What became of the first required sink that failed."""

    def __bool__(self) -> bool:
        return bool(self._outlets)

    async def deliver(self, event: AuditEvent) -> None:
        """Hand `event` to every sink, at the same time. Never raises on a sink's account."""
        if len(self._outlets) == 1:
            await self._one(self._outlets[0], event)
        elif self._outlets:
            await asyncio.gather(*(self._one(outlet, event) for outlet in tuple(self._outlets)))

    async def _one(self, outlet: _Outlet, event: AuditEvent) -> None:
        started = monotonic()
        try:
            async with asyncio.timeout(None if self._timeout == inf else self._timeout) as clock:
                await outlet.take(event)
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            self._failed(outlet, event, describe(error))
        except (Exception, SystemExit) as error:
            if not (isinstance(error, TimeoutError) and clock.expired()):
                self._failed(outlet, event, describe(error))
        took = monotonic() - started
        outlet.spent += took
        if took >= self._timeout:
            self._leave_out(outlet, event, f"no answer within {self._timeout}s")
        elif outlet.spent >= self._total:
            self._leave_out(outlet, event, f"it has held up the run for {self._total}s altogether")

    def _leave_out(self, outlet: _Outlet, event: AuditEvent, problem: str) -> None:
        if outlet in self._outlets:
            self._outlets.remove(outlet)
            self._failed(outlet, event, f"{problem}; it gets no further events")

    def _failed(self, outlet: _Outlet, event: AuditEvent, problem: str) -> None:
        if outlet.required and self.failure is None:
            self.failure = f"required sink {outlet.name} failed on event {event.kind!r} seq={event.seq}: {problem}"
        where = f"sink {outlet.name} failed on event {event.kind!r} seq={event.seq}"
        print(f"[{self._reporter}] {where}: {problem}", file=sys.stderr)


class MultiSink:
    """Several sinks as one. A run delivers to each of `sinks` by itself; whoever calls it, to all of them at once."""

    __slots__ = ("_fanout", "sinks")

    def __init__(self, sinks: tuple[AnySink, ...]) -> None:
        self.sinks = sinks
        self._fanout = Fanout(sinks)

    async def __call__(self, event: AuditEvent) -> None:
        await self._fanout.deliver(event)


def _flat(sinks: Sequence[AnySink]) -> list[AnySink]:
    """The sinks, with those that are several taken apart: each one has its own time, and fails by itself."""
    found: list[AnySink] = []
    for sink in sinks:
        found += _flat(sink.sinks) if isinstance(sink, MultiSink) else [sink]
    return found
