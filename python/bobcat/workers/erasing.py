"""Removal of runs that are over: journal, status, job and approvals.

A run is removed under its own lease, which makes sure that no worker executes it. Its documents go first and its
journal last: the next removal completes one that was killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from bobcat.approvals.record import KIND as APPROVAL
from bobcat.approvals.record import STEP_KIND
from bobcat.errors import JobError
from bobcat.stores.protocol import (
    DurableStore,
    ErasableStore,
    Lease,
    LeaseLost,
    RunBusy,
    RunSummary,
    VersionConflict,
    erasable,
)
from bobcat.workers.job import KIND as JOB
from bobcat.workers.selection import RunFilter, select_runs

OPEN = ("queued", "running", "suspended")
"""Statuses of runs that go on: these are never removed."""
LEASE_SECONDS = 60.0
BATCH = 1000
"""Number of runs whose approvals are looked up in one pass over all approvals."""
CONCURRENT = 16
"""Number of runs that are removed at once."""
PAGE = 500
THREAD_PREFIX = "thread:"

DocumentNames = Mapping[str, Sequence[tuple[str, str]]]
"""Kinds and keys of documents by run id."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """The outcome for one run; `problem` is the reason why it was kept."""

    run_id: str
    problem: JobError | None = None


async def erase_runs(store: DurableStore, runs: Collection[RunSummary]) -> list[Erasure]:
    """Remove runs that are over, with their journals, jobs and approvals.

    One that must stay, or that changed since it was read, is kept, with a `JobError`: `open` for a run that goes on,
    `busy` while a process executes it, `in_thread` for a turn of a thread. Raises `StoreError` (`not_erasable`).
    """
    removing, done = erasable(store), list[Erasure]()
    chosen = list(runs)
    for start in range(0, len(chosen), BATCH):
        batch = chosen[start : start + BATCH]
        refusals = {run.run_id: _refusal(run) for run in batch}
        approvals = await _approvals(store, {run_id for run_id, problem in refusals.items() if problem is None})
        erased = [run for run in batch if refusals[run.run_id] is None]
        for first in range(0, len(erased), CONCURRENT):
            refusals |= await _erase_together(removing, erased[first : first + CONCURRENT], approvals)
        done += [Erasure(run.run_id, refusals[run.run_id]) for run in batch]
    return done


async def _erase_together(
    store: ErasableStore, runs: Sequence[RunSummary], approvals: DocumentNames
) -> dict[str, JobError | None]:
    """Remove some runs at once, which share the store's commits. Raises the first error after all have ended."""
    found = await asyncio.gather(
        *(_erase(store, run, approvals.get(run.run_id, ())) for run in runs), return_exceptions=True
    )
    problems: dict[str, JobError | None] = {}
    for run, outcome in zip(runs, found, strict=True):
        if isinstance(outcome, BaseException) and not isinstance(outcome, JobError):
            raise outcome
        problems[run.run_id] = outcome
    return problems


async def prune_runs(store: DurableStore, retention: Mapping[str, timedelta], now: datetime) -> list[Erasure]:
    """Remove the runs of each status that have not changed for its time. Open statuses have none: see `OPEN`."""
    done: list[Erasure] = []
    for status, age in retention.items():
        assert status not in OPEN
        conditions = RunFilter(statuses=(status,), before=now - age)  # type: ignore[arg-type]
        chosen = [found.run async for found in select_runs(store, conditions)]
        done += await erase_runs(store, [run for run in chosen if not run.run_id.startswith(THREAD_PREFIX)])
    return done


def _refusal(run: RunSummary) -> JobError | None:
    if run.run_id.startswith(THREAD_PREFIX):
        return JobError("in_thread", f"the run `{run.run_id}` belongs to a thread: `bobcat threads delete` removes it")
    if run.held:
        return _busy(run.run_id)
    if run.status in OPEN:
        return JobError("open", f"the run `{run.run_id}` is {run.status}: cancel it first")
    return None


async def _erase(store: ErasableStore, run: RunSummary, approvals: Sequence[tuple[str, str]]) -> JobError | None:
    try:
        lease = await store.acquire(run.run_id, owner=f"erasing:{uuid4().hex}", seconds=LEASE_SECONDS)
    except RunBusy:
        return _busy(run.run_id)
    try:
        present = await store.run(run.run_id)
        if lease.fence != run.fence + 1 or present is None or present.status != run.status:
            return await _leave(store, lease, present)
        for kind, key in (*approvals, (JOB, run.run_id)):
            await _discard(store, kind, key)
        await store.renew(lease, seconds=LEASE_SECONDS)
    except LeaseLost:
        return _changed(run.run_id)
    finally:
        await store.release(lease)
    try:
        erased = await store.erase(run.run_id, fence=lease.fence)
    except RunBusy:
        return _busy(run.run_id)
    return None if erased else _changed(run.run_id)


async def _leave(store: ErasableStore, lease: Lease, present: RunSummary | None) -> JobError:
    """Keep a run that changed since it was read; one that only this lease made known is removed again."""
    await store.release(lease)
    made = present is not None and present.status == "running" and not present.records
    if made and await store.get(JOB, lease.run_id) is None:
        with suppress(RunBusy):
            await store.erase(lease.run_id, fence=lease.fence)
    return _changed(lease.run_id)


async def _approvals(store: DurableStore, run_ids: Collection[str]) -> DocumentNames:
    """The approvals of these runs, by one pass over all approvals."""
    found: dict[str, list[tuple[str, str]]] = {}
    for kind in (APPROVAL, STEP_KIND) if run_ids else ():
        after = ""
        while page := await store.scan(kind, after=after, limit=PAGE):
            for entry in page:
                run_id = entry.body.get("run_id")
                if isinstance(run_id, str) and run_id in run_ids:
                    found.setdefault(run_id, []).append((kind, entry.key))
            after = page[-1].key
    return found


async def _discard(store: ErasableStore, kind: str, key: str) -> None:
    while (entry := await store.get(kind, key)) is not None:
        with suppress(VersionConflict):
            await store.discard(entry)


def _busy(run_id: str) -> JobError:
    return JobError("busy", f"a process works on the run `{run_id}`")


def _changed(run_id: str) -> JobError:
    return JobError("busy", f"the run `{run_id}` changed meanwhile")
