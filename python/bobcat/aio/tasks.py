"""Cancellation: telling the caller's from user code's, and waits that continue in spite of one.

A `CancelledError` comes from the caller only when the task is being cancelled. Any other was raised by user code: a
tool, a store, a sink. Code that calls user code must check `being_cancelled` before anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")

FAULTS = (Exception, SystemExit, asyncio.CancelledError)
"""The exceptions that user code can raise as its own; `raise_if_cancelled` sorts the cancellations out."""


def being_cancelled() -> bool:
    """Return true if this task is being cancelled, false if user code raised the `CancelledError`."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def raise_if_cancelled(error: BaseException) -> None:
    """Raise `error` again when it is the cancellation of this task, and not one that user code raised."""
    if isinstance(error, asyncio.CancelledError) and being_cancelled():
        raise error


async def wait_shielded(work: Awaitable[T]) -> T:
    """Await `work` to its end, then raise a cancellation that arrived meanwhile: the work has ended by then.

    For work that ends by itself within a bounded time.
    """
    task = asyncio.ensure_future(work)
    await _wait_done(task)
    return task.result()


async def cancel_and_wait(task: asyncio.Task[Any]) -> None:  # Any: a task is generic in its result, unused here
    """Cancel an internal task and wait until it is over. Raises its exception, and a cancellation of the caller.

    `suppress(CancelledError)` around the wait would also swallow the caller's cancellation.
    """
    task.cancel()
    await _wait_done(task)
    if not task.cancelled():
        task.result()


async def _wait_done(task: asyncio.Future[Any]) -> None:  # Any: as above
    """Wait until `task` is over.

    A cancellation that arrived meanwhile is raised then, in place of the task's outcome.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return
    if not task.cancelled():
        task.exception()  # retrieved: asyncio would report it as never retrieved
    raise cancelled
