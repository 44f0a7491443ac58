"""Sinks made of other things: of nothing, of a function, of several sinks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable

from bobcat.model import AuditEvent
from bobcat.sinks.base import AnySink, Sink, marked
from bobcat.sinks.fanout import MultiSink, runs_on_the_loop
from bobcat.sinks.thread import SinkThread


def noop_sink() -> Sink:
    """Drops every event."""

    async def sink(event: AuditEvent) -> None:
        return None

    return sink


def callback_sink(fn: Callable[[AuditEvent], Awaitable[None] | None], *, required: bool = False) -> Sink:
    """Calls `fn` with every event: on the event loop when it is async, else on a thread of its own.

    With `required`, the run stops before the next effect when `fn` raises or takes too long.
    """
    thread = None if runs_on_the_loop(fn) else SinkThread()

    async def sink(event: AuditEvent) -> None:
        pending = fn(event) if thread is None else await thread.run(lambda: fn(event))
        if isawaitable(pending):
            await pending

    sink.__qualname__ = getattr(fn, "__qualname__", None) or repr(fn)  # the name that it is reported by
    return marked(sink, required=required)


def multi_sink(*sinks: AnySink) -> Sink:
    """Hands every event to all of `sinks` at the same time; one that fails is reported, the others go on."""
    return MultiSink(sinks)
