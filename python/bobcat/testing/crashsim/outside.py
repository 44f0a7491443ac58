"""The world outside of the simulation: a real event loop on a thread of its own, where real stores live.

What is done here takes no simulated time and is one step of the worker that asks for it: as seen from the simulation,
a call of such a store happens whole, or not at all.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class Outside:
    """The thread starts with the first call and ends with `close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, make: Callable[[], Awaitable[T]]) -> T:
        """Await what `make` returns, over there, while everything here stands still."""
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=loop.run_forever, name="bobcat crashsim", daemon=True)
            self._thread.start()

        async def go() -> T:
            return await make()

        return asyncio.run_coroutine_threadsafe(go(), loop).result()

    def close(self) -> None:
        """End the thread."""
        loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
