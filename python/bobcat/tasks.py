"""Cancellation: whose it is, and waits that go on in spite of one.

A `CancelledError` is the caller's word only when the task is being cancelled. Any other was raised by somebody's own
hand: a tool's, a store's, a sink's. Who runs their code asks `being_cancelled` before anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")


def being_cancelled() -> bool:
    """True when this task is being cancelled; False when a `CancelledError` was raised by somebody's own hand."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def settle(work: Awaitable[T]) -> T:
    """Await `work` to its end. A cancellation is raised then: who gets it knows that nothing happens any more.

    For work that ends by itself within a bounded time.
    """
    task = asyncio.ensure_future(work)
    await _see_off(task)
    return task.result()


async def end(task: asyncio.Task[Any]) -> None:  # Any: a task is generic in a result nobody reads here
    """Cancel a task of our own and wait until it is over. Raises what it raised, and a cancellation of the caller.

    `suppress(CancelledError)` around the wait would also swallow the caller's.
    """
    task.cancel()
    await _see_off(task)
    if not task.cancelled():
        task.result()


async def _see_off(task: asyncio.Future[Any]) -> None:  # Any: as above
    """Wait until `task` is over. A cancellation meanwhile is raised then, in place of what became of it."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return
    if not task.cancelled():
        task.exception()  # seen: asyncio would report it as forgotten
    raise cancelled
