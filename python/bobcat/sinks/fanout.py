"""Delivery of one event to several sinks: none of them can break the run or hold it up for long, and none that is slow
but healthy loses an event.

Called by the run loop, by handoff graphs and by `multi_sink`. A sink that raises is reported on stderr. One that takes
longer than `SINK_TIMEOUT_SECONDS` for an event is reported and left out from then on. One that has held up the run for
`SINK_TOTAL_SECONDS` altogether gets its later events through a queue, which the run waits for only when it is full, and
when the run ends. A plain function runs on a thread, so that it may block; an async one that blocks the event loop
blocks it once at most. When a sink that is `required` fails, `failure` says so, and whoever performs effects stops; its
events never wait in a queue. What a sink has lost is in `gaps`.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Sequence
from inspect import isawaitable, iscoroutinefunction
from math import inf
from time import monotonic

from bobcat.display import safe_text
from bobcat.logs import logger
from bobcat.model import AuditEvent, AuditGap
from bobcat.plain_json import describe
from bobcat.sinks.base import AnySink
from bobcat.sinks.thread import SinkThread
from bobcat.tasks import being_cancelled

log = logger("sinks")
SINK_TIMEOUT_SECONDS = 5.0
"""How long a sink may take for one event."""
SINK_TOTAL_SECONDS = 5.0
"""Time that a sink may take of one run altogether before its later events go through a queue."""
SINK_QUEUE_EVENTS = 1000
"""Events that may wait for one sink; the run waits when there are more."""


def runs_on_the_loop(sink: Callable[..., object]) -> bool:
    """Whether calling it gives a coroutine at once. Anything else may block, and is called on a thread."""
    return iscoroutinefunction(sink) or iscoroutinefunction(getattr(sink, "__call__", None))  # noqa: B004


class _Outlet:
    """One sink of a run, how much of the run's time it has had, and what it has lost."""

    __slots__ = (
        "first", "lost", "name", "pump", "queue", "queued", "reason", "required", "room", "sink", "spent", "thread",
    )  # fmt: skip

    def __init__(self, sink: AnySink) -> None:
        self.sink = sink
        self.required = getattr(sink, "required", False) is True
        self.thread = None if runs_on_the_loop(sink) else SinkThread()
        self.spent = 0.0
        self.name = getattr(sink, "__qualname__", None) or repr(sink)
        self.queued = False
        self.queue: deque[AuditEvent] = deque()
        self.pump: asyncio.Task[None] | None = None
        self.room = asyncio.Event()
        self.lost = 0
        self.first = -1
        self.reason = ""

    async def take(self, event: AuditEvent) -> None:
        """Hand the sink one event."""
        sink, thread = self.sink, self.thread
        pending: object = sink(event) if thread is None else await thread.run(lambda: sink(event))
        if isawaitable(pending):  # a plain function is a sink too: it is done once it has returned
            await pending

    def lose(self, event: AuditEvent, problem: str, count: int = 1) -> None:
        """Count events that the sink did not take; `event` is the first of them."""
        if not self.lost:
            self.first, self.reason = event.seq, problem
        self.lost += count


class Fanout:
    """A group of sinks, with the memory of which of them hung."""

    def __init__(
        self,
        sinks: Sequence[AnySink],
        *,
        timeout_seconds: float = SINK_TIMEOUT_SECONDS,
        total_seconds: float | None = None,
        reporter: str = "bobcat",
    ) -> None:
        self._all = [_Outlet(sink) for sink in _flat(sinks)]
        self._outlets = list(self._all)
        self._timeout = timeout_seconds
        total = SINK_TOTAL_SECONDS if total_seconds is None else total_seconds
        self._total = inf if timeout_seconds == inf else total
        self._reporter = reporter
        self._dropped: list[_Outlet] = []
        self._left_out: list[_Outlet] = []
        self.failure: str | None = None
        """What became of the first required sink that failed."""

    def __bool__(self) -> bool:
        return bool(self._outlets)

    @property
    def gaps(self) -> tuple[AuditGap, ...]:
        """The losses of the sinks that have lost an event."""
        return tuple(_gap(outlet) for outlet in self._all if outlet.lost)

    def newly_left_out(self) -> list[AuditGap]:
        """The losses of the sinks that were left out since the last call."""
        left, self._left_out = self._left_out, []
        return [_gap(outlet) for outlet in left]

    async def deliver(self, event: AuditEvent) -> None:
        """Hand `event` to every sink, at the same time, or put it into its queue. Never raises on a sink's account."""
        for outlet in self._dropped:
            outlet.lose(event, "")
        if len(self._outlets) == 1:
            await self._one(self._outlets[0], event)
        elif self._outlets:
            await asyncio.gather(*(self._one(outlet, event) for outlet in tuple(self._outlets)))

    async def drain(self) -> None:
        """Wait until every queue is empty. When the calling task is cancelled, what is left is lost."""
        pumps = [outlet.pump for outlet in self._outlets if outlet.pump is not None]
        if pumps:
            try:
                await asyncio.gather(*pumps, return_exceptions=True)
            finally:
                self.abandon()

    def abandon(self) -> None:
        """Deliver nothing more of what waits in a queue."""
        for outlet in self._outlets:
            if outlet.pump is not None:
                outlet.pump.cancel()
            if outlet.queue:
                self._failed(outlet, outlet.queue[0], "the run was ended from outside", len(outlet.queue))
                outlet.queue.clear()

    async def _one(self, outlet: _Outlet, event: AuditEvent) -> None:
        if outlet.queued:
            await self._enqueue(outlet, event)
            return
        await self._hand(outlet, event)
        # What a required sink must know, it must know before the next effect.
        outlet.queued = outlet.spent >= self._total and not outlet.required

    async def _enqueue(self, outlet: _Outlet, event: AuditEvent) -> None:
        while len(outlet.queue) >= SINK_QUEUE_EVENTS and outlet in self._outlets:
            outlet.room.clear()
            await outlet.room.wait()
        if outlet not in self._outlets:
            outlet.lose(event, "")
            return
        outlet.queue.append(event)
        if outlet.pump is None or outlet.pump.done():
            outlet.pump = asyncio.create_task(self._pump(outlet))

    async def _pump(self, outlet: _Outlet) -> None:
        """Hand the sink what waits for it, event by event."""
        while outlet.queue:
            await self._hand(outlet, outlet.queue[0])
            if outlet.queue:  # else the sink was left out
                outlet.queue.popleft()
            outlet.room.set()

    async def _hand(self, outlet: _Outlet, event: AuditEvent) -> None:
        started = monotonic()
        problem: str | None = None
        taken = False
        try:
            async with asyncio.timeout(None if self._timeout == inf else self._timeout) as clock:
                await outlet.take(event)
            taken = True
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            problem = describe(error)
        except (Exception, SystemExit) as error:
            if not (isinstance(error, TimeoutError) and clock.expired()):
                problem = describe(error)
        took = monotonic() - started
        outlet.spent += took
        if problem is not None:
            self._failed(outlet, event, problem)
        if took >= self._timeout:
            self._leave_out(outlet, event, f"no answer within {self._timeout}s", lost=not taken and problem is None)

    def _leave_out(self, outlet: _Outlet, event: AuditEvent, problem: str, *, lost: bool) -> None:
        if outlet in self._outlets:
            self._outlets.remove(outlet)
            self._dropped.append(outlet)
            self._left_out.append(outlet)
            waiting = len(outlet.queue) - 1 if outlet.queue else 0
            outlet.queue.clear()
            self._failed(outlet, event, f"{problem}; it gets no further events", waiting + lost)

    def _failed(self, outlet: _Outlet, event: AuditEvent, problem: str, count: int = 1) -> None:
        if outlet.required and self.failure is None:
            self.failure = f"required sink {outlet.name} failed on event {event.kind!r} seq={event.seq}: {problem}"
        outlet.lose(event, problem, count)
        where = f"sink {outlet.name} failed on event {event.kind!r} seq={event.seq}"
        fields = {"correlation_id": event.correlation_id, "sink": outlet.name, "kind": event.kind, "seq": event.seq}
        log.warning("%s: %s", where, problem, extra=fields)
        print(f"[{self._reporter}] {safe_text(f'{where}: {problem}')}", file=sys.stderr)


def _gap(outlet: _Outlet) -> AuditGap:
    return AuditGap(outlet.name, outlet.lost, outlet.first, outlet.reason)


class MultiSink:
    """Several sinks as one. A run delivers to each of `sinks` by itself; whoever calls it, to all of them at once."""

    __slots__ = ("_fanout", "sinks")

    def __init__(self, sinks: tuple[AnySink, ...]) -> None:
        self.sinks = sinks
        self._fanout = Fanout(sinks, total_seconds=inf)

    async def __call__(self, event: AuditEvent) -> None:
        await self._fanout.deliver(event)


def _flat(sinks: Sequence[AnySink]) -> list[AnySink]:
    """The sinks, with those that are several taken apart: each one has its own time, and fails by itself."""
    found: list[AnySink] = []
    for sink in sinks:
        found += _flat(sink.sinks) if isinstance(sink, MultiSink) else [sink]
    return found
