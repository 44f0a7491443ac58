"""Listings of runs by pages, and the order of a queue without regard to tenants."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from bobcat.stores.protocol import DurableStore, RunStatus, RunSummary

PAGE = 100


async def list_runs(store: DurableStore, status: RunStatus) -> AsyncIterator[RunSummary]:
    """Yield all runs of a status."""
    after: RunSummary | None = None
    while page := await store.runs(status=status, limit=PAGE, after=after):
        for run in page:
            yield run
        after = page[-1]


def queue_rank(run: RunSummary) -> tuple[int, datetime, str]:
    """The place of a queued run within its tenant."""
    assert run.queue is not None
    return -run.queue.priority, run.queue.run_at, run.run_id
