"""Delivery of one event to several sinks, isolated from one another and from the run.

No sink can break the run or delay it for long, and no slow but healthy sink loses an event. Called by the run loop, by
handoff graphs and by `multi_sink`. A sink that raises is reported on stderr. One that takes longer than
`SINK_TIMEOUT_SECONDS` for an event is reported and disabled. One that has delayed the run by `SINK_TOTAL_SECONDS` in
total gets its later events through a queue, for which the run waits only when it is full, and when the run ends. A
plain function runs on a thread, so that it may block; an async one that blocks the event loop blocks it at most once.
When a `required` sink fails, `failure` is set and the caller must stop effects; its events are never queued. `gaps`
lists the lost events. A sink that takes deltas (`bobcat.sinks.delta_events`) gets all of its events through its queue.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Sequence
from inspect import isawaitable, iscoroutinefunction
from math import inf
from time import monotonic

from bobcat.aio.tasks import FAULTS, raise_if_cancelled
from bobcat.logs import logger
from bobcat.model.run import AuditEvent, AuditGap
from bobcat.sinks.base import AnySink
from bobcat.sinks.delta_events import DRAIN_SECONDS, DeltaRoom, is_delta
from bobcat.sinks.thread import SinkThread
from bobcat.text.display import safe_text
from bobcat.text.json_text import format_exception

log = logger("sinks")
ACTION_RESULT = "action.result"
"""The result of a call, as the journal has it: an event for each sink with a true attribute `results`."""
SINK_TIMEOUT_SECONDS = 5.0
"""Timeout of a sink for one event."""
SINK_TOTAL_SECONDS = 5.0
"""Time that a sink may take from one run in total before its later events are queued."""
SINK_QUEUE_EVENTS = 1000
"""Capacity of one sink's queue; the run waits when it is full."""


def runs_on_the_loop(sink: Callable[..., object]) -> bool:
    """Return true if calling the sink returns a coroutine at once.

    Any other sink may block, and is called on a thread.
    """
    return iscoroutinefunction(sink) or iscoroutinefunction(getattr(sink, "__call__", None))  # noqa: B004


def takes_deltas(sink: AnySink) -> bool:
    """Return true for a sink that asks for the deltas of model replies."""
    return getattr(sink, "deltas", False) is True


class SinkState:
    """One sink of a run, the time that it took from the run, and its lost events."""

    __slots__ = (
        "delta_room", "deltas", "first", "lost", "name", "pump", "queue", "queued", "reason", "required", "results",
        "room", "sink", "spent", "thread",
    )  # fmt: skip

    def __init__(self, sink: AnySink) -> None:
        self.sink = sink
        self.required = getattr(sink, "required", False) is True
        self.deltas = takes_deltas(sink) and not self.required
        self.results = getattr(sink, "results", False) is True
        self.delta_room = DeltaRoom()
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

    def takes(self, event: AuditEvent) -> bool:
        """Return true for an event of every sink, and for a result if the sink asks for results."""
        return self.results or event.kind != ACTION_RESULT

    async def deliver(self, event: AuditEvent) -> None:
        """Pass the sink one event."""
        sink, thread = self.sink, self.thread
        pending: object = sink(event) if thread is None else await thread.run(lambda: sink(event))
        if isawaitable(pending):  # a plain function is a sink too: it is done when it returns
            await pending

    def count_lost(self, event: AuditEvent, problem: str, count: int = 1) -> None:
        """Count events that the sink lost; `event` is the first of them."""
        if not self.lost:
            self.first, self.reason = event.seq, problem
        self.lost += count


class Fanout:
    """A group of sinks, with the memory of the disabled ones."""

    def __init__(
        self,
        sinks: Sequence[AnySink],
        *,
        timeout_seconds: float = SINK_TIMEOUT_SECONDS,
        total_seconds: float | None = None,
        reporter: str = "bobcat",
    ) -> None:
        self._all = [SinkState(sink) for sink in _flat(sinks)]
        self._active = list(self._all)
        self._timeout = timeout_seconds
        total = SINK_TOTAL_SECONDS if total_seconds is None else total_seconds
        self._total = inf if timeout_seconds == inf else total
        self._reporter = reporter
        self._takes_deltas = self._total != inf and any(state.deltas for state in self._all)
        if self._takes_deltas:
            for state in self._all:
                state.queued = state.deltas
        self._dropped: list[SinkState] = []
        self._left_out: list[SinkState] = []
        self.failure: str | None = None
        """The problem of the first required sink that failed."""

    def __bool__(self) -> bool:
        return bool(self._active)

    @property
    def takes_deltas(self) -> bool:
        """True when a sink gets deltas."""
        return self._takes_deltas

    @property
    def takes_results(self) -> bool:
        """True when a sink gets the results of calls."""
        return self._total != inf and any(state.results for state in self._all)

    def put_delta(self, event: AuditEvent) -> None:
        """Queue a delta for the sinks that take deltas."""
        for state in self._active:
            if state.deltas:
                state.delta_room.put(state.queue, event)
                self._start_pump(state)

    @property
    def gaps(self) -> tuple[AuditGap, ...]:
        """The losses of the sinks that lost an event."""
        return tuple(_gap(state) for state in self._all if state.lost)

    def newly_left_out(self) -> list[AuditGap]:
        """The losses of the sinks that were disabled since the last call."""
        left, self._left_out = self._left_out, []
        return [_gap(state) for state in left]

    async def deliver(self, event: AuditEvent) -> None:
        """Deliver `event` to every sink at once, or queue it. Never raises because of a sink."""
        for state in self._dropped:
            if state.takes(event):
                state.count_lost(event, "")
        takers = [state for state in self._active if state.takes(event)]
        if len(takers) == 1:
            await self._one(takers[0], event)
        elif takers:
            await asyncio.gather(*(self._one(state, event) for state in takers))

    async def drain(self) -> None:
        """Wait until every queue is empty. When the calling task is cancelled, the remaining events are lost."""
        pumps = [state.pump for state in self._active if state.pump is not None]
        if pumps:
            try:
                if self._takes_deltas:
                    await asyncio.wait(pumps, timeout=DRAIN_SECONDS)
                    for state in self._active:
                        state.delta_room.clear(state.queue)
                await asyncio.gather(*pumps, return_exceptions=True)
            finally:
                self.abandon()

    def abandon(self) -> None:
        """Drop the queued events."""
        for state in self._active:
            if state.pump is not None:
                state.pump.cancel()
            waiting = [event for event in state.queue if not is_delta(event)]
            if waiting:
                self._failed(state, waiting[0], "the run was ended from outside", len(waiting))
            state.queue.clear()

    async def _one(self, state: SinkState, event: AuditEvent) -> None:
        if state.queued:
            await self._enqueue(state, event)
            return
        await self._deliver_one(state, event)
        # A required sink must receive its events before the next effect.
        state.queued = state.spent >= self._total and not state.required

    async def _enqueue(self, state: SinkState, event: AuditEvent) -> None:
        while _waiting(state) >= SINK_QUEUE_EVENTS and state in self._active:
            state.room.clear()
            await state.room.wait()
        if state not in self._active:
            state.count_lost(event, "")
            return
        state.queue.append(event)
        self._start_pump(state)

    def _start_pump(self, state: SinkState) -> None:
        if state.pump is None or state.pump.done():
            state.pump = asyncio.create_task(self._pump(state))

    async def _pump(self, state: SinkState) -> None:
        """Deliver a sink's queued events, one by one."""
        while state.queue:
            await self._deliver_one(state, state.queue[0])
            if state.queue:  # else the sink was disabled
                state.delta_room.leave(state.queue.popleft())
            state.room.set()

    async def _deliver_one(self, state: SinkState, event: AuditEvent) -> None:
        started = monotonic()
        problem: str | None = None
        taken = False
        try:
            async with asyncio.timeout(None if self._timeout == inf else self._timeout) as clock:
                await state.deliver(event)
            taken = True
        except FAULTS as error:
            raise_if_cancelled(error)
            if not (isinstance(error, TimeoutError) and clock.expired()):
                problem = format_exception(error)
        took = monotonic() - started
        state.spent += took
        if problem is not None:
            state.deltas = state.deltas and not is_delta(event)
            self._failed(state, event, problem, 0 if is_delta(event) else 1)
        if took >= self._timeout:
            self._leave_out(state, event, f"no answer within {self._timeout}s", lost=not taken and problem is None)

    def _leave_out(self, state: SinkState, event: AuditEvent, problem: str, *, lost: bool) -> None:
        if state in self._active:
            self._active.remove(state)
            self._dropped.append(state)
            self._left_out.append(state)
            waiting = sum(1 for each in list(state.queue)[1:] if not is_delta(each))
            state.queue.clear()
            lost = lost and not is_delta(event)
            self._failed(state, event, f"{problem}; it gets no further events", waiting + lost)

    def _failed(self, state: SinkState, event: AuditEvent, problem: str, count: int = 1) -> None:
        if state.required and self.failure is None:
            self.failure = f"required sink {state.name} failed on event {event.kind!r} seq={event.seq}: {problem}"
        state.count_lost(event, problem, count)
        where = f"sink {state.name} failed on event {event.kind!r} seq={event.seq}"
        fields = {"correlation_id": event.correlation_id, "sink": state.name, "kind": event.kind, "seq": event.seq}
        log.warning("%s: %s", where, problem, extra=fields)
        print(f"[{self._reporter}] {safe_text(f'{where}: {problem}')}", file=sys.stderr)


def _waiting(state: SinkState) -> int:
    """Number of waiting events. Deltas have a bound of their own."""
    return sum(1 for each in state.queue if not is_delta(each)) if state.deltas else len(state.queue)


def _gap(state: SinkState) -> AuditGap:
    return AuditGap(state.name, state.lost, state.first, state.reason)


class MultiSink:
    """Several sinks as one. A run delivers to each of `sinks` separately; any other caller, to all of them at once."""

    __slots__ = ("_fanout", "sinks")

    def __init__(self, sinks: tuple[AnySink, ...]) -> None:
        self.sinks = sinks
        self._fanout = Fanout(sinks, total_seconds=inf)

    async def __call__(self, event: AuditEvent) -> None:
        await self._fanout.deliver(event)


def _flat(sinks: Sequence[AnySink]) -> list[AnySink]:
    """The sinks, with every `MultiSink` expanded: each has its own timeout and fails separately."""
    found: list[AnySink] = []
    for sink in sinks:
        found += _flat(sink.sinks) if isinstance(sink, MultiSink) else [sink]
    return found
