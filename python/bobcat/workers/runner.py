"""`Runner`: execution of one delivery of one run on this worker, for any engine and any number of deliveries."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from logging import ERROR, INFO
from time import monotonic
from typing import Any
from uuid import uuid4

from bobcat.aio.cancel import CancelToken
from bobcat.aio.tasks import FAULTS, cancel_and_wait, raise_if_cancelled
from bobcat.approvals import durable_approvals
from bobcat.errors import JobError
from bobcat.logs import logger, traceback_of
from bobcat.model.run import RunErrorCode, RunResult
from bobcat.runtime.loop import run_agent
from bobcat.stores.protocol import (
    DurableStore,
    LeaseLost,
    RunBusy,
    RunStatus,
    RunSummary,
    StatusConflict,
    VersionConflict,
)
from bobcat.text.json_text import format_exception
from bobcat.workers import tenant_slots
from bobcat.workers.activity import Activity
from bobcat.workers.dispatch import Delivery, RunQueue
from bobcat.workers.job import KIND, Job, job_from_json, journal_detail, set_run_status
from bobcat.workers.jobs import Jobs
from bobcat.workers.queries import answered, due_runs, list_runs
from bobcat.workers.registry import Attempt, Workers
from bobcat.workers.schedules import queue_due

log = logger("workers")

LEASE_SECONDS = 30.0
"""Lease duration: time until another worker takes over the run of a dead one."""
CANCEL_POLL_SECONDS = 0.5
"""Interval between a worker's checks whether its run was cancelled."""
EXPIRY_SECONDS = 10.0
"""Interval between checks of suspended runs for expired approvals."""
ENDING_SECONDS = 10.0
"""Time limit for a worker to record the end of a run without a holder."""
THREAD_SECONDS = 2.0
"""Delay of a turn whose thread has another turn in progress."""
FULL_SECONDS = 1.0
"""Delay of a run whose tenant is at its limit."""

RUNNING: tuple[RunStatus, ...] = ("running",)
SUSPENDED: tuple[RunStatus, ...] = ("suspended",)
FAILED: tuple[RunStatus, ...] = ("failed",)
PASSING: frozenset[RunErrorCode | None] = frozenset(
    ("agent_failed", "agent_timed_out", "reply_cut_off", "store_failed", "sink_failed")
)
"""Codes of transient errors, which a retry may avoid."""


class Runner:
    """Executes the runs of an app from the jobs in a store."""

    def __init__(
        self,
        workers: Workers,
        store: DurableStore,
        *,
        dispatcher: RunQueue | None = None,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self.workers = workers
        self.store = store
        self.dispatcher = dispatcher
        self.jobs = Jobs(store, dispatcher)
        self.lease_seconds = lease_seconds
        self.activity = Activity()
        self._left: set[str] = set()
        """The kinds of runs, and the runs, already logged as left to other workers."""
        self._expiry_due = datetime.min.replace(tzinfo=UTC)
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    async def execute(self, run_id: str) -> Delivery:
        """Continue a run, if its time has come and no other worker holds it. Failures of the run are in the delivery.

        The attempt is counted before any part of it runs, so that one whose process dies counts too. Raises the store's
        exceptions. When the calling task is cancelled, the run is queued again for another worker.
        """
        entry = await self.store.get(KIND, run_id)
        if entry is None:
            return Delivery("unknown")
        run, now = await self.store.run(run_id), await self.store.now()
        try:
            job = job_from_json(entry.body)
        except JobError as error:  # another release may read it
            if run_id not in self._left:
                self._left.add(run_id)
                log.warning("run %s was not delivered: %s", run_id, format_exception(error), extra={"run_id": run_id})
            return Delivery("damaged", now + timedelta(seconds=self.lease_seconds), str(error))
        idle = self._idle(job, run, now)
        if idle is not None:
            log.debug("run %s: nothing to do (%s)", run_id, idle.outcome, extra={"run_id": run_id})
            return idle
        if job.cancelled is not None:
            return await self._end(job, "cancelled", f"cancelled: {job.cancelled}")
        if job.kind not in self.workers.makers:
            return self._leave(job, now)
        if job.attempts >= self.workers.max_attempts:
            return await self._end(job, "failed", await self._exhausted(job))
        limit = self.workers.limit(job.tenant)
        if limit is not None and not await tenant_slots.acquire(self.store, job.tenant, run_id, limit):
            return Delivery("full", now + timedelta(seconds=FULL_SECONDS))
        delivery: Delivery | None = None
        try:
            claimed = await self._claim(job, entry.version, run)
            delivery = claimed if isinstance(claimed, Delivery) else await self._make(claimed)
            if not delivery.begun and run is not None and run.status != "running":
                with suppress(StatusConflict):  # it was leased at this moment, and is unchanged
                    await set_run_status(self.store, run_id, run.status, expected=RUNNING, **job.detail())
            return delivery
        except asyncio.CancelledError:
            # A run that ended at this moment keeps its status; where the store is unavailable, the lease expires.
            with suppress(Exception):
                async with asyncio.timeout(ENDING_SECONDS):
                    await self._uncount(job)
                    await set_run_status(self.store, run_id, "queued", expected=RUNNING, **job.detail())
            raise
        finally:
            if limit is not None and (delivery is None or delivery.outcome != "busy"):  # else another worker holds it
                await tenant_slots.release(self.store, job.tenant, run_id)

    def _idle(self, job: Job, run: RunSummary | None, now: datetime) -> Delivery | None:
        """The delivery when there is nothing to do, as far as visible without acquiring the run."""
        if run is None:
            return None
        if run.status in ("succeeded", "cancelled", "failed"):
            return Delivery(run.status)
        if run.status == "running" and self._is_alive(run, now):
            return Delivery("busy", now + timedelta(seconds=self.lease_seconds))
        if run.status == "queued" and now < job.run_at:
            return Delivery("early", job.run_at)
        if run.held:  # the process that suspended or queued it releases it at this moment
            return Delivery("busy", now + timedelta(seconds=FULL_SECONDS))
        return None

    def _is_alive(self, run: RunSummary, now: datetime) -> bool:
        """Return true while a worker executes a running run, or may be about to lease it. Robust against date jumps."""
        return bool(run.held) or timedelta(0) <= now - run.updated < timedelta(seconds=self.lease_seconds)

    def _leave(self, job: Job, now: datetime) -> Delivery:
        """Leave a run to the workers whose app has it."""
        if job.kind not in self._left:
            self._left.add(job.kind)
            log.warning("run %s is left to another worker: %s", job.run_id, self.workers.missing_kind(job.kind))
        return Delivery("not_mine", now + timedelta(seconds=self.lease_seconds), self.workers.missing_kind(job.kind))

    async def _claim(self, job: Job, version: int, run: RunSummary | None) -> Job | Delivery:
        """Take the run and count the attempt, both recorded; the present job, or the reason why another worker has it.

        Of any number of workers one changes the status, or else one changes the job. An earlier `cancel` takes effect
        here; a later one reaches the run through its switch.
        """
        busy = Delivery("busy", await self.store.now() + timedelta(seconds=FULL_SECONDS))
        try:
            expected = () if run is None else (run.status,)
            await set_run_status(self.store, job.run_id, "running", expected=expected, **job.detail())
        except StatusConflict:
            return busy
        while True:
            claimed = replace(job, attempts=job.attempts + 1)
            try:
                await self.store.put(KIND, job.run_id, claimed.to_json(), expected=version)
                return claimed
            except VersionConflict:
                entry = await self.store.get(KIND, job.run_id)
            if entry is None:
                return Delivery("unknown")
            known, version = job_from_json(entry.body), entry.version
            if known.cancelled is not None:
                return await self._end(known, "cancelled", f"cancelled: {known.cancelled}")
            if known.attempts > job.attempts:
                return busy
            job = known

    async def _end(self, job: Job, status: RunStatus, error: str) -> Delivery:
        """End a run without a holder, under its lease: a worker that was only suspended takes no further action."""
        seconds = timedelta(seconds=self.lease_seconds)
        try:
            lease = await self.store.acquire(job.run_id, owner=self.owner, seconds=ENDING_SECONDS)
        except RunBusy as busy:
            return Delivery("busy", await self.store.now() + seconds, str(busy))
        try:
            run = await self.store.run(job.run_id)
            if run is not None and run.status in ("succeeded", "cancelled", "failed"):
                return Delivery(run.status)
            detail = {**journal_detail(run), "error": error, "attempts": job.attempts}
            await self.store.set_status(job.run_id, status, detail=detail, lease=lease)
        except LeaseLost as lost:
            return Delivery("busy", await self.store.now() + seconds, str(lost))
        finally:
            await self.store.release(lease)
        log.log(ERROR if status == "failed" else INFO, "run %s: %s: %s", job.run_id, status, error, extra=_fields(job))
        return Delivery(status, error=error)

    async def _exhausted(self, job: Job) -> str:
        """Record that a run has used up its attempts; return the reason."""
        last = f"; the last error: {job.error}" if job.error else ""
        error = f"attempts exhausted ({job.attempts} of {self.workers.max_attempts}): the last worker died{last}"
        await self.jobs.change(job.run_id, error=error)
        return error

    async def _uncount(self, job: Job) -> None:
        """Uncount an attempt that neither failed nor died."""
        with suppress(JobError):  # the job was deleted: there is nothing to count
            await self.jobs.update(job.run_id, lambda known: replace(known, attempts=max(0, known.attempts - 1)))

    async def _make(self, job: Job) -> Delivery:
        """Execute an attempt, and count it."""
        began = monotonic()
        with self.activity.running(job.run_id):
            delivery = await self._attempt(job)
        self.activity.count_attempt(job.kind, delivery.outcome, monotonic() - began)
        if delivery.outcome == "busy" and delivery.begun:
            self.activity.count_lease_loss()
        return delivery

    async def _attempt(self, job: Job) -> Delivery:
        token = CancelToken()
        fields = _fields(job)
        log.info("run %s: %s begins, attempt %d", job.run_id, job.name, job.attempts, extra=fields)
        try:
            arguments = await self.workers.make(job)
            attempt = Attempt(self.store, job, arguments, f"{self.owner}:{uuid4().hex[:8]}", self.lease_seconds, token)
            arguments.setdefault("on_approval", durable_approvals(self.store))
            if job.tenant:
                arguments.setdefault("tenant", job.tenant)
            await self.workers.check(attempt)
            if job.thread:
                async with self._watching(job, token):
                    result = await self.workers.run_turn(attempt)
                return await self._settle(job, result)
            agent, task = arguments.pop("agent"), arguments.pop("task")
            async with self._watching(job, token):
                result = await run_agent(
                    agent,
                    task,
                    store=self.store,
                    run_id=job.run_id,
                    owner=attempt.owner,
                    lease_seconds=self.lease_seconds,
                    cancel=token,
                    **arguments,
                )
        except JobError as error:
            return await self._failed(job, str(error), passing=False)
        except FAULTS as error:  # the app's own code, or invalid arguments
            raise_if_cancelled(error)
            return await self._failed(job, format_exception(error), passing=True, trace=traceback_of(error))
        log.info("run %s: %s", job.run_id, result.outcome, extra={**fields, "status": result.outcome})
        return await self._settle(job, result)

    async def _settle(self, job: Job, result: RunResult) -> Delivery:
        """The delivery for the outcome of an attempt."""
        now = await self.store.now()
        match result.outcome:
            case "succeeded" | "cancelled":
                await self._uncount(job)
                return Delivery(result.outcome, error=result.error)
            case "superseded":
                begun = result.code != "busy"
                if not begun:
                    await self._uncount(job)
                seconds = THREAD_SECONDS if job.thread else self.lease_seconds
                return Delivery("busy", now + timedelta(seconds=seconds), result.error, begun=begun)
            case "suspended":
                await self._uncount(job)
                if await answered(self.store, result.approvals):  # between the run's end and this line
                    with suppress(StatusConflict):  # another process has resumed it
                        await set_run_status(self.store, job.run_id, "queued", expected=SUSPENDED, **job.detail())
                    return Delivery("queued", now)
                return Delivery("suspended", error=result.error)
            case "failed":
                error = result.error or "failed"
                return await self._failed(job, error, passing=result.code in PASSING, trace=result.traceback)

    async def _failed(self, job: Job, error: str, *, passing: bool, trace: str | None = None) -> Delivery:
        """Retry the run later, or let it fail; either way, record its error and its traceback."""
        again: datetime | None = None
        if passing and job.attempts < self.workers.max_attempts:
            longest = min(self.workers.backoff_seconds * 2 ** (job.attempts - 1), self.workers.max_backoff_seconds)
            again = await self.store.now() + timedelta(seconds=longest * random.uniform(0.75, 1.0))
        changes = {} if again is None else {"run_at": again}
        tried = await self.jobs.change(job.run_id, error=error, **changes)
        status: RunStatus = "failed" if again is None else "queued"
        detail: dict[str, Any] = {"attempts": tried.attempts} if again is None else tried.detail()
        if trace is not None:
            detail["traceback"] = trace
        fields = {**_fields(job), "error": error, "status": status, **({} if trace is None else {"traceback": trace})}
        if again is None:
            log.error("run %s: failed: %s", job.run_id, error, extra=fields)
        else:
            log.warning("run %s: attempt %d failed: %s", job.run_id, job.attempts, error, extra=fields)
        try:
            await set_run_status(self.store, job.run_id, status, expected=(*RUNNING, *FAILED), error=error, **detail)
        except StatusConflict as conflict:  # it was cancelled, or resumed, at this moment
            return Delivery(conflict.status, error=error)
        return Delivery(status, again, error)

    async def sweep(self) -> list[str]:
        """Poll for work that no event announces: due schedules, expired approvals, dead workers.

        An engine calls this every few seconds. Queues the runs of due schedules, and the suspended ones whose approval
        has expired (answers resume runs without this). Returns the runs whose time has come, in their order, and those
        whose worker has died.
        """
        await queue_due(self.store, self.jobs, self.workers.schedules)
        if self.workers.triggers is not None:
            await self.workers.triggers.queue_due(self.store, self.jobs)
        now = await self.store.now()
        if not now < self._expiry_due <= now + timedelta(seconds=EXPIRY_SECONDS):  # also after the date was set back
            self._expiry_due = now + timedelta(seconds=EXPIRY_SECONDS)
            for run in await list_runs(self.store, "suspended"):
                try:
                    await self._wake(run)
                except Exception as error:  # an unreadable one does not block the others
                    log.warning("the suspended run %s cannot be checked: %s", run.run_id, format_exception(error))
        running = await list_runs(self.store, "running")
        died = [run.run_id for run in running if not self._is_alive(run, now) and await self._supports(run.run_id)]
        return [*await self.due(), *died]

    async def _supports(self, run_id: str) -> bool:
        """Return true for a run that this app has, or that only has to be ended."""
        try:
            job = await self.jobs.get(run_id)
        except JobError:  # left to its own program, or damaged
            return False
        return job.cancelled is not None or job.kind in self.workers.makers

    async def due(self) -> list[str]:
        """The queued runs whose time has come, in the order of execution."""
        found = await due_runs(self.store, self.jobs, await self.store.now(), self.workers.makers)
        return [run_id for _, _, run_id in found]

    async def _wake(self, run: RunSummary) -> None:
        ids: Any = run.detail.get("approvals", ())  # Any: JSON that another program may have written
        if await answered(self.store, map(str, ids)):
            with suppress(JobError):  # a run that was never queued is resumed by its own program
                job = await self.jobs.get(run.run_id)
                with suppress(StatusConflict):  # another process has resumed it
                    await set_run_status(self.store, run.run_id, "queued", expected=SUSPENDED, **job.detail())

    @asynccontextmanager
    async def _watching(self, job: Job, token: CancelToken) -> AsyncIterator[None]:
        """Throw the run's switch when its job is cancelled meanwhile."""

        async def watch() -> None:
            while True:
                await asyncio.sleep(CANCEL_POLL_SECONDS)
                with suppress(Exception):  # an unavailable store is asked again
                    cancelled = (await self.jobs.get(job.run_id)).cancelled
                    if cancelled is not None:
                        token.cancel(cancelled)

        task = asyncio.create_task(watch())
        try:
            yield
        finally:
            await cancel_and_wait(task)


def _fields(job: Job) -> dict[str, Any]:  # Any: attributes of a log record
    return {"run_id": job.run_id, "job": job.name, "tenant": job.tenant, "attempt": job.attempts}
