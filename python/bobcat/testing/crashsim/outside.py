"""The outside world of the simulation: a real event loop in a separate thread, for real stores.

A call takes no simulated time and is one step of the calling worker: in the simulation,
a call of such a store is atomic.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class Outside:
    """A thread with an event loop; it starts with the first call and ends with `close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, make: Callable[[], Awaitable[T]]) -> T:
        """Await the result of `make` in the thread while the simulation waits."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=loop.run_forever, name="bobcat crashsim", daemon=True)
            self._thread.start()

        async def go() -> T:
            return await make()

        return asyncio.run_coroutine_threadsafe(go(), loop).result()

    def close(self) -> None:
        """Stop the thread."""
        loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
