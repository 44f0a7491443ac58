"""`Runner`: claims runs, executes one attempt of each on this worker, and records what became of it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from time import monotonic
from uuid import uuid4

from bobcat.aio.cancel import CancelToken
from bobcat.aio.tasks import FAULTS, cancel_and_wait, raise_if_cancelled
from bobcat.approvals import durable_approvals
from bobcat.errors import JobError
from bobcat.logs import logger, traceback_of
from bobcat.model.run import RunResult
from bobcat.runtime.lease import LeaseKeeper
from bobcat.runtime.loop import run_agent
from bobcat.runtime.options import ClaimedDurable
from bobcat.stores.protocol import LIVE, DurableStore, StatusConflict
from bobcat.stores.queue import Claim, ClaimRequest, with_queue
from bobcat.text.json_text import format_exception
from bobcat.workers.activity import Activity
from bobcat.workers.adoption import adopt_run, adopt_runs
from bobcat.workers.dispatch import Delivery, RunQueue
from bobcat.workers.endings import Endings, job_fields
from bobcat.workers.job import KIND, Job, job_from_json
from bobcat.workers.jobs import Jobs
from bobcat.workers.listing import list_runs, queue_rank
from bobcat.workers.registry import Attempt, Workers
from bobcat.workers.schedules import ScheduleTimes
from bobcat.workers.share import WorkerShare
from bobcat.workers.suspended import wake_or_postpone, wake_overdue
from bobcat.workers.worker_name import WorkerName

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


class Runner:
    """Executes the runs of an app from the queue of a store."""

    def __init__(
        self,
        workers: Workers,
        store: DurableStore,
        *,
        dispatcher: RunQueue | None = None,
        lease_seconds: float = LEASE_SECONDS,
        owner: str | None = None,
    ) -> None:
        self.workers = workers
        self.store = store
        self.queue = with_queue(store)
        self.dispatcher = dispatcher
        self.jobs = Jobs(store, dispatcher)
        self._announced_jobs = Jobs(store)
        """Jobs that only the store announces."""
        self.lease_seconds = lease_seconds
        self._endings = Endings(
            workers, store, queue=self.queue, jobs=self.jobs, dispatcher=dispatcher, lease_seconds=lease_seconds
        )
        self.activity = Activity()
        self._left: set[str] = set()
        """The kinds of runs, and the runs, already logged as left to other workers."""
        self._adopted = False
        self._schedule_times = ScheduleTimes(workers.schedules)
        self._triggers_due = self._look_due = self._abandoned_due = 0.0
        self._name = None if owner is None else WorkerName(store, owner)
        self._share = WorkerShare(workers, store)
        self.owner = owner or f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    @asynccontextmanager
    async def working(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Hold the worker's name inside of the block, and queue the runs that an earlier process held under it.

        `stop` is set when another process takes the name over. Raises `JobError` (`name_taken`) while one has it.
        """
        if self._name is None:
            yield
            return
        async with self._name.held(stop):
            async for run, holder in self._name.orphans():
                log.warning("run %s is taken over from the last start of %s", run.run_id, self.owner)
                await self._endings.take_back(run, holder)
            yield

    def request(self, run_id: str | None = None) -> ClaimRequest:
        """The runs that this worker can take now, or only one of them."""
        return self._share.request(run_id)

    async def claim(self, run_id: str | None = None) -> Claim | None:
        """Take the next run of the queue, or the named one. None when none is due for this worker."""
        await self._share.refresh()
        while True:
            began = asyncio.get_running_loop().time()
            owner = f"{self.owner if self._name is None else self._name.owner}:{uuid4().hex[:8]}"
            claim = await self.queue.claim(owner, self.request(run_id), seconds=self.lease_seconds)
            if claim is None or await self._share.may_start(claim.entry.kind):
                break
            await self._endings.put_back(claim, claim.entry.run_at)  # it keeps its place
            if run_id is not None:
                return None
        if claim is not None and not claim.taken_over:
            now = claim.lease.expires - timedelta(seconds=self.lease_seconds)
            self.activity.count_claim(claim.entry.kind, (now - claim.entry.run_at).total_seconds())
        return None if claim is None else replace(claim, began=began)

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
            return await self._endings.end(claim, "failed", "its job is missing")
        try:
            job = job_from_json(document.body).with_entry(entry)
        except JobError as error:  # another release may read it
            delivery = await self._unreadable(run_id, error)
            await self._endings.put_back(claim, delivery.again or entry.run_at)
            return delivery
        if job.cancelled is not None:
            return await self._endings.end(claim, "cancelled", f"cancelled: {job.cancelled}")
        if claim.taken_over:
            ended = await self._endings.after_death(claim, job)
            if ended is not None:
                return ended
        keeper = LeaseKeeper.claimed(self.store, claim.lease, seconds=self.lease_seconds, began=claim.began)
        keeper.start_heartbeat(lambda _: None)  # the app's function may take long; the run notices a loss itself
        try:
            return await self._counted_attempt(claim, job, keeper)
        except asyncio.CancelledError:
            # A run that ended at this moment keeps its status; where the store is unavailable, the lease expires.
            with suppress(Exception):
                async with asyncio.timeout(ENDING_SECONDS):
                    await self._endings.put_back(claim, entry.run_at, job)
            raise
        finally:
            await keeper.stop_heartbeat()

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

    async def _counted_attempt(self, claim: Claim, job: Job, keeper: LeaseKeeper) -> Delivery:
        """Execute an attempt, and count it."""
        began = monotonic()
        with self.activity.running(job.run_id):
            delivery = await self._attempt(claim, job, keeper)
        self.activity.count_attempt(job.kind, delivery.outcome, monotonic() - began)
        if delivery.outcome == "busy" and delivery.begun:
            self.activity.count_lease_loss()
        return delivery

    async def _attempt(self, claim: Claim, job: Job, keeper: LeaseKeeper) -> Delivery:
        token = CancelToken()
        fields = job_fields(job)
        log.info("run %s: %s begins, attempt %d", job.run_id, job.name, job.attempts, extra=fields)
        try:
            arguments = await self.workers.make(job)
            attempt = Attempt(self.store, job, arguments, keeper, token)
            arguments.setdefault("on_approval", durable_approvals(self.store))
            if job.tenant:
                arguments.setdefault("tenant", job.tenant)
            await self.workers.check(attempt)
            if job.thread:
                async with self._watching(job, token):
                    result = await self.workers.run_turn(attempt)
                return await self._settle(claim, job, result, keeper)
            agent, task = arguments.pop("agent"), arguments.pop("task")
            async with self._watching(job, token):
                result = await run_agent(
                    agent,
                    task,
                    durable=ClaimedDurable(
                        self.store,
                        job.run_id,
                        claim.lease.owner,
                        self.lease_seconds,
                        arguments.pop("allow_changed", ()),
                        self.workers.version,
                        keeper,
                    ),
                    cancel=token,
                    **arguments,
                )
        except JobError as error:
            return await self._endings.failed(claim, job, str(error), lease=keeper, code=error.code)
        except FAULTS as error:  # the app's own code, or invalid arguments
            raise_if_cancelled(error)
            text, trace = format_exception(error), traceback_of(error)
            return await self._endings.failed(claim, job, text, lease=keeper, code="app_failed", trace=trace)
        log.info("run %s: %s", job.run_id, result.outcome, extra={**fields, "status": result.outcome})
        return await self._settle(claim, job, result, keeper)

    async def _settle(self, claim: Claim, job: Job, result: RunResult, keeper: LeaseKeeper) -> Delivery:
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
                        await self._endings.put_back(claim, again, job)
                return Delivery("busy", again, result.error, begun=begun)
            case "suspended":
                # An answer may have come between the run's end and this line.
                if await wake_or_postpone(self.queue, job.run_id, result.approvals, job.detail()):
                    return Delivery("queued", await self.store.now())
                return Delivery("suspended", error=result.error)
            case "failed":
                error = result.error or "failed"
                return await self._endings.failed(
                    claim, job, error, lease=keeper, code=result.code, trace=result.traceback
                )

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

    async def do_due(self, *, wakes_engine: bool = True) -> None:
        """Do what no event announces and what is due: schedules, triggers, expired approvals.

        A worker calls this before it claims; most calls read nothing. Without `wakes_engine`, runs that are queued here
        are announced by the store alone: for a caller that claims next, in place of a message to itself.
        """
        jobs = self.jobs if wakes_engine else self._announced_jobs
        if not self._adopted:
            await adopt_runs(self.queue, self._left)
            self._adopted = True
        clock = asyncio.get_running_loop().time()
        await self._schedule_times.queue_due(self.store, jobs)
        if self.workers.triggers is not None and clock >= self._triggers_due:
            self._triggers_due = clock + TRIGGER_SECONDS
            await self.workers.triggers.queue_due(self.store, jobs)
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
        found.append(self._share.seconds_until_start())
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
