"""The part of a `DurableStore` that the shipped stores share: checks of names and bodies, and errors.

A store implements the methods with an underscore. Their arguments were checked; they raise the same exceptions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from bobcat.journal.records import StepRecord
from bobcat.stores.codec import RecordRow, body_of, checked_entry, microseconds, name_of, row_of, text_of
from bobcat.stores.errors import JournalGap, lease_lost, version_conflict
from bobcat.stores.protocol import Entry, Lease, QueueEntry, RunStatus, RunSummary
from bobcat.stores.queue import Claim, ClaimRequest
from bobcat.stores.traffic import Traffic


class BaseStore(ABC):
    """The public methods of a store, over those that its database decides."""

    _name = staticmethod(name_of)
    """Check of a name. Raises `StoreError`."""

    @cached_property
    def traffic(self) -> Traffic:
        """Counters of this object's statements and commits."""
        return Traffic()

    async def append(self, record: StepRecord) -> None:
        """Store `record` durably, or raise `DuplicateRecord`."""
        await self._append(row_of(record), None)

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""
        return await self.load_from(run_id)

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Acquire the run with the next fence, or raise `RunBusy`."""
        return await self._acquire(self._name("run id", run_id), self._name("owner", owner), seconds)

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """Extend the lease from now, or raise `LeaseLost`."""
        renewed = await self._renew(lease, seconds)
        if renewed is None:
            raise lease_lost(lease, lease.run_id)
        return renewed

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append` while the lease is held, atomically."""
        row = row_of(record)
        if row.run_id != lease.run_id:
            raise lease_lost(lease, row.run_id)
        try:
            await self._append(row, lease)
        except JournalGap as gap:
            await self.mark_restored()
            raise lease_lost(lease, row.run_id) from gap

    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        """Records of a run from `seq` on, by `seq`."""
        return await self._load(self._name("run id", run_id), seq, limit)

    async def set_status(
        self,
        run_id: str,
        status: RunStatus,
        *,
        detail: Mapping[str, Any] | None = None,
        lease: Lease | None = None,
        expected: Collection[RunStatus] | None = None,
    ) -> None:
        """Set the status of a run, or raise `StatusConflict`."""
        self._name("run id", run_id)
        text = text_of("status", detail or {})
        if lease is not None and lease.run_id != run_id:
            raise lease_lost(lease, run_id)
        await self._set_status(run_id, status, text, lease, expected)

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, most recently changed first."""
        return await self._listed(status, limit, None if after is None else (microseconds(after.updated), after.run_id))

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""
        return await self._run(self._name("run id", run_id))

    async def get(self, kind: str, key: str) -> Entry | None:
        """One document, or None."""
        return await self._get(self._name("kind", kind), self._name("key", key))

    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        """Write a document if its version is `expected`, or raise `VersionConflict`."""
        self._name("kind", kind), self._name("key", key)
        text = text_of("document", body)
        updated = await self._put(kind, key, text, expected)
        if updated is None:
            raise version_conflict(kind, key, expected)
        return Entry(kind, key, expected + 1, body_of(text), updated)

    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        """Documents of a kind, by key."""
        return await self._scan(self._name("kind", kind), after, limit)

    async def erase(self, run_id: str, *, fence: int | None = None) -> bool:
        """Remove a run, or raise `RunBusy`."""
        return await self._erase(self._name("run id", run_id), fence)

    async def discard(self, entry: Entry) -> bool:
        """Remove a document that is as it was read, or raise `VersionConflict`."""
        self._name("kind", entry.kind), self._name("key", entry.key)
        removed = await self._discard(entry, microseconds(entry.updated))
        if removed is None:
            raise version_conflict(entry.kind, entry.key, entry.version)
        return removed

    async def epoch(self) -> int:
        """The present epoch."""
        return (await self._last_restore())[0]

    async def restored_at(self) -> datetime | None:
        """The time when the present epoch began."""
        return (await self._last_restore())[1]

    async def mark_uncertain(self, run_id: str) -> None:
        """Mark a run as possibly older than the present epoch."""
        await self._mark_uncertain(self._name("run id", run_id))

    async def queue(
        self,
        run_id: str,
        entry: QueueEntry,
        *,
        detail: Mapping[str, Any] | None = None,
        expected: Collection[RunStatus] = (),
        owner: str | None = None,
    ) -> None:
        """Queue a run and announce it, or raise `StatusConflict`."""
        self._name("run id", run_id)
        await self._queue(run_id, checked_entry(entry), text_of("status", detail or {}), expected, owner)

    async def claim(self, owner: str, request: ClaimRequest, *, seconds: float) -> Claim | None:
        """Take the next run in the order of the queue."""
        return await self._claim(self._name("owner", owner), request, seconds)

    async def adopt(self, run_id: str, entry: QueueEntry) -> bool:
        """Give a run of an earlier release its entry."""
        return await self._adopt(self._name("run id", run_id), checked_entry(entry))

    async def overdue(self, *, limit: int = 100) -> Sequence[RunSummary]:
        """Suspended runs that are due for a look."""
        return await self._overdue(limit)

    async def look_at(self, run_id: str, moment: datetime | None) -> None:
        """Set the time when a suspended run is due for a look."""
        await self._look_at(self._name("run id", run_id), None if moment is None else microseconds(moment))

    async def next_due(self) -> datetime | None:
        """The first time from now on when a run is due."""
        return await self._next_due()

    @abstractmethod
    async def wait_queued(self, seconds: float) -> bool:
        """Wait until a run may have been queued."""

    @abstractmethod
    async def mark_restored(self) -> int:
        """Begin the next epoch."""

    @abstractmethod
    async def _append(self, row: RecordRow, lease: Lease | None) -> None:
        """Also raises `JournalGap` for a record under a lease that does not follow the last one."""

    @abstractmethod
    async def _acquire(self, run_id: str, owner: str, seconds: float) -> Lease: ...

    @abstractmethod
    async def _renew(self, lease: Lease, seconds: float) -> Lease | None:
        """The renewed lease; None for a lost one."""

    @abstractmethod
    async def _load(self, run_id: str, seq: int, limit: int | None) -> Sequence[StepRecord]: ...

    @abstractmethod
    async def _set_status(
        self, run_id: str, status: RunStatus, detail: str, lease: Lease | None, expected: Collection[RunStatus] | None
    ) -> None: ...

    @abstractmethod
    async def _listed(
        self, status: RunStatus | None, limit: int, after: tuple[int, str] | None
    ) -> Sequence[RunSummary]:
        """Runs after one with this time, in microseconds since 1970, and this id."""

    @abstractmethod
    async def _run(self, run_id: str) -> RunSummary | None: ...

    @abstractmethod
    async def _get(self, kind: str, key: str) -> Entry | None: ...

    @abstractmethod
    async def _put(self, kind: str, key: str, text: str, expected: int) -> datetime | None:
        """The time of the change; None for a document of another version."""

    @abstractmethod
    async def _scan(self, kind: str, after: str, limit: int) -> Sequence[Entry]: ...

    @abstractmethod
    async def _erase(self, run_id: str, fence: int | None) -> bool: ...

    @abstractmethod
    async def _discard(self, entry: Entry, updated: int) -> bool | None:
        """False for a document that does not exist, None for another version or time (microseconds since 1970)."""

    @abstractmethod
    async def _last_restore(self) -> tuple[int, datetime | None]:
        """The present epoch, and the time when it began."""

    @abstractmethod
    async def _mark_uncertain(self, run_id: str) -> None: ...

    @abstractmethod
    async def _queue(
        self, run_id: str, entry: QueueEntry, detail: str, expected: Collection[RunStatus], owner: str | None
    ) -> None: ...

    @abstractmethod
    async def _claim(self, owner: str, request: ClaimRequest, seconds: float) -> Claim | None: ...

    @abstractmethod
    async def _adopt(self, run_id: str, entry: QueueEntry) -> bool: ...

    @abstractmethod
    async def _overdue(self, limit: int) -> Sequence[RunSummary]: ...

    @abstractmethod
    async def _look_at(self, run_id: str, moment: int | None) -> None:
        """The moment is in microseconds since 1970."""

    @abstractmethod
    async def _next_due(self) -> datetime | None: ...
