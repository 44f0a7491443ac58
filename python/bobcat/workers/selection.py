"""Selection of runs by status, tenant, kind, age and text, for listings and for operations on many runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bobcat.errors import JobError, StoreError
from bobcat.stores.protocol import DurableStore, RunStatus, RunSummary
from bobcat.workers.job import KIND, Job, job_from_json, kind_of

PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Conditions that a run must all meet; the default meets every run.

    `statuses`: one of them. `kind`: the name of the run, or `NAME@VERSION`. `before`, `since`: the time of its last
    change. `text`: a part of its id, its task or its error, in any case.
    """

    statuses: tuple[RunStatus, ...] = ()
    tenant: str | None = None
    kind: str | None = None
    before: datetime | None = None
    since: datetime | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run, and its job as far as a condition needed it."""

    run: RunSummary
    tenant: str = ""
    kind: str = ""


def cursor_at(updated: datetime, run_id: str) -> RunSummary:
    """The position in a listing after the run with this time of change and this id."""
    return RunSummary(run_id, "queued", 0, 0, updated, updated, {})


async def select_runs(
    store: DurableStore, conditions: RunFilter, *, after: RunSummary | None = None
) -> AsyncIterator[FoundRun]:
    """Yield the runs that meet the conditions, most recently changed first; threads themselves are omitted.

    Runs are read by pages: one that changes meanwhile may be missed or occur twice.
    """
    status = conditions.statuses[0] if len(conditions.statuses) == 1 else None
    if conditions.before is not None and (after is None or conditions.before <= after.updated):
        after = cursor_at(conditions.before, "")
    while page := await store.runs(status=status, limit=PAGE, after=after):
        after = page[-1]
        for run in page:
            if conditions.since is not None and run.updated < conditions.since:
                return
            found = await _matching(store, conditions, run)
            if found is not None:
                yield found


async def _matching(store: DurableStore, conditions: RunFilter, run: RunSummary) -> FoundRun | None:
    if run.detail.get("thread") is True or (conditions.statuses and run.status not in conditions.statuses):
        return None
    tenant, kind = _listed_job(run)
    error = str(run.detail.get("error") or "")
    if conditions.tenant is not None or conditions.kind is not None or conditions.text is not None:
        job = await _job(store, run.run_id) if kind is None or conditions.text is not None else None
        if job is not None:
            tenant, kind, error = job.tenant, job.kind, error or job.error or ""
        if conditions.tenant is not None and (tenant or "") != conditions.tenant:
            return None
        if conditions.kind is not None and conditions.kind not in ((kind or ""), (kind or "").partition("@")[0]):
            return None
        if conditions.text is not None and not await _has_text(store, run.run_id, error, conditions.text.casefold()):
            return None
    return FoundRun(run, tenant or "", kind or "")


def _listed_job(run: RunSummary) -> tuple[str | None, str | None]:
    """The tenant and the kind of a run with an entry in the queue, or with a job in its detail; else None."""
    if run.queue is not None:
        return run.queue.tenant, run.queue.kind
    job: Any = run.detail.get("job")  # Any: JSON that another program may have written
    if not isinstance(job, Mapping) or not isinstance(job.get("name"), str) or "tenant" not in job:
        return None, None
    return str(job["tenant"]), kind_of(job["name"], job.get("version"))


async def _job(store: DurableStore, run_id: str) -> Job | None:
    try:
        entry = await store.get(KIND, run_id)
        return None if entry is None else job_from_json(entry.body)
    except JobError:  # unreadable: it has no tenant and no kind
        return None


async def _has_text(store: DurableStore, run_id: str, error: str, text: str) -> bool:
    if text in run_id.casefold() or text in error.casefold():
        return True
    try:
        first = await store.load_from(run_id, limit=1)
    except StoreError as unreadable:
        if unreadable.code != "damaged":
            raise
        return False
    task = first[0].body.get("task") if first else None
    return isinstance(task, str) and text in task.casefold()
