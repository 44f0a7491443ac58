"""Event loops for synchronous callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """An event loop that callers of other threads wait on: the guard's own, or the one it was opened in."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._thread: threading.Thread | None = None
        if loop is None:
            loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=loop.run_forever, name="bobcat-guard", daemon=True)
            self._thread.start()
        self.loop = loop

    def call(self, work: Coroutine[Any, Any, T]) -> T:  # Any: the types of a coroutine that nothing is sent to
        """Run `work` in the loop and wait for it. An interrupt of the caller cancels it.

        Raises `RuntimeError` in the thread of the loop itself, which would wait for itself.
        """
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self.loop or self.loop.is_closed():
            work.close()
            why = (
                "in its own event loop: await the method without `_sync`"
                if here is self.loop
                else "after its loop ended"
            )
            raise RuntimeError(f"a guard cannot be called synchronously {why}")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the guard's own loop; leave any other alone."""
        if self._thread is None or self.loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _cancel_others() -> None:
    """Cancel the tasks of the loop and wait for them, then for its threads."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
