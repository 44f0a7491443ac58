"""`StoreDispatcher`: the queue is the store itself. No server, no other process; as many workers as you like.

It reads the store's list of queued runs every `poll_seconds`, so it is made for one machine and some thousands of
waiting runs; with a PostgreSQL server and more than that, take `ProcrastinateDispatcher`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import datetime
from typing import Literal

from bobcat.errors import JobError, StoreError
from bobcat.logs import logger
from bobcat.plain_json import describe
from bobcat.tasks import settle
from bobcat.workers.job import Job
from bobcat.workers.runner import Runner

log = logger("workers")
SWEEP_SECONDS = 2.0
"""How often more is looked for than queued runs: see `Runner.sweep`."""
NOTHING_DONE = ("full", "busy", "not_mine", "damaged")
"""The outcomes of a delivery after which a run is looked at again later, and not at once."""
LONGEST_PAUSE = 60.0
"""The longest time after which such a run is looked at again."""
FRESH_SECONDS = 1.0
"""How long a list of queued runs is good for: then a run of higher priority gets its turn."""

Stopped = asyncio.Task[Literal[True]]


class StoreDispatcher:
    """Dispatches out of the store. `until_idle` ends `work` when nothing is left to do now."""

    def __init__(self, *, poll_seconds: float = 0.25, until_idle: bool = False) -> None:
        self._poll_seconds = poll_seconds
        self._until_idle = until_idle
        self._active: dict[str, asyncio.Task[None]] = {}
        self._later: dict[str, float] = {}

    async def enqueue(self, job: Job) -> None:
        """Nothing: the store says so already."""

    async def cancel(self, run_id: str) -> None:
        """Nothing: the store says so already."""

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Make queued runs until `stop` is set."""
        try:
            await self._loop(runner, concurrency, stop)
        finally:
            await self._drain(grace_seconds if stop.is_set() else 0.0)

    async def _loop(self, runner: Runner, concurrency: int, stop: asyncio.Event) -> None:
        clock = asyncio.get_running_loop().time
        stopped = asyncio.create_task(stop.wait())
        try:
            await self._until(runner, concurrency, stop, stopped, clock)
        finally:
            stopped.cancel()

    async def _until(
        self, runner: Runner, concurrency: int, stop: asyncio.Event, stopped: Stopped, clock: Callable[[], float]
    ) -> None:
        swept = -math.inf
        while not stop.is_set():
            try:
                sweeps = clock() - swept >= SWEEP_SECONDS
                ready = self._ready(await (runner.sweep() if sweeps else runner.due()))
                swept = clock() if sweeps else swept
            except Exception as error:  # the store cannot be reached: it will be
                log.warning("the store cannot be asked: %s", describe(error))
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
        """Wait for some time, or for less when a run ends or the worker is stopped."""
        await asyncio.wait((*self._active.values(), stopped), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    def _begin(self, runner: Runner, run_id: str) -> None:
        task = asyncio.create_task(self._deliver(runner, run_id))
        self._active[run_id] = task
        task.add_done_callback(lambda _: self._active.pop(run_id, None))

    async def _deliver(self, runner: Runner, run_id: str) -> None:
        try:
            delivery = await runner.execute(run_id)
        except Exception as error:
            cause = None if isinstance(error, JobError | StoreError) else error  # else it is a mistake of ours
            log.error("run %s was not delivered: %s", run_id, describe(error), exc_info=cause, extra={"run_id": run_id})
            self._leave(run_id, 1.0)
            return
        if delivery.again is not None and delivery.outcome in NOTHING_DONE:
            self._leave(run_id, (delivery.again - await _now(runner)).total_seconds())

    def _leave(self, run_id: str, seconds: float) -> None:
        """Look at a run again after some time: of the event loop's clock, for the store's date may jump."""
        self._later[run_id] = asyncio.get_running_loop().time() + min(seconds, LONGEST_PAUSE)

    def _ready(self, found: list[str]) -> list[str]:
        """Those of the runs that found a worker neither here nor a moment ago."""
        now = asyncio.get_running_loop().time()
        self._later = {run_id: at for run_id, at in self._later.items() if at > now}
        return [run_id for run_id in found if run_id not in self._active and run_id not in self._later]

    async def _drain(self, grace_seconds: float) -> None:
        """Let what runs end, and cancel what does not."""
        if self._active and grace_seconds > 0:
            await asyncio.wait(self._active.values(), timeout=grace_seconds)
        left = list(self._active.values())
        for task in left:
            task.cancel()
        if left:
            await settle(asyncio.wait(left))


async def _now(runner: Runner) -> datetime:
    try:
        return await runner.store.now()
    except Exception:
        return datetime.now().astimezone()
