"""The audit events of a policy that follows a source: `policy.reloaded` and `policy.reload_refused`."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from bobcat.distribution.release import Release
from bobcat.distribution.status import Problem
from bobcat.model.frozen import deep_freeze
from bobcat.model.run import AuditEvent
from bobcat.sinks import AnySink
from bobcat.sinks.fanout import Fanout


class Announcements:
    """Sends the events of one source to sinks, each in a thread with an event loop of its own.

    An event waits until `deliver`, which the owner calls without its lock: a sink may call the owner again.
    """

    def __init__(self, sinks: Sequence[AnySink], source: str) -> None:
        self._sinks, self._source = tuple(sinks), source
        self._id, self._seq = f"policy-{uuid4().hex}", 0
        self._waiting: deque[AuditEvent] = deque()

    def reloaded(self, new: Release, before: Release) -> None:
        """Another release is in force."""
        body = {"source": self._source, "epoch": new.epoch, "before": before.digest, "epoch_before": before.epoch}
        self._add("policy.reloaded", new, body)

    def refused(self, in_force: Release, problem: Problem) -> None:
        """A bundle was refused."""
        body = {"source": self._source, "epoch": in_force.epoch, "code": problem.code, "reason": problem.text}
        self._add("policy.reload_refused", in_force, body)

    def deliver(self) -> None:
        """Send the events that wait, and return when the sinks have them."""
        while self._waiting:
            try:
                event = self._waiting.popleft()
            except IndexError:  # another thread was faster
                return
            # The calling thread may have a running loop, which must not be entered again.
            thread = threading.Thread(target=asyncio.run, args=[self._deliver(event)], name="bobcat-policy-events")
            thread.start()
            thread.join()

    def _add(self, kind: str, in_force: Release, body: dict[str, Any]) -> None:  # Any: JSON
        if self._sinks:
            self._waiting.append(
                AuditEvent(self._id, in_force.digest, self._seq, kind, datetime.now(UTC), deep_freeze(body))
            )
            self._seq += 1

    async def _deliver(self, event: AuditEvent) -> None:
        sinks = Fanout(self._sinks)
        await sinks.deliver(event)
        await sinks.drain()
