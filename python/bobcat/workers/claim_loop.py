"""The loop of a worker: claim runs while there is room, then sleep until something can have changed.

It sleeps until the store announces a queued run, an engine wakes it, one of its runs ends, or a moment comes at which
a run, an expired approval, a dead worker's lease or a schedule is due; and at most `poll_seconds`, because
announcements can be lost. An idle worker therefore reads a few rows in that time, however many runs the store has.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal, TypeAlias

from bobcat.aio.tasks import cancel_and_wait, wait_shielded
from bobcat.errors import JobError, StoreError
from bobcat.logs import logger
from bobcat.stores.queue import Claim
from bobcat.text.json_text import format_exception
from bobcat.workers.runner import Runner

log = logger("workers")

POLL_SECONDS = 5.0
"""Longest sleep without an announcement."""
SETTLE_SECONDS = 0.005
"""Pause between an announcement and the claim: many runs that are queued at once cost one look."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds until an unavailable store is asked again: doubled from the first to the longest."""

Stopped: TypeAlias = asyncio.Task[Literal[True]]


class ClaimLoop:
    """Executes the runs of one worker. With `until_idle`, it ends when no run is due."""

    def __init__(
        self, runner: Runner, *, concurrency: int, poll_seconds: float = POLL_SECONDS, until_idle: bool = False
    ) -> None:
        self._runner, self._concurrency = runner, concurrency
        self._poll_seconds, self._until_idle = poll_seconds, until_idle
        self._active: set[asyncio.Task[None]] = set()
        self._woken = asyncio.Event()
        self._listening: asyncio.Task[bool] | None = None

    def wake(self) -> None:
        """Look for runs now."""
        self._woken.set()

    async def run(self, *, stop: asyncio.Event, grace_seconds: float) -> None:
        """Execute queued runs until `stop` is set; then let those in progress end within the grace period."""
        async with self._runner.working(stop):
            await self._run(stop, grace_seconds)

    async def _run(self, stop: asyncio.Event, grace_seconds: float) -> None:
        stopped = asyncio.create_task(stop.wait())
        try:
            await self._loop(stop, stopped)
        finally:
            await cancel_and_wait(stopped)
            if self._listening is not None:
                await cancel_and_wait(self._listening)
            await self._drain(grace_seconds if stop.is_set() else 0.0)

    async def _loop(self, stop: asyncio.Event, stopped: Stopped) -> None:
        pause = FIRST_PAUSE
        while not stop.is_set():
            self._woken.clear()
            try:
                is_idle = await self._fill(stop)
                if self._until_idle and is_idle and not self._active:
                    return
                seconds = self._poll_seconds
                if not self._is_full():
                    seconds = await self._runner.seconds_until_due()
                    await self._claim_due(stop)  # what became due between the claim above and the answer to this
            except Exception as error:  # the store is unavailable: retry
                log.warning("the store is unavailable: %s", format_exception(error))
                await self._sleep(stopped, pause, listens=False)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            pause = FIRST_PAUSE
            await self._sleep(stopped, min(seconds, self._poll_seconds), listens=not self._is_full())

    async def _fill(self, stop: asyncio.Event) -> bool:
        """Claim runs until none is due or the worker is full. True when none was due."""
        await self._runner.do_due(wakes_engine=False)  # PERF: a quarter of the time until a scheduled run starts
        return await self._claim_due(stop)

    async def _claim_due(self, stop: asyncio.Event) -> bool:
        while not self._is_full() and not stop.is_set():
            claim = await self._runner.claim()
            if claim is None:
                return True
            task = asyncio.create_task(self._deliver(claim))
            self._active.add(task)
            task.add_done_callback(self._active.discard)
        return False

    def _is_full(self) -> bool:
        return len(self._active) >= self._concurrency

    async def _sleep(self, stopped: Stopped, seconds: float, *, listens: bool) -> None:
        """Wait for some time, or until one of the events of the module's description."""
        waiting: set[asyncio.Task[Any]] = {stopped, *self._active}  # Any: their results are not read here
        wakes = asyncio.create_task(self._woken.wait())
        if listens:
            if self._listening is None:
                self._listening = asyncio.create_task(self._listen())
            waiting.add(self._listening)
        try:
            await asyncio.wait((*waiting, wakes), timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(wakes)
        if self._listening is not None and self._listening.done():
            self._listening = None

    async def _listen(self) -> bool:
        try:
            heard = await self._runner.queue.wait_queued(self._poll_seconds)
        except Exception as error:
            log.warning("the worker cannot hear of queued runs: %s", format_exception(error))
            await asyncio.sleep(self._poll_seconds)
            return False
        if heard:
            await asyncio.sleep(SETTLE_SECONDS)
        return heard

    async def _deliver(self, claim: Claim) -> None:
        run_id = claim.lease.run_id
        try:
            await self._runner.deliver(claim)
        except Exception as error:
            cause = None if isinstance(error, JobError | StoreError) else error  # else it is a defect
            log.error(
                "run %s was not delivered: %s",
                run_id,
                format_exception(error),
                exc_info=cause,
                extra={"run_id": run_id},
            )

    async def _drain(self, grace_seconds: float) -> None:
        """Let runs in progress end, and cancel the rest."""
        if self._active and grace_seconds > 0:
            await asyncio.wait(self._active, timeout=grace_seconds)
        left = list(self._active)
        for task in left:
            task.cancel()
        if left:
            await wait_shielded(asyncio.wait(left))
