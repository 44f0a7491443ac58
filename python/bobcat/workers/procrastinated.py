"""`ProcrastinateDispatcher`: the queue is procrastinate's, on PostgreSQL. For many machines and many runs.

Its jobs say only which run is to be looked at. A run's id is the job's lock, so one job of a run is under way at a
time; jobs of workers that stopped giving signs of life are cleared away, and their runs queued anew. What nobody queued
here, such as a run that an approval on another machine has woken, is found by looking at the store now and then.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status

from bobcat.errors import JobError, StoreError
from bobcat.logs import logger
from bobcat.plain_json import describe
from bobcat.tasks import end
from bobcat.workers.job import MAX_PRIORITY, Job
from bobcat.workers.runner import Runner

log = logger("workers")
QUEUE = "bobcat"
TASK = "bobcat.run"
SWEEP_SECONDS = 1.0

_QUEUED = """SELECT lock FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status IN ('todo', 'doing')
    AND lock IS NOT NULL GROUP BY lock HAVING bool_and(scheduled_at IS NULL OR scheduled_at <= now())"""
"""A job that is to wait yet keeps the others of its run waiting: the run is not about to be looked at."""


class ProcrastinateDispatcher:
    """Dispatches through procrastinate's tables in the database that `url` names, which are made if need be."""

    def __init__(self, url: str, *, sweep_seconds: float = SWEEP_SECONDS) -> None:
        self._sweep_seconds = sweep_seconds
        self._app = App(connector=PsycopgConnector(conninfo=url))
        self._runner: Runner | None = None
        self._open = AsyncExitStack()
        self._is_open = False
        self._app.task(name=TASK, queue=QUEUE)(self._deliver)

    async def open(self) -> None:
        """Connect, and make the tables if they are missing. `enqueue` and `work` do so by themselves.

        Raises `StoreError` (`unavailable`).
        """
        if self._is_open:
            return
        try:
            await self._connect()
        except (ConnectorException, psycopg.Error) as error:
            lines = str(error.__cause__ or error).strip().splitlines()
            told = lines[0] if lines else type(error).__name__
            raise StoreError("unavailable", f"the queue cannot be opened: {told}") from error

    async def _connect(self) -> None:
        await self._open.enter_async_context(self._app.open_async())
        self._is_open = True
        for attempt in range(3):
            if await self._app.check_connection_async():
                return
            try:
                await self._app.schema_manager.apply_schema_async()
            except ConnectorException:  # another worker makes them at this moment
                if attempt == 2:
                    raise
                await asyncio.sleep(1)

    async def aclose(self) -> None:
        """Disconnect."""
        self._is_open = False
        await self._open.aclose()

    async def enqueue(self, job: Job) -> None:
        """Queue a look at a run, at its time. While one for the same time waits there is no second, and one for a later
        time is taken back: it would keep the run's lock until then."""
        await self.open()
        manager = self._app.job_manager
        for waiting in await manager.list_jobs_async(lock=job.run_id, queue=QUEUE, status=Status.TODO.value):
            if waiting.scheduled_at is not None and waiting.scheduled_at > job.run_at and waiting.id is not None:
                await manager.cancel_job_by_id_async(waiting.id, delete_job=True)
        task = self._app.configure_task(
            TASK,
            lock=job.run_id,
            queueing_lock=f"{job.run_id}@{job.run_at.timestamp()}",
            priority=max(-MAX_PRIORITY, min(MAX_PRIORITY, job.priority)),
            schedule_at=job.run_at,
            queue=QUEUE,
        )
        with suppress(AlreadyEnqueued):
            await task.defer_async(run_id=job.run_id)

    async def cancel(self, run_id: str) -> None:
        """Nothing: a look at a cancelled run does nothing."""

    async def work(self, runner: Runner, *, concurrency: int, stop: asyncio.Event, grace_seconds: float) -> None:
        """Run a procrastinate worker, and look at the store now and then, until `stop` is set."""
        self._runner = runner
        await self.open()
        sweeping = asyncio.create_task(self._sweep_for_ever(runner))
        working = asyncio.create_task(
            self._app.run_worker_async(
                queues=[QUEUE],
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
        stopped = asyncio.create_task(stop.wait())
        failed = False
        try:
            await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
            failed = working.done() and not stop.is_set()
        finally:
            sweeping.cancel()
            stopped.cancel()
            try:
                await end(working)  # procrastinate's word for: begin nothing more, and end what runs
            finally:
                await self.aclose()
        if failed:
            raise JobError("stopped", "the procrastinate worker ended by itself")

    async def _deliver(self, run_id: str) -> None:
        if self._runner is None:
            raise JobError("stopped", "this process runs no worker")
        await self._runner.execute(run_id)

    async def _sweep_for_ever(self, runner: Runner) -> None:
        while True:
            try:
                await self.sweep(runner)
            except Exception as error:  # a database that cannot be asked now is asked again
                log.warning("the store cannot be asked: %s", describe(error))
            await asyncio.sleep(self._sweep_seconds)

    async def sweep(self, runner: Runner) -> None:
        """Clear away what workers left that are gone, and queue the runs of the store that nobody has queued."""
        for stalled in await self._app.job_manager.get_stalled_jobs(
            queue=QUEUE, seconds_since_heartbeat=runner.lease_seconds
        ):
            await self._app.job_manager.finish_job(stalled, Status.FAILED, delete_job=True)
        wanted = await runner.sweep()
        queued = await self._queued() if wanted else set()
        for run_id in wanted:
            if run_id in queued:
                continue
            with suppress(JobError):  # a run without a job is its own program's affair
                await self.enqueue(await runner.jobs.get(run_id))

    async def _queued(self) -> set[str]:
        """The runs that a worker is looking at, or is about to. PERF: one query, however many there are."""
        rows = await self._app.connector.execute_query_all_async(_QUEUED, queue=QUEUE)
        return {row["lock"] for row in rows}
