"""The sink contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from bobcat.model.run import AuditEvent


@runtime_checkable
class Sink(Protocol):
    """Receives the events of a run, one at a time, in order.

    Exceptions are reported, and the run continues. A failure of a sink with a true attribute `required` stops further
    execution.
    """

    def __call__(self, event: AuditEvent, /) -> Awaitable[None]:
        """Receive one event."""


AnySink: TypeAlias = Sink | Callable[[AuditEvent], Awaitable[None] | None]
"""Any accepted sink: a plain function works too, and is called on a separate thread."""

S = TypeVar("S", bound=Sink)


def marked(sink: S, *, required: bool) -> S:
    """`sink` with its attribute `required` set."""
    sink.required = required  # type: ignore[attr-defined]  # a function takes any attribute
    return sink
