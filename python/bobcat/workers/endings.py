"""The ends of an attempt that the run itself does not write: given back, tried again, failed or dead."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from inspect import isawaitable
from logging import ERROR, INFO
from typing import Any

from bobcat.logs import logger
from bobcat.runtime.lease import LeaseKeeper
from bobcat.stores.protocol import (
    DurableStore,
    LeaseLost,
    QueueEntry,
    RunBusy,
    RunStatus,
    RunSummary,
    StatusConflict,
    change_status,
    grouping,
)
from bobcat.stores.queue import Claim, QueueStore
from bobcat.text.json_text import format_exception
from bobcat.workers.dispatch import Delivery, RunQueue
from bobcat.workers.job import Job, journal_detail
from bobcat.workers.jobs import Jobs
from bobcat.workers.registry import Workers
from bobcat.workers.retry import Retry

log = logger("workers")

RUNNING: tuple[RunStatus, ...] = ("running",)
QUEUED: tuple[RunStatus, ...] = ("queued",)


class Endings:
    """Ends and requeues claimed runs, by the rules of the app."""

    def __init__(
        self, workers: Workers, store: DurableStore, *, queue: QueueStore, jobs: Jobs, dispatcher: RunQueue | None,
        lease_seconds: float,
    ) -> None:  # fmt: skip
        self._workers, self._store, self._queue, self._jobs = workers, store, queue, jobs
        self._dispatcher, self._lease_seconds = dispatcher, lease_seconds

    async def put_back(self, claim: Claim, run_at: datetime, job: Job | None = None) -> None:
        """Queue a claimed run again, as if it had not been claimed."""
        entry = replace(claim.entry, run_at=run_at, attempts=max(0, claim.entry.attempts - 1))
        if job is None:
            run = await self._store.run(claim.lease.run_id)
            await self.requeue(claim, entry, {} if run is None else dict(run.detail))
        else:
            await self.requeue(claim, entry, job.detail())

    async def requeue(
        self,
        claim: Claim,
        entry: QueueEntry,
        detail: dict[str, Any],  # Any: JSON
    ) -> None:
        """Queue a claimed run again. Raises `StatusConflict` when it has ended, or another worker has it."""
        run_id, owner = claim.lease.run_id, claim.lease.owner
        recorded = journal_detail(await self._store.run(run_id))
        await self._queue.queue(run_id, entry, detail={**recorded, **detail}, expected=RUNNING, owner=owner)

    async def end(self, claim: Claim, status: RunStatus, error: str) -> Delivery:
        """End a claimed run of which nothing is executed."""
        lease = claim.lease
        detail = {
            **journal_detail(await self._store.run(lease.run_id)),
            "error": error,
            "attempts": claim.entry.attempts,
        }
        try:
            await self._store.set_status(lease.run_id, status, detail=detail, lease=lease)
        except LeaseLost as lost:
            return Delivery("busy", await self._store.now() + timedelta(seconds=self._lease_seconds), str(lost))
        finally:
            await self._store.release(lease)
        fields = {"run_id": lease.run_id, "tenant": claim.entry.tenant, "attempt": claim.entry.attempts}
        log.log(ERROR if status == "failed" else INFO, "run %s: %s: %s", lease.run_id, status, error, extra=fields)
        return Delivery(status, error=error)

    async def after_death(self, claim: Claim, job: Job) -> Delivery | None:
        """Count the death of a run's worker as a failure; None when the run goes on at once."""
        retry, spent = self._workers.retry_of(job.kind), claim.entry.attempts - 1
        rule = retry.of("worker_died") or Retry(max_attempts=1)
        if rule.pause(spent) is None:
            return await self.end_exhausted(claim, job, rule.max_attempts)
        if "worker_died" not in retry.by_code:  # its lease had to end: that was the pause
            return None
        again = await self._store.now() + timedelta(seconds=rule.pause(spent) or 0.0)
        await self.put_back(claim, again, job)
        return Delivery("queued", again, "the last worker died")

    async def take_back(self, run: RunSummary, holder: str) -> None:
        """Queue a run at its place whose worker died holding it as `holder`: nothing waits for the end of its lease."""
        entry = run.queue
        rule = None if entry is None else self._workers.retry_of(entry.kind).of("worker_died")
        if entry is None or rule is None or rule.pause(entry.attempts) is None:  # `after_death` ends it
            with suppress(RunBusy):  # another worker has it
                await self._store.release(
                    await self._store.acquire(run.run_id, owner=holder, seconds=self._lease_seconds)
                )
            return
        with suppress(StatusConflict):  # as above
            await self._queue.queue(run.run_id, entry, detail=run.detail, expected=RUNNING, owner=holder)

    async def end_exhausted(self, claim: Claim, job: Job, most: int) -> Delivery:
        """End a run that has used up its attempts with the death of a worker."""
        spent = claim.entry.attempts - 1
        last = f"; the last error: {job.error}" if job.error else ""
        error = f"attempts exhausted ({spent} of {most}): the last worker died{last}"
        await self._jobs.change(job.run_id, error=error)
        detail = {"error": error, "attempts": spent, "reason": error.partition(":")[0]}
        try:  # the claim has counted an attempt that was none: queue the run without it, for later, and end it
            later = await self._store.now() + timedelta(seconds=self._lease_seconds)
            await self.requeue(claim, replace(claim.entry, attempts=spent, run_at=later), detail)
            recorded = journal_detail(await self._store.run(job.run_id))
            await change_status(self._store, job.run_id, "dead", expected=QUEUED, detail={**recorded, **detail})
        except StatusConflict as conflict:  # another worker took it, and ends it
            return Delivery(conflict.status, error=error)
        await self._report_dead(replace(job, attempts=spent), error)
        return Delivery("dead", error=error)

    async def _report_dead(self, job: Job, error: str, trace: str | None = None) -> None:
        """Log a run that is not tried again, and call the app's `on_dead`."""
        fields = {
            **job_fields(job),
            "error": error,
            "status": "dead",
            **({} if trace is None else {"traceback": trace}),
        }
        log.error("run %s: dead: %s", job.run_id, error, extra=fields)
        if self._workers.on_dead is None:
            return
        try:
            reported = self._workers.on_dead(job, error)
            if isawaitable(reported):
                await reported
        except Exception as problem:
            log.error("on_dead failed for run %s: %s", job.run_id, format_exception(problem))

    async def failed(
        self, claim: Claim, job: Job, error: str, *, lease: LeaseKeeper, code: str | None, trace: str | None = None
    ) -> Delivery:
        """Retry the run later, or let it fail; either way, record its error and its traceback.

        The run is `running` until then: one write has the outcome of the attempt and what becomes of the run.
        """
        rule = self._workers.retry_of(job.kind).of(code)
        pause = None if rule is None else rule.pause(job.attempts)
        again = None if pause is None else await self._store.now() + timedelta(seconds=pause)
        await self._jobs.change(job.run_id, error=error)
        detail: dict[str, Any] = {**lease.unrecorded, "error": error}
        if trace is not None:
            detail["traceback"] = trace
        status: RunStatus = "queued"
        if again is None:
            detail["attempts"] = job.attempts
            status = "failed"
            if rule is not None and rule.max_attempts > 1:
                status = "dead"
                detail["reason"] = f"attempts exhausted ({job.attempts} of {rule.max_attempts})"
        fields = {**job_fields(job), **detail, "status": status}
        if status == "failed":
            log.error("run %s: failed: %s", job.run_id, error, extra=fields)
        elif again is not None:
            log.warning("run %s: attempt %d failed: %s", job.run_id, job.attempts, error, extra=fields)
        try:
            if again is not None:
                retried = replace(job, run_at=again)
                await self.requeue(claim, replace(claim.entry, run_at=again), {**retried.detail(), **detail})
                if self._dispatcher is not None:
                    await self._dispatcher.enqueue(retried)
            else:
                await self._record_failure(lease, status, detail)
        except (StatusConflict, LeaseLost) as conflict:  # it was cancelled, or resumed, at this moment
            found = conflict.status if isinstance(conflict, StatusConflict) else "busy"
            return Delivery(found, error=error)
        if status == "dead":
            await self._report_dead(job, f"{detail['reason']}: {error}", trace)
        return Delivery(status, again, error)

    async def _record_failure(self, keeper: LeaseKeeper, status: RunStatus, detail: dict[str, Any]) -> None:
        """Set the status `failed` or `dead`, and release the run."""
        if keeper.is_due():
            await keeper.renew()
        lease, together = keeper.lease, grouping(self._store)
        detail = {**journal_detail(await self._store.run(lease.run_id)), **detail}
        if together is not None:
            await together.finish(status, detail=detail, lease=lease)
        else:
            await self._store.set_status(lease.run_id, status, detail=detail, lease=lease)
            await self._store.release(lease)


def job_fields(job: Job) -> dict[str, Any]:  # Any: attributes of a log record
    """The attributes of log records about a job."""
    return {"run_id": job.run_id, "job": job.name, "tenant": job.tenant, "attempt": job.attempts}
