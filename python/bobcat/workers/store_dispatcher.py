"""`StoreDispatcher`: the queue is the store itself, without another engine, for any number of workers."""

from __future__ import annotations

import asyncio

from bobcat.workers.claim_loop import POLL_SECONDS, ClaimLoop
from bobcat.workers.job import Job
from bobcat.workers.runner import Runner


class StoreDispatcher:
    """Dispatches from the store, which announces queued runs. With `until_idle`, `work` ends when no run is due.

    `poll_seconds` is the longest time between two looks at the queue, for announcements that were lost.
    """

    def __init__(self, *, poll_seconds: float = POLL_SECONDS, until_idle: bool = False) -> None:
        self._poll_seconds = poll_seconds
        self._until_idle = until_idle

    async def enqueue(self, job: Job) -> None:
        """Do nothing: the store has the job already."""

    async def cancel(self, run_id: str) -> None:
        """Do nothing: the store has the cancellation already."""

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Execute queued runs until `stop` is set."""
        loop = ClaimLoop(runner, concurrency=concurrency, poll_seconds=self._poll_seconds, until_idle=self._until_idle)
        await loop.run(stop=stop, grace_seconds=grace_seconds)
