"""A thread beside the event loop for code that may block: plain functions, and handles other than regular files.

A stuck thread cannot be ended, so it is a daemon: it keeps neither the run nor the process alive.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

IDLE_SECONDS = 5.0
"""Idle time after which the thread ends; the next call starts another one."""

Job = Callable[[], None]


class SinkThread:
    """Runs calls in sequence, off the event loop."""

    __slots__ = ("_jobs", "_lock", "_running")

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._running = False

    async def run(self, call: Callable[[], T]) -> T:
        """Return the result of `call`, or raise its exception. On cancellation, the call continues and its outcome is
        dropped.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def settle(value: Any, error: BaseException | None) -> None:  # Any: a T, or None beside an error
            if done.done():
                return
            if error is None:
                done.set_result(value)
            else:
                done.set_exception(error)

        def job() -> None:
            outcome: tuple[Any, BaseException | None]  # Any: as above
            try:
                outcome = (context.run(call), None)
            except StopIteration as error:  # a future takes any exception but this one
                outcome = (None, RuntimeError(f"StopIteration: {error}"))
            except BaseException as error:
                outcome = (None, error)
            with suppress(RuntimeError):  # the loop is closed: the run is over
                loop.call_soon_threadsafe(settle, *outcome)

        with self._lock:
            self._jobs.put(job)
            if not self._running:
                self._running = True
                threading.Thread(target=self._work, name="bobcat-sink", daemon=True).start()
        return await done

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._running = False
                        return
                continue
            job()
