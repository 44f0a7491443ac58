"""Queries for the runs of a store that are due, in their order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeAlias

from bobcat.approvals import Approvals
from bobcat.errors import ApprovalError, JobError
from bobcat.stores.protocol import DurableStore, RunStatus, RunSummary
from bobcat.workers.job import kind_of
from bobcat.workers.jobs import Jobs

PAGE = 100

DueRun: TypeAlias = tuple[int, datetime, str]
"""A run that is due: negative priority, time, id."""


async def list_runs(store: DurableStore, status: RunStatus) -> list[RunSummary]:
    """All runs of a status."""
    found: list[RunSummary] = []
    after: RunSummary | None = None
    while True:
        page = await store.runs(status=status, limit=PAGE, after=after)
        found.extend(page)
        if len(page) < PAGE:
            return found
        after = page[-1]


async def due_runs(store: DurableStore, jobs: Jobs, now: datetime, kinds: Container[str]) -> list[DueRun]:
    """The queued runs of these kinds whose time has come, in the order of execution."""
    found: list[DueRun] = []
    for run in await list_runs(store, "queued"):
        kind, priority, at = await _rank(jobs, run)
        if at <= now and (kind in kinds or not kind):  # the worker reports one without a name as damaged
            found.append((-priority, at, run.run_id))
    return sorted(found)


async def answered(store: DurableStore, approvals: Iterable[str]) -> bool:
    """Return true if one of these approvals has been decided."""
    inbox = Approvals(store)
    for id in approvals:
        with suppress(ApprovalError):  # not in this store: its owner resumes the run
            if (await inbox.show(id)).status != "pending":
                return True
    return False


async def _rank(jobs: Jobs, run: RunSummary) -> tuple[str, int, datetime]:
    """The kind, the priority and the time of a queued run."""
    job_detail: Any = run.detail.get("job")  # Any: JSON that another program may have written
    try:
        if isinstance(job_detail, Mapping):
            at = datetime.fromisoformat(job_detail["run_at"]).astimezone(UTC)
            kind = kind_of(str(job_detail["name"]), job_detail.get("version")) if "name" in job_detail else ""
            return kind, int(job_detail["priority"]), at
        job = await jobs.get(run.run_id)
        return job.kind, int(job.priority), job.run_at.astimezone(UTC)
    except (JobError, KeyError, TypeError, ValueError):
        # Queued manually, without a readable job: no worker can execute it, and the others continue.
        return "", 0, datetime.max.replace(tzinfo=UTC)
