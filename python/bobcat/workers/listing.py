"""Which runs of a store there are to make now, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bobcat.errors import JobError
from bobcat.stores.durable import DurableStore, RunStatus, RunSummary

if TYPE_CHECKING:
    from bobcat.workers.job import Jobs

PAGE = 100


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


async def due(store: DurableStore, jobs: Jobs, now: datetime) -> list[tuple[int, datetime, str]]:
    """The queued runs whose time has come, in the order in which to make them: negative priority, time, id."""
    found: list[tuple[int, datetime, str]] = []
    for run in await listed(store, "queued"):
        priority, at = await _rank(jobs, run)
        if at <= now:
            found.append((-priority, at, run.run_id))
    return sorted(found)


async def _rank(jobs: Jobs, run: RunSummary) -> tuple[int, datetime]:
    """The priority and the time of a queued run."""
    told: Any = run.detail.get("job")  # Any: JSON that somebody else may have written
    try:
        if isinstance(told, Mapping):
            return int(told["priority"]), datetime.fromisoformat(told["run_at"]).astimezone(UTC)
        job = await jobs.get(run.run_id)
        return int(job.priority), job.run_at.astimezone(UTC)
    except (JobError, KeyError, TypeError, ValueError):
        # Queued by hand, without a job or with none that can be read: nobody can make it, and the others go on.
        return 0, datetime.max.replace(tzinfo=UTC)
