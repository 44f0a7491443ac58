"""Simple and combined sinks: none, a function, several sinks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bobcat.model.run import AuditEvent
from bobcat.sinks.base import AnySink, Sink, marked
from bobcat.sinks.fanout import MultiSink, SinkState


def noop_sink() -> Sink:
    """Create a sink that drops every event."""

    async def sink(event: AuditEvent) -> None:
        return None

    return sink


def callback_sink(fn: Callable[[AuditEvent], Awaitable[None] | None], *, required: bool = False) -> Sink:
    """Create a sink that calls `fn` with every event: on the event loop when it is async, else on a separate thread.

    With `required`, the run stops before the next effect when `fn` raises or takes too long.
    """
    state = SinkState(fn)

    async def sink(event: AuditEvent) -> None:
        await state.deliver(event)

    sink.__qualname__ = state.name  # the name in failure reports
    return marked(sink, required=required)


def multi_sink(*sinks: AnySink) -> Sink:
    """Create a sink that passes every event to all of `sinks` at once; if one fails, the others continue."""
    return MultiSink(sinks)
