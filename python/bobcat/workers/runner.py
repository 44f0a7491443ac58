"""`Runner`: claims runs, executes one attempt of each on this worker, and records what became of it."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
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
from bobcat.stores.protocol import LIVE, DurableStore, LeaseLost, QueueEntry, RunStatus, StatusConflict, change_status
from bobcat.stores.queue import Claim, ClaimRequest, with_queue
from bobcat.text.json_text import format_exception
from bobcat.workers.activity import Activity
from bobcat.workers.adoption import adopt_run, adopt_runs
from bobcat.workers.dispatch import Delivery, RunQueue
from bobcat.workers.job import KIND, Job, job_from_json, journal_detail
from bobcat.workers.jobs import Jobs
from bobcat.workers.listing import list_runs, queue_rank
from bobcat.workers.registry import Attempt, Workers
from bobcat.workers.schedules import ScheduleTimes
from bobcat.workers.suspended import wake_or_postpone, wake_overdue

log = logger("workers")

LEASE_SECONDS = 30.0
"""Lease duration: time until another worker takes over the run of a dead one."""
CANCEL_POLL_SECONDS = 0.5
"""Interval between a worker's checks whether its run was cancelled."""
ENDING_SECONDS = 10.0
"""Time limit for a worker to give a run back."""
THREAD_SECONDS = 2.0
"""Delay of a turn whose thread has another turn in progress."""
FULL_SECONDS = 1.0
"""Delay of a run whose tenant is at its limit."""
TRIGGER_SECONDS = 2.0
"""Interval between checks of triggers."""
LOOK_SECONDS = 0.5
"""Shortest interval between checks of suspended runs that are due."""

ABANDONED_SECONDS = 10.0
"""Interval between checks of cancelled runs whose worker died."""

RUNNING: tuple[RunStatus, ...] = ("running",)
QUEUED: tuple[RunStatus, ...] = ("queued",)
FAILED: tuple[RunStatus, ...] = ("failed",)
PASSING: frozenset[RunErrorCode | None] = frozenset(
    ("agent_failed", "agent_timed_out", "reply_cut_off", "store_failed", "sink_failed")
)
"""Codes of transient errors, which a retry may avoid."""


class Runner:
    """Executes the runs of an app from the queue of a store."""

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
        self.queue = with_queue(store)
        self.dispatcher = dispatcher
        self.jobs = Jobs(store, dispatcher)
        self.lease_seconds = lease_seconds
        self.activity = Activity()
        self._left: set[str] = set()
        """The kinds of runs, and the runs, already logged as left to other workers."""
        self._adopted = False
        self._schedule_times = ScheduleTimes(workers.schedules)
        self._triggers_due = self._look_due = self._abandoned_due = 0.0
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    def request(self, run_id: str | None = None) -> ClaimRequest:
        """The runs that this worker can take now, or only one of them."""
        return ClaimRequest(
            dict.fromkeys(self.workers.makers),
            tenant_limit=self.workers.tenant_limit,
            tenant_limits=self.workers.tenant_limits,
            run_id=run_id,
        )

    async def claim(self, run_id: str | None = None) -> Claim | None:
        """Take the next run of the queue, or the named one. None when none is due for this worker."""
        owner = f"{self.owner}:{uuid4().hex[:8]}"
        claim = await self.queue.claim(owner, self.request(run_id), seconds=self.lease_seconds)
        if claim is not None and not claim.taken_over:
            now = claim.lease.expires - timedelta(seconds=self.lease_seconds)
            self.activity.count_claim(claim.entry.kind, (now - claim.entry.run_at).total_seconds())
        return claim

    async def run_next(self) -> Delivery | None:
        """Claim the next run of the queue and execute it; None when none is due. For an engine that wakes workers.

        Raises the store's exceptions.
        """
        claim = await self.claim()
        return None if claim is None else await self.deliver(claim)

    async def execute(self, run_id: str) -> Delivery:
        """Claim one run and execute it; the delivery has the reason when it cannot be claimed.

        Raises the store's exceptions.
        """
        entry = await self.store.get(KIND, run_id)
        if entry is None:
            return Delivery("unknown")
        try:
            job = job_from_json(entry.body)
        except JobError as error:  # another release may read it
            return await self._unreadable(run_id, error)
        run = await self.store.run(run_id)
        if run is None:  # its producer died before it was queued
            with suppress(StatusConflict):
                await self.queue.queue(run_id, job.entry, detail=job.detail())
        elif run.queue is None:
            await adopt_run(self.queue, run_id)
        claim = await self.claim(run_id)
        return await self._unclaimed(job) if claim is None else await self.deliver(claim)

    async def deliver(self, claim: Claim) -> Delivery:
        """Execute one attempt of a claimed run. Failures of the run are in the delivery.

        Raises the store's exceptions. When the calling task is cancelled, the run is queued again for another worker.
        """
        run_id, entry = claim.lease.run_id, claim.entry
        document = await self.store.get(KIND, run_id)
        if document is None:
            return await self._end(claim, "failed", "its job is missing")
        try:
            job = job_from_json(document.body).with_entry(entry)
        except JobError as error:  # another release may read it
            delivery = await self._unreadable(run_id, error)
            await self._give_back(claim, delivery.again or entry.run_at)
            return delivery
        if job.cancelled is not None:
            return await self._end(claim, "cancelled", f"cancelled: {job.cancelled}")
        if entry.attempts > self.workers.max_attempts:
            return await self._end_exhausted(claim, job)
        try:
            return await self._counted_attempt(claim, job)
        except asyncio.CancelledError:
            # A run that ended at this moment keeps its status; where the store is unavailable, the lease expires.
            with suppress(Exception):
                async with asyncio.timeout(ENDING_SECONDS):
                    await self._give_back(claim, entry.run_at, job)
            raise

    async def _unclaimed(self, job: Job) -> Delivery:
        """The delivery for a run that could not be claimed, as far as its state now shows the reason."""
        run, now = await self.store.run(job.run_id), await self.store.now()
        if run is None or run.queue is None:
            return Delivery("unknown")
        if run.status not in LIVE:
            return Delivery(run.status)
        if run.status == "queued" and job.kind not in self.workers.makers:
            if job.kind not in self._left:
                self._left.add(job.kind)
                log.warning("run %s is left to another worker: %s", job.run_id, self.workers.missing_kind(job.kind))
            again = now + timedelta(seconds=self.lease_seconds)
            return Delivery("not_mine", again, self.workers.missing_kind(job.kind))
        if run.status == "queued" and now < run.queue.run_at:
            return Delivery("early", run.queue.run_at)
        if run.status == "queued" and not run.held:
            return Delivery("full", now + timedelta(seconds=FULL_SECONDS))
        if run.status == "suspended":
            return Delivery("suspended")
        return Delivery("busy", now + timedelta(seconds=FULL_SECONDS if run.status == "queued" else self.lease_seconds))

    async def _unreadable(self, run_id: str, error: JobError) -> Delivery:
        """The delivery of a run whose job cannot be read."""
        if run_id not in self._left:
            self._left.add(run_id)
            log.warning("run %s was not delivered: %s", run_id, format_exception(error), extra={"run_id": run_id})
        return Delivery("damaged", await self.store.now() + timedelta(seconds=self.lease_seconds), str(error))

    async def _give_back(self, claim: Claim, run_at: datetime, job: Job | None = None) -> None:
        """Queue a claimed run again, as if it had not been claimed."""
        entry = replace(claim.entry, run_at=run_at, attempts=max(0, claim.entry.attempts - 1))
        await self._requeue(claim, entry, {} if job is None else job.detail())

    async def _requeue(
        self,
        claim: Claim,
        entry: QueueEntry,
        detail: dict[str, Any],  # Any: JSON
        expected: tuple[RunStatus, ...] = RUNNING,
    ) -> None:
        """Queue a claimed run again. Raises `StatusConflict` when it has ended, or another worker has it."""
        run_id, owner = claim.lease.run_id, claim.lease.owner
        recorded = journal_detail(await self.store.run(run_id))
        await self.queue.queue(run_id, entry, detail={**recorded, **detail}, expected=expected, owner=owner)

    async def _end(self, claim: Claim, status: RunStatus, error: str) -> Delivery:
        """End a claimed run of which nothing is executed."""
        lease = claim.lease
        detail = {
            **journal_detail(await self.store.run(lease.run_id)),
            "error": error,
            "attempts": claim.entry.attempts,
        }
        try:
            await self.store.set_status(lease.run_id, status, detail=detail, lease=lease)
        except LeaseLost as lost:
            return Delivery("busy", await self.store.now() + timedelta(seconds=self.lease_seconds), str(lost))
        finally:
            await self.store.release(lease)
        fields = {"run_id": lease.run_id, "tenant": claim.entry.tenant, "attempt": claim.entry.attempts}
        log.log(ERROR if status == "failed" else INFO, "run %s: %s: %s", lease.run_id, status, error, extra=fields)
        return Delivery(status, error=error)

    async def _end_exhausted(self, claim: Claim, job: Job) -> Delivery:
        """End a run that has used up its attempts."""
        spent = claim.entry.attempts - 1
        last = f"; the last error: {job.error}" if job.error else ""
        error = f"attempts exhausted ({spent} of {self.workers.max_attempts}): the last worker died{last}"
        await self.jobs.change(job.run_id, error=error)
        detail = {"error": error, "attempts": spent}
        try:  # the claim has counted an attempt that was none: queue the run as it was, and end it
            await self._requeue(claim, replace(claim.entry, attempts=spent), detail)
            recorded = journal_detail(await self.store.run(job.run_id))
            await change_status(self.store, job.run_id, "failed", expected=QUEUED, detail={**recorded, **detail})
        except StatusConflict as conflict:  # another worker took it, and ends it
            return Delivery(conflict.status, error=error)
        log.error("run %s: failed: %s", job.run_id, error, extra={**_fields(job), "attempt": spent})
        return Delivery("failed", error=error)

    async def _counted_attempt(self, claim: Claim, job: Job) -> Delivery:
        """Execute an attempt, and count it."""
        began = monotonic()
        with self.activity.running(job.run_id):
            delivery = await self._attempt(claim, job)
        self.activity.count_attempt(job.kind, delivery.outcome, monotonic() - began)
        if delivery.outcome == "busy" and delivery.begun:
            self.activity.count_lease_loss()
        return delivery

    async def _attempt(self, claim: Claim, job: Job) -> Delivery:
        token = CancelToken()
        fields = _fields(job)
        log.info("run %s: %s begins, attempt %d", job.run_id, job.name, job.attempts, extra=fields)
        try:
            arguments = await self.workers.make(job)
            attempt = Attempt(self.store, job, arguments, claim.lease.owner, self.lease_seconds, token)
            arguments.setdefault("on_approval", durable_approvals(self.store))
            if job.tenant:
                arguments.setdefault("tenant", job.tenant)
            await self.workers.check(attempt)
            if job.thread:
                async with self._watching(job, token):
                    result = await self.workers.run_turn(attempt)
                return await self._settle(claim, job, result)
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
            return await self._failed(claim, job, str(error), passing=False)
        except FAULTS as error:  # the app's own code, or invalid arguments
            raise_if_cancelled(error)
            return await self._failed(claim, job, format_exception(error), passing=True, trace=traceback_of(error))
        log.info("run %s: %s", job.run_id, result.outcome, extra={**fields, "status": result.outcome})
        return await self._settle(claim, job, result)

    async def _settle(self, claim: Claim, job: Job, result: RunResult) -> Delivery:
        """The delivery for the outcome of an attempt."""
        match result.outcome:
            case "succeeded" | "cancelled":
                return Delivery(result.outcome, error=result.error)
            case "superseded":
                now = await self.store.now()
                begun = result.code != "busy"
                again = now + timedelta(seconds=THREAD_SECONDS if job.thread else self.lease_seconds)
                if not begun:
                    with suppress(StatusConflict):  # another worker has it
                        await self._give_back(claim, again, job)
                return Delivery("busy", again, result.error, begun=begun)
            case "suspended":
                # An answer may have come between the run's end and this line.
                if await wake_or_postpone(self.queue, job.run_id, result.approvals, job.detail()):
                    return Delivery("queued", await self.store.now())
                return Delivery("suspended", error=result.error)
            case "failed":
                error = result.error or "failed"
                return await self._failed(claim, job, error, passing=result.code in PASSING, trace=result.traceback)

    async def _failed(self, claim: Claim, job: Job, error: str, *, passing: bool, trace: str | None = None) -> Delivery:
        """Retry the run later, or let it fail; either way, record its error and its traceback."""
        again: datetime | None = None
        if passing and job.attempts < self.workers.max_attempts:
            longest = min(self.workers.backoff_seconds * 2 ** (job.attempts - 1), self.workers.max_backoff_seconds)
            again = await self.store.now() + timedelta(seconds=longest * random.uniform(0.75, 1.0))
        await self.jobs.change(job.run_id, error=error)
        detail: dict[str, Any] = {"error": error} if trace is None else {"error": error, "traceback": trace}
        status: RunStatus = "failed" if again is None else "queued"
        fields = {**_fields(job), **detail, "status": status}
        if again is None:
            log.error("run %s: failed: %s", job.run_id, error, extra=fields)
        else:
            log.warning("run %s: attempt %d failed: %s", job.run_id, job.attempts, error, extra=fields)
        try:
            if again is not None:
                retried = replace(job, run_at=again)
                await self._requeue(
                    claim, replace(claim.entry, run_at=again), {**retried.detail(), **detail}, (*RUNNING, *FAILED)
                )
                if self.dispatcher is not None:
                    await self.dispatcher.enqueue(retried)
            else:
                await self._record_failure(claim, {**detail, "attempts": job.attempts})
        except (StatusConflict, LeaseLost) as conflict:  # it was cancelled, or resumed, at this moment
            found = conflict.status if isinstance(conflict, StatusConflict) else "busy"
            return Delivery(found, error=error)
        return Delivery(status, again, error)

    async def _record_failure(self, claim: Claim, detail: dict[str, Any]) -> None:  # Any: JSON
        """Set the status `failed` and release the run. The attempt itself may have done so already."""
        run_id = claim.lease.run_id
        detail = {**journal_detail(await self.store.run(run_id)), **detail}
        await self.store.set_status(run_id, "failed", detail=detail, expected=(*RUNNING, *FAILED))
        await self.store.release(claim.lease)

    async def sweep(self) -> list[str]:
        """Do what no event announces, and return the runs that this worker could claim, in their order.

        For an engine that does not use `ClaimLoop`, every few seconds. It reads every queued and running run.
        """
        await self.do_due()
        return await self.due()

    async def due(self) -> list[str]:
        """The runs that this worker could claim, in their order without regard to tenants."""
        now, kinds = await self.store.now(), self.workers.makers
        found = [run async for run in list_runs(self.store, "running") if run.held is False]
        found += sorted(
            [run async for run in list_runs(self.store, "queued") if run.queue is not None and run.queue.run_at <= now],
            key=queue_rank,
        )
        return [run.run_id for run in found if run.queue is not None and run.queue.kind in kinds]

    async def do_due(self) -> None:
        """Do what no event announces and what is due: schedules, triggers, expired approvals.

        A worker calls this before it claims; most calls read nothing.
        """
        if not self._adopted:
            await adopt_runs(self.queue, self._left)
            self._adopted = True
        clock = asyncio.get_running_loop().time()
        await self._schedule_times.queue_due(self.store, self.jobs)
        if self.workers.triggers is not None and clock >= self._triggers_due:
            self._triggers_due = clock + TRIGGER_SECONDS
            await self.workers.triggers.queue_due(self.store, self.jobs)
        if clock >= self._look_due:
            self._look_due = clock + LOOK_SECONDS
            await wake_overdue(self.queue)
        if clock >= self._abandoned_due:
            self._abandoned_due = clock + ABANDONED_SECONDS
            await self._end_cancelled()

    async def _end_cancelled(self) -> None:
        """End cancelled runs of dead workers that this worker could not claim."""
        async for run in list_runs(self.store, "running"):
            if run.held is False and run.queue is not None and run.queue.kind not in self.workers.makers:
                with suppress(JobError):  # damaged, or it has no job
                    await self.jobs.end_if_cancelled(run)

    async def seconds_until_due(self) -> float:
        """Seconds until something is due for a worker that has found nothing to claim."""
        now, due = await self.store.now(), await self.queue.next_due()
        clock = asyncio.get_running_loop().time()
        found = [float("inf") if due is None else (due - now).total_seconds(), self._schedule_times.seconds(now)]
        if self.workers.triggers is not None:
            found.append(self._triggers_due - clock)
        return max(0.0, min(found))

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
