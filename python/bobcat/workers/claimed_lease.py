"""The lease of a claimed run, renewed until the run takes its own: the app's function may take long, or block."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bobcat.stores.heartbeat import lease_thread, renewals_of
from bobcat.stores.protocol import DurableStore, Lease


class ClaimedLease:
    """A `HeldLease`. Its loss is noticed by the run itself, which acquires the run under the same owner."""

    paused = False

    def __init__(self, lease: Lease, seconds: float) -> None:
        self.lease, self.seconds = lease, seconds
        self.loop = asyncio.get_running_loop()
        self.renewed(lease, time.monotonic())

    def renewed(self, lease: Lease, began: float) -> None:
        """Note a renewal that began at this time."""
        self.lease = lease
        self.due, self.end = began + self.seconds / 3, began + self.seconds * 0.9

    def lost(self, reason: str) -> None:
        """Do nothing: the run has acquired its lease, or another worker has the run."""

    def failed(self, problem: str) -> None:
        """Do nothing: the run fails at its own acquisition."""


@contextmanager
def renewed(store: DurableStore, lease: Lease, seconds: float) -> Iterator[None]:
    """Renew a lease inside of the block, where the store has renewals by a thread."""
    renewals = renewals_of(store)
    if renewals is None:
        yield
        return
    held = ClaimedLease(lease, seconds)
    lease_thread().add(held, renewals)
    try:
        yield
    finally:
        lease_thread().remove(held)
