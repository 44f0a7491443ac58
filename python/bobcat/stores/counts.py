"""Counts of the runs that go on, for metrics: a store answers at a cost that does not depend on its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from bobcat.stores.protocol import LIVE, DurableStore, RunStatus, RunSummary

PAGE = 500


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """The runs of a store that go on.

    `runs` has their number by status, `queued` that of queued ones by kind ("": without an entry in the queue). `due`
    is the number of queued runs whose time has come, `oldest_due` the first such time. `approvals` is the number of
    approvals that suspended runs wait for, `oldest_approval` the time since when the first one waits. `uncertain` is
    the number of suspended runs that wait because an action may have happened.
    """

    now: datetime
    runs: Mapping[str, int] = field(default_factory=dict)
    queued: Mapping[str, int] = field(default_factory=dict)
    due: int = 0
    oldest_due: datetime | None = None
    approvals: int = 0
    oldest_approval: datetime | None = None
    uncertain: int = 0


@runtime_checkable
class CountingStore(DurableStore, Protocol):
    """A store that counts its live runs. Optional: see `count_live`."""

    async def counts(self) -> StoreCounts:
        """The counts. Those of a queue without history: runs without an entry may be left out."""


async def count_live(store: DurableStore) -> StoreCounts:
    """The counts of a store; one that is no `CountingStore` is read run by run."""
    return await (store.counts() if isinstance(store, CountingStore) else read_counts(store))


async def read_counts(store: DurableStore) -> StoreCounts:
    """The counts of a store, from a listing of its live runs."""
    tally = Tally(await store.now())
    for status in LIVE:
        after: RunSummary | None = None
        while page := await store.runs(status=status, limit=PAGE, after=after):
            for run in page:
                entry = run.queue
                tally.add(status, "" if entry is None else entry.kind, run.updated if entry is None else entry.run_at)
                if status == "suspended":
                    tally.add_suspended(run.detail, run.updated)
            after = page[-1]
    return tally.counts()


class Tally:
    """Counts runs one by one."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._runs: Counter[str] = Counter(dict.fromkeys(LIVE, 0))
        self._queued: Counter[str] = Counter()
        self._due = self._approvals = self._uncertain = 0
        self._oldest_due: datetime | None = None
        self._oldest_approval: datetime | None = None

    def add(self, status: RunStatus, kind: str, run_at: datetime) -> None:
        """Count one live run."""
        self._runs[status] += 1
        if status == "queued":
            self._queued[kind] += 1
            if run_at <= self._now:
                self._due += 1
                self._oldest_due = run_at if self._oldest_due is None else min(self._oldest_due, run_at)

    def add_suspended(self, detail: Mapping[str, object], since: datetime) -> None:
        """Count the approvals that a suspended run waits for."""
        approvals = detail.get("approvals")
        if isinstance(approvals, list | tuple) and approvals:
            self._approvals += len(approvals)
            self._uncertain += bool(detail.get("uncertain"))
            self._oldest_approval = since if self._oldest_approval is None else min(self._oldest_approval, since)

    def counts(self) -> StoreCounts:
        """The counts so far."""
        return StoreCounts(
            self._now, dict(self._runs), dict(self._queued), self._due, self._oldest_due, self._approvals,
            self._oldest_approval, self._uncertain,
        )  # fmt: skip
