"""Client of a store's job queue: enqueue, cancel, resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from bobcat.errors import JobError, StoreError
from bobcat.stores.codec import MAX_PRIORITY, checked_entry
from bobcat.stores.protocol import (
    DurableStore,
    LeaseLost,
    RunBusy,
    RunStatus,
    RunSummary,
    StatusConflict,
    VersionConflict,
    change_status,
)
from bobcat.stores.queue import with_queue
from bobcat.workers.dispatch import RunQueue
from bobcat.workers.job import KIND, Job, job_from_json, journal_detail, plain_payload, utc_time

CANCEL_SECONDS = 10.0
"""Lease duration of a cancellation of a run whose worker died."""
RUNNING: tuple[RunStatus, ...] = ("running",)
QUEUED: tuple[RunStatus, ...] = ("queued",)
IN_ENTRY = frozenset(("run_at", "priority", "attempts"))
"""Fields of a job that its entry in the queue has."""


class Jobs:
    """Client of the queue: enqueue, cancel and resume runs."""

    def __init__(self, store: DurableStore, dispatcher: RunQueue | None = None) -> None:
        self._store = with_queue(store)
        self._dispatcher = dispatcher

    async def enqueue(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        run_id: str | None = None,
        priority: int = 0,
        run_at: datetime | None = None,
        tenant: str = "",
        version: str | None = None,
        thread: str = "",
    ) -> Job:
        """Queue a run, to start at `run_at` or as soon as possible.

        With an explicit `run_id`, a second call has no effect. With a `version`, only a worker whose app has this
        version of the run takes it. With a `thread`, the run is a turn of that thread, sent once; the app must have
        `WorkerTriggers`. Raises `JobError`: `taken` when that id belongs to another job, `bad_job` for an
        invalid job, such as a payload that is not JSON or a `run_at` without a time zone.
        """
        plain = plain_payload({} if payload is None else payload)
        at = await self._store.now() if run_at is None else utc_time(run_at)
        named = "-" if run_id is None else run_id
        for label, text in (("name", name), ("tenant", tenant), ("run id", named), ("thread", thread)):
            if not isinstance(text, str) or not (text or label in ("tenant", "thread")):
                required = "a string" if label in ("tenant", "thread") else "a non-empty string"
                raise JobError("bad_job", f"the {label} of a job must be {required}, got `{text!r}`")
        if version is not None and (not isinstance(version, str) or not version):
            raise JobError("bad_job", f"the version of a job must be a non-empty string, got `{version!r}`")
        if type(priority) is not int or abs(priority) > MAX_PRIORITY:
            raise JobError(
                "bad_job",
                f"a priority must be an integer between -{MAX_PRIORITY} and {MAX_PRIORITY}, got `{priority!r}`",
            )
        job = Job(
            uuid4().hex if run_id is None else run_id, name, plain, at, priority, tenant, version=version, thread=thread
        )
        try:
            checked_entry(job.entry)
        except StoreError as error:
            raise JobError("bad_job", str(error)) from error
        try:
            await self._store.put(KIND, job.run_id, job.to_json(), expected=0)
        except VersionConflict:
            known = await self.get(job.run_id)
            if (known.kind, known.payload, known.tenant, known.thread) != (job.kind, job.payload, tenant, thread):
                raise JobError("taken", f"the run id `{job.run_id}` belongs to another job, `{known.kind}`") from None
            job = known
        with suppress(StatusConflict):  # it was queued, and may have progressed since
            await self._store.queue(job.run_id, job.entry, detail=job.detail())
            if self._dispatcher is not None:
                await self._dispatcher.enqueue(job)
        return job

    async def get(self, run_id: str) -> Job:
        """One job, with the time, priority and attempts of its entry in the queue. Raises `JobError` (`unknown`)."""
        entry = await self._store.get(KIND, run_id)
        if entry is None:
            raise JobError("unknown", await self._unknown(run_id))
        job, run = job_from_json(entry.body), await self._store.run(run_id)
        return job if run is None else job.with_entry(run.queue)

    async def _unknown(self, run_id: str) -> str:
        if await self._store.run(run_id) is None:
            return f"there is no job for a run `{run_id}` in this store"
        return f"the run `{run_id}` was not queued: only the program that began it can resume it"

    async def cancel(self, run_id: str, *, reason: str = "cancelled by hand") -> RunSummary | None:
        """Stop a run; its worker stops within a moment. Returns its last known state.

        Raises `JobError` (`unknown`; `over` when it has ended, even at this moment).
        """
        asked = False
        while True:
            run = await self._store.run(run_id)
            if (
                run is not None
                and run.status in ("succeeded", "cancelled")
                and not (asked and run.status == "cancelled")
            ):
                if asked:
                    await self.change(run_id, cancelled=None)
                raise JobError("over", f"the run `{run_id}` is over ({run.status})")
            if not asked:
                await self.change(run_id, cancelled=reason)
                if self._dispatcher is not None:
                    await self._dispatcher.cancel(run_id)
                asked = True
                continue  # it may have ended before its worker noticed
            if run is not None and run.status == "running" and run.held is False:  # its worker died
                await self._end_abandoned(run, reason)
                continue
            if run is not None and run.status in ("running", "cancelled"):
                return run
            with suppress(StatusConflict):  # a worker took it, or it ended: read it again
                expected = () if run is None else (run.status,)
                await change_status(self._store, run_id, "cancelled", expected=expected, detail=_cancelled(run, reason))

    async def _end_abandoned(self, run: RunSummary, reason: str) -> None:
        """Cancel a run whose worker died, under its lease: a worker that was only suspended does nothing more."""
        with suppress(RunBusy, LeaseLost, StatusConflict):  # another worker took it: read it again
            lease = await self._store.acquire(run.run_id, owner=f"cancel:{uuid4().hex}", seconds=CANCEL_SECONDS)
            try:
                detail = _cancelled(run, reason)
                await self._store.set_status(run.run_id, "cancelled", detail=detail, lease=lease, expected=RUNNING)
            finally:
                await self._store.release(lease)

    async def end_if_cancelled(self, run: RunSummary) -> None:
        """End a run whose worker died, if it was cancelled. Raises `JobError`."""
        reason = (await self.get(run.run_id)).cancelled
        if reason is not None:
            await self._end_abandoned(run, reason)

    async def resume(self, run_id: str) -> Job:
        """Queue a run that failed, was cancelled or is suspended, to continue from its journal.

        Raises `JobError` (`unknown`; `over` when it has succeeded).
        """
        while True:
            run = await self._store.run(run_id)
            if run is not None and run.status == "succeeded":
                raise JobError("over", f"the run `{run_id}` is over (succeeded)")
            job = replace(await self.change(run_id, cancelled=None), run_at=await self._store.now(), attempts=0)
            if run is not None and run.status == "running":  # another worker's, or it is found when its lease ends
                return job
            version = "" if run is None or run.queue is None else run.queue.version
            with suppress(StatusConflict):  # a worker took it, or it ended: read it again
                await self._store.queue(
                    run_id,
                    replace(job.entry, version=version),
                    detail={**journal_detail(run), **job.detail()},
                    expected=() if run is None else (run.status,),
                )
                if self._dispatcher is not None:
                    await self._dispatcher.enqueue(job)
                return job

    async def change(self, run_id: str, **fields: Any) -> Job:  # Any: fields of a job
        """Replace fields of a job. Raises `JobError` (`unknown`).

        `run_at`, `priority` and `attempts` are those of its entry in the queue: they can be changed while the run is
        queued. Raises `StatusConflict` for a run with another status.
        """
        moved = {name: fields.pop(name) for name in IN_ENTRY & fields.keys()}
        job = await self.update(run_id, lambda job: replace(job, **fields))
        return await self._move(job, moved) if moved else job

    async def _move(self, job: Job, fields: dict[str, Any]) -> Job:  # Any: as above
        run = await self._store.run(job.run_id)
        if run is None or run.queue is None:
            raise JobError("unknown", await self._unknown(job.run_id))
        entry = replace(run.queue, **fields)
        await self._store.queue(job.run_id, entry, detail=run.detail, expected=QUEUED)
        return job.with_entry(entry)

    async def update(self, run_id: str, changed: Callable[[Job], Job]) -> Job:
        """Replace a job by what `changed` makes of it. Raises `JobError` (`unknown`)."""
        while True:
            entry = await self._store.get(KIND, run_id)
            if entry is None:
                raise JobError("unknown", await self._unknown(run_id))
            job = changed(job_from_json(entry.body))
            try:
                await self._store.put(KIND, run_id, job.to_json(), expected=entry.version)
            except VersionConflict:
                continue
            return job


def _cancelled(run: RunSummary | None, reason: str) -> dict[str, Any]:  # Any: JSON
    return {**journal_detail(run), "error": f"cancelled: {reason}"}
