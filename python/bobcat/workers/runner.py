"""`Runner`: one delivery of one run, on this worker. Whatever engine delivers it, and however often."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from bobcat.approvals import Approvals, durable_approvals
from bobcat.cancel import CancelToken
from bobcat.errors import ApprovalError, JobError
from bobcat.kernel.loop import run_agent
from bobcat.logs import logger, traceback_of
from bobcat.model import RunResult
from bobcat.plain_json import describe
from bobcat.stores.durable import DurableStore, RunSummary
from bobcat.tasks import being_cancelled, end
from bobcat.workers import slots
from bobcat.workers.dispatch import Delivery, Dispatcher
from bobcat.workers.job import KIND, Job, Jobs, job_from_json, say
from bobcat.workers.listing import due, listed
from bobcat.workers.registry import Workers
from bobcat.workers.schedules import queue_due

log = logger("workers")
LEASE_SECONDS = 30.0
"""How long a run whose worker has died waits for another."""
CANCEL_POLL_SECONDS = 0.5
"""How often a worker asks whether a run it is at was cancelled."""
EXPIRY_SECONDS = 10.0
"""How often suspended runs are looked at for approvals that nobody will answer any more."""
FULL_SECONDS = 1.0
"""How long a run waits whose tenant has no place."""

PASSING = ("agent.step raised", "agent.step timed out", "store.", "required sink ")
"""How the errors begin that another attempt may not meet."""


class Runner:
    """Makes the runs of an app, out of the jobs in a store."""

    def __init__(
        self,
        workers: Workers,
        store: DurableStore,
        *,
        dispatcher: Dispatcher | None = None,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self.workers = workers
        self.store = store
        self.dispatcher = dispatcher
        self.jobs = Jobs(store, dispatcher)
        self.lease_seconds = lease_seconds
        self._expiry_due = datetime.min.replace(tzinfo=UTC)
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    async def execute(self, run_id: str) -> Delivery:
        """Make the run go on, if it is its time and nobody else has it. What the run does wrong is in the delivery.

        Raises what the store raises. When the calling task is cancelled, the run is queued again for another worker.
        """
        entry = await self.store.get(KIND, run_id)
        if entry is None:
            return Delivery("unknown")
        job, run, now = job_from_json(entry.body), await self.store.run(run_id), await self.store.now()
        idle = self._idle(job, run, now)
        if idle is not None:
            log.debug("run %s: nothing to do (%s)", run_id, idle.outcome, extra={"run_id": run_id})
            return idle
        if job.cancelled is not None:
            await say(self.store, run_id, "cancelled", error=f"cancelled: {job.cancelled}")
            return Delivery("cancelled")
        limit = self.workers.limit(job.tenant)
        if limit is not None and not await slots.take(self.store, job.tenant, run_id, limit):
            return Delivery("full", now + timedelta(seconds=FULL_SECONDS))
        try:
            return await self._make(job)
        except asyncio.CancelledError:
            await say(self.store, run_id, "queued", **job.detail())
            raise
        finally:
            if limit is not None:
                await slots.give_back(self.store, job.tenant, run_id)

    def _idle(self, job: Job, run: RunSummary | None, now: datetime) -> Delivery | None:
        """Why there is nothing to do, when that can be seen without asking for the run."""
        if run is None:
            return None
        if run.status in ("succeeded", "cancelled", "failed"):
            return Delivery(run.status)
        if run.status == "running" and now < run.updated + timedelta(seconds=self.lease_seconds):
            return Delivery("busy", run.updated + timedelta(seconds=self.lease_seconds))
        if run.status == "queued" and now < job.run_at:
            return Delivery("early", job.run_at)
        return None

    async def _make(self, job: Job) -> Delivery:
        token = CancelToken()
        fields = _fields(job)
        log.info("run %s: %s begins, attempt %d", job.run_id, job.name, job.attempts + 1, extra=fields)
        try:
            arguments = await self.workers.make(job)
            agent, task = arguments.pop("agent"), arguments.pop("task")
            arguments.setdefault("on_approval", durable_approvals(self.store))
            async with self._watching(job, token):
                result = await run_agent(
                    agent,
                    task,
                    store=self.store,
                    run_id=job.run_id,
                    owner=f"{self.owner}:{uuid4().hex[:8]}",
                    lease_seconds=self.lease_seconds,
                    cancel=token,
                    **arguments,
                )
        except JobError as error:
            log.error("run %s: failed: %s", job.run_id, error, extra={**fields, "status": "failed"})
            await say(self.store, job.run_id, "failed", error=str(error))
            return Delivery("failed", error=str(error))
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return await self._failed(job, describe(error), passing=True, trace=traceback_of(error))
        except (Exception, SystemExit) as error:  # the app's own code, or arguments that are no run
            return await self._failed(job, describe(error), passing=True, trace=traceback_of(error))
        log.info("run %s: %s", job.run_id, result.status, extra={**fields, "status": result.status})
        return await self._settle(job, result)

    async def _settle(self, job: Job, result: RunResult) -> Delivery:
        """What follows from how an attempt ended."""
        now = await self.store.now()
        match result.status:
            case "succeeded" | "cancelled":
                return Delivery(result.status, error=result.error)
            case "superseded":
                return Delivery("busy", now + timedelta(seconds=self.lease_seconds), result.error)
            case "suspended":
                if await self._answered(result.approvals):  # while the run was on its way here
                    await say(self.store, job.run_id, "queued", **job.detail())
                    return Delivery("queued", now)
                return Delivery("suspended", error=result.error)
            case "failed":
                error = result.error or "failed"
                return await self._failed(job, error, passing=error.startswith(PASSING), trace=result.traceback)

    async def _failed(self, job: Job, error: str, *, passing: bool, trace: str | None = None) -> Delivery:
        """Try the run again later, or let it have failed; either way, its error and its traceback stay with it."""
        attempts = job.attempts + 1
        kept = {} if trace is None else {"traceback": trace}
        fields = {**_fields(job), "error": error, **kept}
        if not passing or attempts >= self.workers.max_attempts:
            log.error("run %s: failed: %s", job.run_id, error, extra={**fields, "status": "failed"})
            await self.jobs.change(job.run_id, attempts=attempts, error=error)
            await say(self.store, job.run_id, "failed", error=error, attempts=attempts, **kept)
            return Delivery("failed", error=error)
        longest = min(self.workers.backoff_seconds * 2 ** (attempts - 1), self.workers.max_backoff_seconds)
        again = await self.store.now() + timedelta(seconds=longest * random.uniform(0.75, 1.0))
        tried = await self.jobs.change(job.run_id, attempts=attempts, error=error, run_at=again)
        log.warning("run %s: attempt %d failed: %s", job.run_id, attempts, error, extra={**fields, "status": "queued"})
        await say(self.store, job.run_id, "queued", **tried.detail(), error=error, **kept)
        return Delivery("queued", again, error)

    async def _answered(self, approvals: tuple[str, ...]) -> bool:
        """Whether an approval that a run waits for has been decided."""
        desk = Approvals(self.store)
        for id in approvals:
            with suppress(ApprovalError):  # not ours: whoever keeps it wakes the run
                if (await desk.show(id)).status != "pending":
                    return True
        return False

    async def sweep(self) -> list[str]:
        """Find what nobody says by himself; an engine calls this every few seconds. The runs that want a delivery now.

        Queues the runs that a schedule says, and the suspended ones whose approval has expired (answers wake them
        without this). Returns the runs whose time has come, in their order, and those whose worker has died.
        """
        await queue_due(self.store, self.jobs, self.workers.schedules)
        now = await self.store.now()
        if self._expiry_due <= now:
            self._expiry_due = now + timedelta(seconds=EXPIRY_SECONDS)
            for run in await listed(self.store, "suspended"):
                await self._wake(run)
        over = now - timedelta(seconds=self.lease_seconds)
        died = [run.run_id for run in await listed(self.store, "running") if run.updated <= over]
        return [*await self.due(), *died]

    async def due(self) -> list[str]:
        """The queued runs whose time has come, in the order in which to make them."""
        return [run_id for _, _, run_id in await due(self.store, self.jobs, await self.store.now())]

    async def _wake(self, run: RunSummary) -> None:
        ids: Any = run.detail.get("approvals", ())  # Any: JSON that somebody else may have written
        if await self._answered(tuple(map(str, ids))):
            with suppress(JobError):  # a run that was never queued is resumed by whoever began it
                job = await self.jobs.get(run.run_id)
                await say(self.store, run.run_id, "queued", **job.detail())

    @asynccontextmanager
    async def _watching(self, job: Job, token: CancelToken) -> AsyncIterator[None]:
        """Throw the run's switch when its job is cancelled meanwhile."""

        async def watch() -> None:
            while True:
                await asyncio.sleep(CANCEL_POLL_SECONDS)
                with suppress(Exception):  # a store that cannot be asked now is asked again
                    cancelled = (await self.jobs.get(job.run_id)).cancelled
                    if cancelled is not None:
                        token.cancel(cancelled)

        task = asyncio.create_task(watch())
        try:
            yield
        finally:
            await end(task)


def _fields(job: Job) -> dict[str, Any]:  # Any: attributes of a log record
    return {"run_id": job.run_id, "job": job.name, "tenant": job.tenant, "attempt": job.attempts + 1}
