"""Adoption of runs that an earlier release queued: they get the entry of their job, once for a store."""

from __future__ import annotations

from contextlib import suppress

from bobcat.errors import JobError
from bobcat.logs import logger
from bobcat.stores.protocol import LIVE, VersionConflict
from bobcat.stores.queue import QueueStore
from bobcat.text.json_text import format_exception
from bobcat.workers.job import KIND, job_from_json
from bobcat.workers.listing import list_runs

log = logger("workers")

MARK_KIND, MARK = "queue", "adopted"
"""The document that says that no run is left to adopt."""


async def adopt_runs(store: QueueStore, reported: set[str]) -> None:
    """Give every run of an earlier release its entry, unless a worker has done so before.

    A job that cannot be read is left, logged, and its run added to `reported`.
    """
    if await store.get(MARK_KIND, MARK) is not None:
        return
    for status in LIVE:
        async for run in list_runs(store, status):
            if run.queue is None:
                await _adopt_readable(store, run.run_id, reported)
    with suppress(VersionConflict):  # another worker has adopted them too
        await store.put(MARK_KIND, MARK, {"schema": 1}, expected=0)


async def adopt_run(store: QueueStore, run_id: str) -> bool:
    """Give a run the entry of its job; false for one without a job, or with an entry. Raises `JobError`."""
    document = await store.get(KIND, run_id)
    return document is not None and await store.adopt(run_id, job_from_json(document.body).entry)


async def _adopt_readable(store: QueueStore, run_id: str, reported: set[str]) -> None:
    try:
        await adopt_run(store, run_id)
    except JobError as error:
        reported.add(run_id)
        log.warning("run %s was not delivered: %s", run_id, format_exception(error), extra={"run_id": run_id})
