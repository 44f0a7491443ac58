"""`ProcrastinateDispatcher`: procrastinate, on PostgreSQL, wakes the workers. For many machines and many runs.

Its jobs carry no work: they wake a worker of a kind, whose claims decide which run is next. So there is at most one
job of a kind that waits, whatever the number of runs, and a lost or repeated job costs one look at the queue. The
engine's worker is supervised: it is restarted when its database becomes unavailable, and claims continue meanwhile.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from hashlib import sha256
from typing import Literal

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import StoreError
from bobcat.logs import logger
from bobcat.text.json_text import format_exception
from bobcat.workers.claim_loop import POLL_SECONDS, ClaimLoop
from bobcat.workers.job import Job
from bobcat.workers.runner import Runner

log = logger("workers")

QUEUE = "bobcat"
"""The queue of earlier releases, for runs of any kind; a kind has a queue of its own."""
TASK = "bobcat.run"
FETCH_SECONDS = 5.0
"""Interval between the engine's looks for jobs whose notification was lost."""
HEARTBEAT_SECONDS = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds until the engine's worker is restarted after a failure: doubled from the first to the longest."""
STOPPING_SECONDS = 5.0
"""Time that the engine may take to disconnect from its database."""
CANCELLATIONS, CANCELLATION_SECONDS = 10, 1.0
"""Cancellations of an engine's worker that goes on after STOPPING_SECONDS, and the time between them."""
MAX_QUEUE_NAME = 128
"""Maximum length of a queue's name in procrastinate's tables."""


def queue_of(kind: str) -> str:
    """The queue of the runs of a kind: a worker receives only kinds that its app has."""
    name = f"{QUEUE}.{kind}"
    return name if len(name) <= MAX_QUEUE_NAME else f"{QUEUE}.={sha256(kind.encode()).hexdigest()}"


class ProcrastinateDispatcher:
    """Dispatches through procrastinate's tables in the database at `url`; they are created if necessary.

    `sweep_seconds` is the longest time between two looks at the queue, for announcements that were lost.
    """

    def __init__(self, url: str, *, sweep_seconds: float = POLL_SECONDS) -> None:
        self._url = url
        self._sweep_seconds = sweep_seconds
        self._claiming: ClaimLoop | None = None
        self._opened: App | None = None
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()

    @property
    def _app(self) -> App:
        if self._opened is None:
            raise StoreError("unavailable", "the queue is being opened again")
        return self._opened

    async def open(self) -> None:
        """Connect, and create the tables if they are missing. `enqueue` and `work` do so by themselves.

        Raises `StoreError` (`unavailable`).
        """
        async with self._opening:
            if self._opened is not None:
                return
            try:
                await self._connect()
            except (ConnectorException, psycopg.Error, OSError) as error:
                await self._close()
                lines = str(error.__cause__ or error).strip().splitlines()
                detail = lines[0] if lines else type(error).__name__
                raise StoreError("unavailable", f"the queue cannot be opened: {detail}") from error
            except BaseException:
                await self._close()
                raise

    async def _connect(self) -> None:
        app = App(connector=PsycopgConnector(conninfo=self._url))
        app.task(name=TASK, queue=QUEUE)(self._deliver)
        await self._open.enter_async_context(app.open_async())
        for attempt in range(3):
            if await app.check_connection_async():
                break
            try:
                await app.schema_manager.apply_schema_async()
            except ConnectorException:  # another worker creates them at this moment
                if attempt == 2:
                    raise
                await asyncio.sleep(1)
        self._opened = app

    async def _close(self) -> None:
        self._opened = None
        stack, self._open = self._open, AsyncExitStack()
        with suppress(Exception):  # the connections of an unavailable server
            await stack.aclose()

    async def aclose(self) -> None:
        """Disconnect."""
        async with self._opening:
            await self._close()

    async def enqueue(self, job: Job) -> None:
        """Wake a worker of the run's kind, unless a job that will do so is waiting already."""
        await self.open()
        queue = queue_of(job.kind)
        task = self._app.configure_task(TASK, queueing_lock=queue, queue=queue)
        with suppress(AlreadyEnqueued):
            await task.defer_async(run_id=job.run_id)

    async def cancel(self, run_id: str) -> None:
        """Do nothing: executing a cancelled run has no effect."""

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Claim and execute runs until `stop` is set, and run procrastinate's worker beside.

        The engine's worker ends when its database becomes unavailable, or at an error of its own: it is then restarted,
        over new connections. Raises only the exceptions of the first `open`.
        """
        await self.open()
        self._claiming = ClaimLoop(runner, concurrency=concurrency, poll_seconds=self._sweep_seconds)
        supervising = asyncio.create_task(self._supervise(runner, stop))
        try:
            await self._claiming.run(stop=stop, grace_seconds=grace_seconds)
        finally:
            supervising.cancel()
            try:  # an engine that waits for its database ends shortly after its cancellation
                await wait_shielded(asyncio.wait((supervising,)))
            finally:
                await self.aclose()

    async def _supervise(self, runner: Runner, stop: asyncio.Event) -> None:
        """Run the engine's worker, again whenever it ends."""
        stopped = asyncio.create_task(stop.wait())
        pause = FIRST_PAUSE
        try:
            while not stop.is_set():
                began = asyncio.get_running_loop().time()
                problem = await self._work_once(runner, stopped)
                if stop.is_set():
                    break
                if asyncio.get_running_loop().time() - began > LONGEST_PAUSE:
                    pause = FIRST_PAUSE
                log.warning("the procrastinate worker ended (%s) and restarts in %g s", problem, pause)
                await asyncio.wait((stopped,), timeout=pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                await self.aclose()  # its connections are broken too
        finally:
            stopped.cancel()

    async def _work_once(self, runner: Runner, stopped: asyncio.Task[Literal[True]]) -> str:
        """Run the engine's worker until it must stop, or ends by itself; return the reason."""
        opening = asyncio.create_task(self.open())
        try:
            await asyncio.wait((opening, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not opening.done():  # it must stop, and its database is unavailable
                opening.cancel()
                await wait_shielded(asyncio.wait((opening,), timeout=STOPPING_SECONDS))
        if not opening.done() or opening.cancelled():
            return "it was stopped"
        try:
            opening.result()
            app = self._app
            await self._remove_stalled(app)
        except (ConnectorException, psycopg.Error, OSError) as error:
            return format_exception(error)
        except StoreError as error:
            return str(error)
        working = asyncio.create_task(
            app.run_worker_async(
                queues=[QUEUE, *map(queue_of, runner.workers.makers)],
                name=runner.owner,
                concurrency=1,
                install_signal_handlers=False,
                delete_jobs="always",
                fetch_job_polling_interval=FETCH_SECONDS,
                shutdown_graceful_timeout=STOPPING_SECONDS,
                update_heartbeat_interval=HEARTBEAT_SECONDS,
                stalled_worker_timeout=3 * HEARTBEAT_SECONDS,
            )
        )
        try:
            await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await wait_shielded(_cancel_repeatedly(working))
        if not working.done():
            return "it did not end"
        try:
            working.result()
        except asyncio.CancelledError:
            return "it was stopped"
        except Exception as error:  # any error of the engine, or of its database
            return format_exception(error)
        return "it ended by itself"

    async def _deliver(self, run_id: str) -> None:
        if self._claiming is not None:
            self._claiming.wake()

    async def _remove_stalled(self, app: App) -> None:
        """Remove the jobs that dead workers were given."""
        seconds = 3 * HEARTBEAT_SECONDS
        for stalled in await app.job_manager.get_stalled_jobs(task_name=TASK, seconds_since_heartbeat=seconds):
            await app.job_manager.finish_job(stalled, Status.FAILED, delete_job=True)


async def _cancel_repeatedly(working: asyncio.Task[None]) -> None:
    """Cancel the worker of the engine until it has ended, or `CANCELLATIONS` times.

    A first cancellation makes procrastinate start nothing more. It also waits for an unavailable database, in several
    places; each further one ends one of these waits.
    """
    wait = STOPPING_SECONDS
    for _ in range(CANCELLATIONS):
        working.cancel()
        await asyncio.wait((working,), timeout=wait)
        if working.done():
            return
        wait = CANCELLATION_SECONDS
