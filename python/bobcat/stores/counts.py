"""Counts of the runs that go on, for metrics: a store answers with one statement, whatever its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from bobcat.stores.protocol import DurableStore, RunStatus, RunSummary

LIVE: tuple[RunStatus, ...] = ("queued", "running", "suspended")
"""Statuses of runs that go on."""
PAGE = 500


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """The runs of a store that go on. `runs` has their number by status and kind; "" is a run without a job.

    `due` is the number of queued runs whose time has come, `oldest_due` the first such time. `approvals` is the number
    of approvals that suspended runs wait for, `oldest_approval` the time since when the first one waits. `uncertain` is
    the number of suspended runs that wait because an action may have happened.
    """

    now: datetime
    runs: Mapping[tuple[RunStatus, str], int] = field(default_factory=dict)
    due: int = 0
    oldest_due: datetime | None = None
    approvals: int = 0
    oldest_approval: datetime | None = None
    uncertain: int = 0


@runtime_checkable
class CountingStore(DurableStore, Protocol):
    """A store that counts its live runs. Optional: see `count_live`."""

    async def counts(self) -> StoreCounts:
        """The counts, at a cost that does not depend on the number of runs that are over."""


async def count_live(store: DurableStore) -> StoreCounts:
    """The counts of a store; one that is no `CountingStore` is read run by run."""
    if isinstance(store, CountingStore):
        return await store.counts()
    tally = Tally(await store.now())
    for status in LIVE:
        after: RunSummary | None = None
        while page := await store.runs(status=status, limit=PAGE, after=after):
            for run in page:
                tally.add(run)
            after = page[-1]
    return tally.counts()


class Tally:
    """Counts runs one by one."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._runs: Counter[tuple[RunStatus, str]] = Counter()
        self._due = self._approvals = self._uncertain = 0
        self._oldest_due: datetime | None = None
        self._oldest_approval: datetime | None = None

    def add(self, run: RunSummary) -> None:
        """Count one run."""
        job: Any = run.detail.get("job")  # Any: JSON that another program may have written
        named: Mapping[str, Any] = job if isinstance(job, Mapping) else {}
        version = named.get("version")
        self._runs[run.status, str(named.get("name", "")) + (f"@{version}" if version else "")] += 1
        if run.status == "queued":
            at = _moment(named.get("run_at")) or run.updated
            if at <= self._now:
                self._due += 1
                self._oldest_due = at if self._oldest_due is None else min(self._oldest_due, at)
        approvals = run.detail.get("approvals")
        if run.status == "suspended" and isinstance(approvals, list | tuple):
            self._approvals += len(approvals)
            self._uncertain += bool(run.detail.get("uncertain"))
            if approvals:
                oldest = self._oldest_approval
                self._oldest_approval = run.updated if oldest is None else min(oldest, run.updated)

    def counts(self) -> StoreCounts:
        """The counts so far."""
        return StoreCounts(
            self._now, dict(self._runs), self._due, self._oldest_due, self._approvals, self._oldest_approval,
            self._uncertain,
        )  # fmt: skip


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return None if found is None or found.tzinfo is None else found
