"""`ProcrastinateDispatcher`: the queue is procrastinate's, on PostgreSQL. For many machines and many runs.

Its jobs only name the run to execute. A run's id is the job's lock, so one job of a run is in progress at a time; jobs
of workers without a heartbeat are removed, and their runs queued again. Runs that no event queues, such as one resumed
by an approval on another machine, are found by polling the store.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from hashlib import sha256
from typing import Literal

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import JobError, StoreError
from bobcat.logs import logger
from bobcat.text.json_text import format_exception
from bobcat.workers.job import MAX_PRIORITY, Job
from bobcat.workers.runner import Runner

log = logger("workers")

QUEUE = "bobcat"
"""The queue of runs that earlier releases queued, of any kind; other runs are in the queue of their kind."""
TASK = "bobcat.run"
SWEEP_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds until the engine's worker is restarted after a failure: doubled from the first to the longest."""
STOPPING_SECONDS = 5.0
"""Time that the engine may take, beyond the grace period of its runs, to disconnect from its database."""
CANCELLATIONS, CANCELLATION_SECONDS = 10, 1.0
"""Cancellations of an engine's worker that goes on after STOPPING_SECONDS, and the time between them."""
MAX_QUEUE_NAME = 128
"""Maximum length of a queue's name in procrastinate's tables."""

_QUEUED = """SELECT lock FROM procrastinate_jobs WHERE task_name = %(task)s AND status IN ('todo', 'doing')
    AND lock IS NOT NULL GROUP BY lock HAVING bool_and(scheduled_at IS NULL OR scheduled_at <= now())"""
"""A scheduled job delays the other jobs of its run: the run is then not about to be executed."""


def queue_of(kind: str) -> str:
    """The queue of the runs of a kind: a worker receives only kinds that its app has."""
    name = f"{QUEUE}.{kind}"
    return name if len(name) <= MAX_QUEUE_NAME else f"{QUEUE}.={sha256(kind.encode()).hexdigest()}"


class ProcrastinateDispatcher:
    """Dispatches through procrastinate's tables in the database at `url`; they are created if necessary."""

    def __init__(self, url: str, *, sweep_seconds: float = SWEEP_SECONDS) -> None:
        self._url = url
        self._sweep_seconds = sweep_seconds
        self._runner: Runner | None = None
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
        """Queue a call for a run, at its time.

        A second call for the same time is not queued, and one for a later time is removed: it would hold the run's lock
        until then.
        """
        await self.open()
        manager = self._app.job_manager
        for waiting in await manager.list_jobs_async(lock=job.run_id, task=TASK, status=Status.TODO.value):
            if waiting.scheduled_at is not None and waiting.scheduled_at > job.run_at and waiting.id is not None:
                await manager.cancel_job_by_id_async(waiting.id, delete_job=True)
        task = self._app.configure_task(
            TASK,
            lock=job.run_id,
            queueing_lock=f"{job.run_id}@{job.run_at.timestamp()}",
            priority=max(-MAX_PRIORITY, min(MAX_PRIORITY, job.priority)),
            schedule_at=job.run_at,
            queue=queue_of(job.kind),
        )
        with suppress(AlreadyEnqueued):
            await task.defer_async(run_id=job.run_id)

    async def cancel(self, run_id: str) -> None:
        """Do nothing: executing a cancelled run has no effect."""

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Run a procrastinate worker, and poll the store, until `stop` is set.

        The engine's worker ends when its database becomes unavailable, or at an error of its own: it is then restarted,
        over new connections. Runs in progress continue meanwhile as far as their store permits, and end. Raises only
        the exceptions of the first `open`.
        """
        self._runner = runner
        await self.open()
        sweeping = asyncio.create_task(self._sweep_for_ever(runner))
        stopped = asyncio.create_task(stop.wait())
        pause = FIRST_PAUSE
        try:
            while not stop.is_set():
                began = asyncio.get_running_loop().time()
                problem = await self._work_once(runner, concurrency, stopped, grace_seconds)
                if stop.is_set():
                    break
                if asyncio.get_running_loop().time() - began > LONGEST_PAUSE:
                    pause = FIRST_PAUSE
                log.warning("the procrastinate worker ended (%s) and restarts in %g s", problem, pause)
                await asyncio.wait((stopped,), timeout=pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                await self.aclose()  # its connections are broken too
        finally:
            sweeping.cancel()
            stopped.cancel()
            try:  # a sweep that waits for its database ends shortly after its cancellation
                await wait_shielded(asyncio.wait((sweeping, stopped), timeout=STOPPING_SECONDS))
            finally:
                await self.aclose()

    async def _work_once(
        self, runner: Runner, concurrency: int, stopped: asyncio.Task[Literal[True]], grace_seconds: float
    ) -> str:
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
        except StoreError as error:
            return str(error)
        working = asyncio.create_task(
            app.run_worker_async(
                queues=[QUEUE, *map(queue_of, runner.workers.makers)],
                name=runner.owner,
                concurrency=concurrency,
                install_signal_handlers=False,
                delete_jobs="always",
                fetch_job_polling_interval=1.0,
                shutdown_graceful_timeout=grace_seconds,
                update_heartbeat_interval=runner.lease_seconds / 3,
                stalled_worker_timeout=runner.lease_seconds,
            )
        )
        try:
            await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            # A first cancellation makes procrastinate start nothing more and finish its runs. It also waits for an
            # unavailable database, in several places; each further one ends one of these waits.
            wait = grace_seconds + STOPPING_SECONDS
            for _ in range(CANCELLATIONS):
                working.cancel()
                await wait_shielded(asyncio.wait((working,), timeout=wait))
                if working.done():
                    break
                wait = CANCELLATION_SECONDS
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
        if self._runner is None:
            raise JobError("stopped", "this process runs no worker")
        delivery = await self._runner.execute(run_id)
        if delivery.outcome == "not_mine":  # an earlier release queued it for any worker
            with suppress(JobError):
                job = await self._runner.jobs.get(run_id)
                await self.enqueue(replace(job, run_at=max(job.run_at, await self._runner.store.now())))

    async def _sweep_for_ever(self, runner: Runner) -> None:
        while True:
            try:
                await self.sweep(runner)
            except Exception as error:  # an unavailable database is asked again
                log.warning("the store is unavailable: %s", format_exception(error))
            await asyncio.sleep(self._sweep_seconds)

    async def sweep(self, runner: Runner) -> None:
        """Remove the jobs of dead workers, and queue the due runs of the store that have no job."""
        for stalled in await self._app.job_manager.get_stalled_jobs(
            task_name=TASK, seconds_since_heartbeat=runner.lease_seconds
        ):
            await self._app.job_manager.finish_job(stalled, Status.FAILED, delete_job=True)
        due = await runner.sweep()
        queued = await self._queued() if due else set()
        for run_id in due:
            if run_id in queued:
                continue
            with suppress(JobError):  # a run without a job is left to its own program
                await self.enqueue(await runner.jobs.get(run_id))

    async def _queued(self) -> set[str]:
        """The runs that a worker executes, or is about to. PERF: one query, whatever their number."""
        rows = await self._app.connector.execute_query_all_async(_QUEUED, task=TASK)
        return {row["lock"] for row in rows}
