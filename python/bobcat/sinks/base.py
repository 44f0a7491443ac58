"""The sink contract."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from bobcat.model import AuditEvent


@runtime_checkable
class Sink(Protocol):
    """Receives the events of a run, one at a time, in order. What it raises is reported, and the run goes on."""

    def __call__(self, event: AuditEvent, /) -> Awaitable[None]:
        """Take one event."""
