"""`Runner`: one delivery of one run, on this worker. Whatever engine delivers it, and however often."""

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
from typing import Any
from uuid import uuid4

from bobcat.approvals import Approvals, durable_approvals
from bobcat.cancel import CancelToken
from bobcat.errors import ApprovalError, JobError
from bobcat.kernel.loop import run_agent
from bobcat.logs import logger, traceback_of
from bobcat.model import RunResult
from bobcat.plain_json import describe
from bobcat.stores.durable import (
    DurableStore,
    LeaseLost,
    RunBusy,
    RunStatus,
    RunSummary,
    StatusConflict,
    VersionConflict,
)
from bobcat.tasks import being_cancelled, end
from bobcat.workers import slots
from bobcat.workers.dispatch import Delivery, Dispatcher
from bobcat.workers.job import KIND, Job, Jobs, job_from_json, kept_detail, say
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
ENDING_SECONDS = 10.0
"""How long a worker may take to note the end of a run that is nobody's."""
FULL_SECONDS = 1.0
"""How long a run waits whose tenant has no place."""

RUNNING: tuple[RunStatus, ...] = ("running",)
SUSPENDED: tuple[RunStatus, ...] = ("suspended",)
FAILED: tuple[RunStatus, ...] = ("failed",)
NOT_BEGUN = "superseded: run "
"""How the error of an attempt begins that found the run leased: nothing of it was begun."""
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
        self._left: set[str] = set()
        """The kinds of runs, and the runs, of which it was said that they are left to others."""
        self._expiry_due = datetime.min.replace(tzinfo=UTC)
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    async def execute(self, run_id: str) -> Delivery:
        """Make the run go on, if it is its time and nobody else has it. What the run does wrong is in the delivery.

        The attempt is counted before anything of it runs, so that one whose process dies counts too. Raises what the
        store raises. When the calling task is cancelled, the run is queued again for another worker.
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
                log.warning("run %s was not delivered: %s", run_id, describe(error), extra={"run_id": run_id})
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
        if limit is not None and not await slots.take(self.store, job.tenant, run_id, limit):
            return Delivery("full", now + timedelta(seconds=FULL_SECONDS))
        delivery: Delivery | None = None
        try:
            claimed = await self._claim(job, entry.version, run)
            delivery = claimed if isinstance(claimed, Delivery) else await self._make(claimed)
            not_begun = isinstance(claimed, Job) and (delivery.error or "").startswith(NOT_BEGUN)
            if not_begun and run is not None and run.status != "running":
                with suppress(StatusConflict):  # it was leased at this moment, and is as it was
                    await say(self.store, run_id, run.status, expected=RUNNING, **job.detail())
            return delivery
        except asyncio.CancelledError:
            # A run that ended at this moment keeps its status; where the store is away, the lease runs out.
            with suppress(Exception):
                async with asyncio.timeout(ENDING_SECONDS):
                    await self._uncount(job)
                    await say(self.store, run_id, "queued", expected=RUNNING, **job.detail())
            raise
        finally:
            if limit is not None and (delivery is None or delivery.outcome != "busy"):  # else it is another worker's
                await slots.give_back(self.store, job.tenant, run_id)

    def _idle(self, job: Job, run: RunSummary | None, now: datetime) -> Delivery | None:
        """Why there is nothing to do, when that can be seen without asking for the run."""
        if run is None:
            return None
        if run.status in ("succeeded", "cancelled", "failed"):
            return Delivery(run.status)
        if run.status == "running" and self._is_alive(run, now):
            return Delivery("busy", now + timedelta(seconds=self.lease_seconds))
        if run.status == "queued" and now < job.run_at:
            return Delivery("early", job.run_at)
        if run.held:  # whoever suspended or queued it lets go of it at this moment
            return Delivery("busy", now + timedelta(seconds=FULL_SECONDS))
        return None

    def _is_alive(self, run: RunSummary, now: datetime) -> bool:
        """True while a worker has a running run, or may be about to lease it. A date that jumped says neither."""
        return bool(run.held) or timedelta(0) <= now - run.updated < timedelta(seconds=self.lease_seconds)

    def _leave(self, job: Job, now: datetime) -> Delivery:
        """Leave a run to the workers whose app can make it."""
        if job.kind not in self._left:
            self._left.add(job.kind)
            log.warning("run %s is left to another worker: %s", job.run_id, self.workers.lacks(job.kind))
        return Delivery("not_mine", now + timedelta(seconds=self.lease_seconds), self.workers.lacks(job.kind))

    async def _claim(self, job: Job, version: int, run: RunSummary | None) -> Job | Delivery:
        """Take the run and count the attempt, both on record; the job as it is then, or why another has it.

        Of any number of workers one changes the status, or else one changes the job. What a `cancel` did before counts;
        what it does after, the run is told by its switch.
        """
        busy = Delivery("busy", await self.store.now() + timedelta(seconds=FULL_SECONDS))
        try:
            expected = () if run is None else (run.status,)
            await say(self.store, job.run_id, "running", expected=expected, **job.detail())
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
        """End a run that is nobody's, under its lease: a worker that was only frozen does nothing more."""
        seconds = timedelta(seconds=self.lease_seconds)
        try:
            lease = await self.store.acquire(job.run_id, owner=self.owner, seconds=ENDING_SECONDS)
        except RunBusy as busy:
            return Delivery("busy", await self.store.now() + seconds, str(busy))
        try:
            run = await self.store.run(job.run_id)
            if run is not None and run.status in ("succeeded", "cancelled", "failed"):
                return Delivery(run.status)
            detail = {**kept_detail(run), "error": error, "attempts": job.attempts}
            await self.store.set_status(job.run_id, status, detail=detail, lease=lease)
        except LeaseLost as lost:
            return Delivery("busy", await self.store.now() + seconds, str(lost))
        finally:
            await self.store.release(lease)
        log.log(ERROR if status == "failed" else INFO, "run %s: %s: %s", job.run_id, status, error, extra=_fields(job))
        return Delivery(status, error=error)

    async def _exhausted(self, job: Job) -> str:
        """Put on record that a run was tried as often as it may be; why it ends."""
        last = f"; the last error: {job.error}" if job.error else ""
        error = f"attempts exhausted ({job.attempts} of {self.workers.max_attempts}): the last worker died{last}"
        await self.jobs.change(job.run_id, error=error)
        return error

    async def _uncount(self, job: Job) -> None:
        """Take back the count of an attempt that neither failed nor died."""
        with suppress(JobError):  # the job is gone, and nobody counts any more
            while True:
                entry = await self.store.get(KIND, job.run_id)
                if entry is None:
                    return
                known = job_from_json(entry.body)
                fewer = replace(known, attempts=max(0, known.attempts - 1))
                try:
                    await self.store.put(KIND, job.run_id, fewer.to_json(), expected=entry.version)
                except VersionConflict:
                    continue
                return

    async def _make(self, job: Job) -> Delivery:
        token = CancelToken()
        fields = _fields(job)
        log.info("run %s: %s begins, attempt %d", job.run_id, job.name, job.attempts, extra=fields)
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
            return await self._failed(job, str(error), passing=False)
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
                await self._uncount(job)
                return Delivery(result.status, error=result.error)
            case "superseded":
                if str(result.error).startswith(NOT_BEGUN):
                    await self._uncount(job)
                return Delivery("busy", now + timedelta(seconds=self.lease_seconds), result.error)
            case "suspended":
                await self._uncount(job)
                if await self._answered(result.approvals):  # while the run was on its way here
                    with suppress(StatusConflict):  # somebody else has woken it
                        await say(self.store, job.run_id, "queued", expected=SUSPENDED, **job.detail())
                    return Delivery("queued", now)
                return Delivery("suspended", error=result.error)
            case "failed":
                error = result.error or "failed"
                return await self._failed(job, error, passing=error.startswith(PASSING), trace=result.traceback)

    async def _failed(self, job: Job, error: str, *, passing: bool, trace: str | None = None) -> Delivery:
        """Try the run again later, or let it have failed; either way, its error and its traceback stay with it."""
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
            await say(self.store, job.run_id, status, expected=(*RUNNING, *FAILED), error=error, **detail)
        except StatusConflict as conflict:  # it was cancelled, or resumed, at this moment
            return Delivery(conflict.status, error=error)
        return Delivery(status, again, error)

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
        if not now < self._expiry_due <= now + timedelta(seconds=EXPIRY_SECONDS):  # also after a date that went back
            self._expiry_due = now + timedelta(seconds=EXPIRY_SECONDS)
            for run in await listed(self.store, "suspended"):
                try:
                    await self._wake(run)
                except Exception as error:  # one that cannot be read keeps no other from going on
                    log.warning("the suspended run %s cannot be looked at: %s", run.run_id, describe(error))
        running = await listed(self.store, "running")
        died = [run.run_id for run in running if not self._is_alive(run, now) and await self._is_mine(run.run_id)]
        return [*await self.due(), *died]

    async def _is_mine(self, run_id: str) -> bool:
        """True for a run that this app can make, or that only has to be ended."""
        try:
            job = await self.jobs.get(run_id)
        except JobError:  # its own program's affair, or damaged
            return False
        return job.cancelled is not None or job.kind in self.workers.makers

    async def due(self) -> list[str]:
        """The queued runs whose time has come, in the order in which to make them."""
        found = await due(self.store, self.jobs, await self.store.now(), self.workers.makers)
        return [run_id for _, _, run_id in found]

    async def _wake(self, run: RunSummary) -> None:
        ids: Any = run.detail.get("approvals", ())  # Any: JSON that somebody else may have written
        if await self._answered(tuple(map(str, ids))):
            with suppress(JobError):  # a run that was never queued is resumed by whoever began it
                job = await self.jobs.get(run.run_id)
                with suppress(StatusConflict):  # somebody else has woken it
                    await say(self.store, run.run_id, "queued", expected=SUSPENDED, **job.detail())

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
    return {"run_id": job.run_id, "job": job.name, "tenant": job.tenant, "attempt": job.attempts}
