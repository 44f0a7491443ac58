"""Waiting for a write to its end, even when the waiting is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def settle(work: Awaitable[T]) -> T:
    """Await `work` to its end. A cancellation is raised then: who gets it knows that nothing happens any more.

    For work that ends by itself within a bounded time.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # seen: asyncio would report it as forgotten
    raise cancelled
