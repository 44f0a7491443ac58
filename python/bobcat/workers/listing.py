"""Which runs of a store there are to make now, and in which order."""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from bobcat.errors import JobError
from bobcat.stores.durable import DurableStore, RunStatus, RunSummary
from bobcat.workers.kinds import kind_of

if TYPE_CHECKING:
    from bobcat.workers.job import Jobs

PAGE = 100

Due: TypeAlias = tuple[int, datetime, str]
"""A run that can be made: negative priority, time, id."""


async def listed(store: DurableStore, status: RunStatus) -> list[RunSummary]:
    """All runs of a status."""
    found: list[RunSummary] = []
    after: RunSummary | None = None
    while True:
        page = await store.runs(status=status, limit=PAGE, after=after)
        found.extend(page)
        if len(page) < PAGE:
            return found
        after = page[-1]


async def due(store: DurableStore, jobs: Jobs, now: datetime, kinds: Container[str]) -> list[Due]:
    """The queued runs of these kinds whose time has come, in the order in which to make them."""
    found: list[Due] = []
    for run in await listed(store, "queued"):
        kind, priority, at = await _rank(jobs, run)
        if at <= now and (kind in kinds or not kind):  # the worker says of one without a name that it is damaged
            found.append((-priority, at, run.run_id))
    return sorted(found)


async def _rank(jobs: Jobs, run: RunSummary) -> tuple[str, int, datetime]:
    """The kind, the priority and the time of a queued run."""
    told: Any = run.detail.get("job")  # Any: JSON that somebody else may have written
    try:
        if isinstance(told, Mapping):
            at = datetime.fromisoformat(told["run_at"]).astimezone(UTC)
            kind = kind_of(str(told["name"]), told.get("version")) if "name" in told else ""
            return kind, int(told["priority"]), at
        job = await jobs.get(run.run_id)
        return job.kind, int(job.priority), job.run_at.astimezone(UTC)
    except (JobError, KeyError, TypeError, ValueError):
        # Queued by hand, without a job or with none that can be read: nobody can make it, and the others go on.
        return "", 0, datetime.max.replace(tzinfo=UTC)
