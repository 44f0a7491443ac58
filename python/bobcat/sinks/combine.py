"""Sinks made of other things: of nothing, of a function, of several sinks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable

from bobcat.model import AuditEvent
from bobcat.sinks.base import Sink
from bobcat.sinks.fanout import Fanout


def noop_sink() -> Sink:
    """Drops every event."""

    async def sink(event: AuditEvent) -> None:
        return None

    return sink


def callback_sink(fn: Callable[[AuditEvent], Awaitable[None] | None]) -> Sink:
    """Calls `fn` with every event, and awaits what it returns when that can be awaited."""

    async def sink(event: AuditEvent) -> None:
        pending = fn(event)
        if isawaitable(pending):
            await pending

    return sink


def multi_sink(*sinks: Sink) -> Sink:
    """Hands every event to all of `sinks` at the same time; one that fails is reported, the others go on."""
    fanout = Fanout(sinks)

    async def sink(event: AuditEvent) -> None:
        await fanout.deliver(event)

    return sink
