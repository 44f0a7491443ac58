"""The sink contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from bobcat.model import AuditEvent


@runtime_checkable
class Sink(Protocol):
    """Receives the events of a run, one at a time, in order. What it raises is reported, and the run goes on.

    A sink with an attribute `required` that is True is different: when it fails, nothing further is executed.
    """

    def __call__(self, event: AuditEvent, /) -> Awaitable[None]:
        """Take one event."""


AnySink: TypeAlias = Sink | Callable[[AuditEvent], Awaitable[None] | None]
"""What a run takes for a sink: a plain function is one too, and is called on a thread of its own."""

S = TypeVar("S", bound=Sink)


def marked(sink: S, *, required: bool) -> S:
    """`sink`, which says of itself whether the run can do without it."""
    sink.required = required  # type: ignore[attr-defined]  # a function takes any attribute
    return sink
