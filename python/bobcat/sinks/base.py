"""The sink contract."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from bobcat.model import AuditEvent


@runtime_checkable
class Sink(Protocol):
    """Receives the events of a run, one at a time, in order. What it raises is reported, and the run goes on."""

    async def __call__(self, event: AuditEvent) -> None:
        """Take one event."""
