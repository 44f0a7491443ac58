"""Health of a worker process: alive while its event loop turns and its store was reached, ready while it takes runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bobcat.stores.protocol import DurableStore

TICK_SECONDS = 0.5
CHECK_SECONDS = 2.0
"""Interval between two checks of the store, and the time limit of each."""
LOOP_SECONDS = 30.0
"""Time without a turn of the event loop after which a worker is not alive: a synchronous call blocks it."""
READY_SECONDS = 10.0
"""Time without an answer of the store after which a worker is not ready."""
LOST_SECONDS = 300.0
"""Time without an answer of the store after which a worker is not alive.

It is long, because a restart of the worker does not repair its database.
"""


@dataclass(slots=True)
class Health:
    """What the threads of a worker know about it. Times are those of `clock`."""

    clock: Callable[[], float] = time.monotonic
    started: bool = False
    draining: bool = False
    _turned: float = field(default=0.0, init=False)
    _reached: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._turned = self._reached = self.clock()

    def turned(self) -> None:
        """Note a turn of the event loop."""
        self._turned = self.clock()

    def reached(self) -> None:
        """Note an answer of the store."""
        self._reached = self.clock()

    def is_live(self) -> bool:
        """True while a restart of the process would repair nothing."""
        now = self.clock()
        return now - self._turned <= LOOP_SECONDS and now - self._reached <= LOST_SECONDS

    def is_ready(self) -> bool:
        """True while the worker takes runs."""
        now = self.clock()
        fresh = now - self._turned <= READY_SECONDS and now - self._reached <= READY_SECONDS
        return self.started and not self.draining and fresh

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The facts behind both, for the body of an answer."""
        now = self.clock()
        return {
            "live": self.is_live(),
            "ready": self.is_ready(),
            "started": self.started,
            "draining": self.draining,
            "event_loop_seconds": round(now - self._turned, 3),
            "store_seconds": round(now - self._reached, 3),
        }


async def watch(health: Health, store: DurableStore) -> None:
    """Note turns of the event loop and answers of the store, for ever."""

    async def check() -> None:
        while True:
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await store.run("bobcat.health")  # not `now`, which local stores answer without their storage
                health.reached()
            except Exception:  # not reached: the next check tries again
                pass
            await asyncio.sleep(CHECK_SECONDS)

    checking = asyncio.create_task(check())
    try:
        while True:
            health.turned()
            await asyncio.sleep(TICK_SECONDS)
    finally:
        checking.cancel()
