"""`StoreDispatcher`: the queue is the store itself, without a server or another process, for any number of workers.

It polls the store's list of queued runs every `poll_seconds`, which suits one machine and some thousands of waiting
runs; with a PostgreSQL server and more runs, use `ProcrastinateDispatcher`.
"""

from __future__ import annotations

import asyncio
import math
from datetime import datetime
from typing import Literal

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import JobError, StoreError
from bobcat.logs import logger
from bobcat.text.json_text import format_exception
from bobcat.workers.job import Job
from bobcat.workers.runner import Runner

log = logger("workers")
SWEEP_SECONDS = 2.0
"""Interval between calls of `Runner.sweep`."""
NOTHING_DONE = ("full", "busy", "not_mine", "damaged")
"""The outcomes of a delivery after which a run is retried later, not at once."""
LONGEST_PAUSE = 60.0
"""The longest delay of such a retry."""
FRESH_SECONDS = 1.0
"""Maximum age of a list of queued runs, after which a run of higher priority gets its turn."""

Stopped = asyncio.Task[Literal[True]]


class StoreDispatcher:
    """Dispatches from the store. With `until_idle`, `work` ends when no run is due."""

    def __init__(self, *, poll_seconds: float = 0.25, until_idle: bool = False) -> None:
        self._poll_seconds = poll_seconds
        self._until_idle = until_idle
        self._active: dict[str, asyncio.Task[None]] = {}
        self._later: dict[str, float] = {}

    async def enqueue(self, job: Job) -> None:
        """Do nothing: the store has the job already."""

    async def cancel(self, run_id: str) -> None:
        """Do nothing: the store has the cancellation already."""

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Execute queued runs until `stop` is set."""
        stopped = asyncio.create_task(stop.wait())
        try:
            await self._loop(runner, concurrency, stop, stopped)
        finally:
            stopped.cancel()
            await self._drain(grace_seconds if stop.is_set() else 0.0)

    async def _loop(self, runner: Runner, concurrency: int, stop: asyncio.Event, stopped: Stopped) -> None:
        clock = asyncio.get_running_loop().time
        last_sweep = -math.inf
        while not stop.is_set():
            try:
                sweeps = clock() - last_sweep >= SWEEP_SECONDS
                ready = self._ready(await (runner.sweep() if sweeps else runner.due()))
                last_sweep = clock() if sweeps else last_sweep
            except Exception as error:  # the store is unavailable: retry
                log.warning("the store is unavailable: %s", format_exception(error))
                await self._pause(stopped, 1.0)
                continue
            read = clock()
            while ready and not stop.is_set() and clock() - read < FRESH_SECONDS:
                if len(self._active) < concurrency:
                    self._begin(runner, ready.pop(0))
                else:
                    await asyncio.wait((*self._active.values(), stopped), return_when=asyncio.FIRST_COMPLETED)
            if self._until_idle and not self._active and not ready:
                return
            if not ready:
                await self._pause(stopped, self._poll_seconds)

    async def _pause(self, stopped: Stopped, seconds: float) -> None:
        """Wait for some time, or less when a run ends or the worker is stopped."""
        await asyncio.wait((*self._active.values(), stopped), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    def _begin(self, runner: Runner, run_id: str) -> None:
        task = asyncio.create_task(self._deliver(runner, run_id))
        self._active[run_id] = task
        task.add_done_callback(lambda _: self._active.pop(run_id, None))

    async def _deliver(self, runner: Runner, run_id: str) -> None:
        try:
            delivery = await runner.execute(run_id)
        except Exception as error:
            cause = None if isinstance(error, JobError | StoreError) else error  # else it is a defect
            log.error(
                "run %s was not delivered: %s",
                run_id,
                format_exception(error),
                exc_info=cause,
                extra={"run_id": run_id},
            )
            self._leave(run_id, 1.0)
            return
        if delivery.again is not None and delivery.outcome in NOTHING_DONE:
            self._leave(run_id, (delivery.again - await _now(runner)).total_seconds())

    def _leave(self, run_id: str, seconds: float) -> None:
        """Delay the retry of a run, by the event loop's clock, because the store's date may jump."""
        self._later[run_id] = asyncio.get_running_loop().time() + min(seconds, LONGEST_PAUSE)

    def _ready(self, found: list[str]) -> list[str]:
        """The runs that are neither executing here nor were delivered a moment ago."""
        now = asyncio.get_running_loop().time()
        self._later = {run_id: at for run_id, at in self._later.items() if at > now}
        return [run_id for run_id in found if run_id not in self._active and run_id not in self._later]

    async def _drain(self, grace_seconds: float) -> None:
        """Let runs in progress end, and cancel the rest."""
        if self._active and grace_seconds > 0:
            await asyncio.wait(self._active.values(), timeout=grace_seconds)
        left = list(self._active.values())
        for task in left:
            task.cancel()
        if left:
            await wait_shielded(asyncio.wait(left))


async def _now(runner: Runner) -> datetime:
    try:
        return await runner.store.now()
    except Exception:
        return datetime.now().astimezone()
