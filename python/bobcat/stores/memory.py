"""Journals in memory: for tests, and for runs that need a journal only while their process lives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bobcat.journal.records import StepRecord
from bobcat.stores.codec import FENCE_JUMP, body_of, text_of
from bobcat.stores.errors import duplicate_record, lease_lost, version_conflict
from bobcat.stores.protocol import Entry, Lease, RunBusy, RunStatus, RunSummary, StatusConflict


@dataclass(slots=True)
class _MemoryRunState:
    """The state of a run beside its records."""

    status: RunStatus
    created: datetime
    updated: datetime
    detail: str = "{}"
    fence: int = 0
    owner: str | None = None
    expires: datetime = field(default=datetime.min.replace(tzinfo=UTC))
    lease: Lease | None = None
    """The most recent lease: its holder only needs a check of the time."""
    until: float = 0.0
    """End of the lease, in seconds of the lease clock."""
    epoch: int = 1
    appended: int = 0
    last: StepRecord | None = None
    """The record at the highest position."""

    def give(self, lease: Lease, until: float) -> Lease:
        """Register a lease that begins or is renewed."""
        self.expires, self.lease, self.until = lease.expires, lease, until
        return lease


class MemoryStore:
    """A `DurableStore` over dicts, for one process, without durability. Records are kept as objects.

    `clock` is the store's time; a test can pass its own so that leases end without waiting.
    """

    def __init__(self, *, clock: Callable[[], datetime] | None = None) -> None:
        self._runs: dict[str, dict[int, StepRecord]] = {}
        self._states: dict[str, _MemoryRunState] = {}
        self._documents: dict[tuple[str, str], Entry] = {}
        self._clock = clock if clock is not None else partial(datetime.now, UTC)
        # Leases use a clock that cannot be set: the date may jump. PERF: a third of the time of a `datetime`.
        self._seconds = time.monotonic if clock is None else lambda: self._clock().timestamp()
        self._epoch = 1
        self._restored_at: datetime | None = None
        self._lock = threading.Lock()  # for states and documents; records need no lock: `setdefault` is atomic

    async def append(self, record: StepRecord) -> None:
        """Store `record`, or raise `DuplicateRecord`."""
        run = self._runs.get(record.run_id)
        if run is None:
            run = self._begin(record.run_id)
        if record.seq in run or run.setdefault(record.seq, record) is not record:
            raise duplicate_record(record.run_id, record.seq)
        state = self._states[record.run_id]
        state.appended, last = len(run), state.last
        if last is None or record.seq > last.seq:
            state.last = record

    def _begin(self, run_id: str) -> dict[int, StepRecord]:
        with self._lock:
            self._state(run_id)
            return self._runs.setdefault(run_id, {})

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""
        run = self._runs.get(run_id, {})
        return tuple(run[seq] for seq in sorted(run))

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Acquire the run with the next fence, or raise `RunBusy`."""
        with self._lock:
            until = self._seconds() + seconds  # read before the date, so that a lease ends no earlier by its date
            state, now = self._state(run_id), self._clock()
            if state.owner is not None and state.owner != owner and state.until > self._seconds():
                raise RunBusy(run_id, state.owner, state.expires)
            state.fence += 1
            state.owner, state.updated = owner, now
            return state.give(Lease(run_id, owner, state.fence, now + timedelta(seconds=seconds)), until)

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """Extend the lease from now, or raise `LeaseLost`."""
        with self._lock:
            until = self._seconds() + seconds
            now, state = self._clock(), self._states.get(lease.run_id)
            if state is None or state.fence != lease.fence or state.owner != lease.owner:
                raise lease_lost(lease, lease.run_id)
            state.updated = now
            return state.give(replace(lease, expires=now + timedelta(seconds=seconds)), until)

    async def release(self, lease: Lease) -> None:
        """Release the run."""
        with self._lock:
            state = self._states.get(lease.run_id)
            if state is not None and state.fence == lease.fence and state.owner == lease.owner:
                state.owner, state.lease, state.updated = None, None, self._clock()

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append` while the lease is held. Calls `append`, so that a subclass overrides both at once."""
        state = self._states.get(record.run_id)
        if state is None or state.lease is not lease or state.until <= self._seconds():
            self._held(lease, record.run_id)
        await self.append(record)

    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        """Records of a run from `seq` on, by `seq`."""
        run = self._runs.get(run_id, {})
        return tuple(run[position] for position in sorted(position for position in run if position >= seq)[:limit])

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
        text = text_of("status", detail or {})
        with self._lock:
            if lease is not None:
                self._held(lease, run_id)
            known = self._states.get(run_id)
            if known is not None and expected is not None and known.status not in expected:
                raise StatusConflict(run_id, known.status)
            state = self._state(run_id)
            state.status, state.detail, state.updated = status, text, self._clock()

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, most recently changed first."""
        with self._lock:
            known = [self._summary(run_id) for run_id in self._states]
        mark = None if after is None else (after.updated, after.run_id)
        chosen = [
            each
            for each in known
            if status in (None, each.status) and (mark is None or (each.updated, each.run_id) < mark)
        ]
        return tuple(sorted(chosen, key=lambda each: (each.updated, each.run_id), reverse=True)[:limit])

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""
        with self._lock:
            return self._summary(run_id) if run_id in self._states else None

    async def get(self, kind: str, key: str) -> Entry | None:
        """One document, or None."""
        return self._documents.get((kind, key))

    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        """Write a document if its version is `expected`, or raise `VersionConflict`."""
        kept = body_of(text_of("document", body))
        with self._lock:
            current = self._documents.get((kind, key))
            if expected != (0 if current is None else current.version):
                raise version_conflict(kind, key, expected)
            entry = self._documents[kind, key] = Entry(kind, key, expected + 1, kept, self._clock())
            return entry

    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        """Documents of a kind, by key."""
        with self._lock:
            keys = sorted(key for each, key in self._documents if each == kind and key > after)
            return tuple(self._documents[kind, key] for key in keys[:limit])

    async def now(self) -> datetime:
        """The store's time."""
        return self._clock()

    async def epoch(self) -> int:
        """The present epoch."""
        return self._epoch

    async def mark_restored(self) -> int:
        """Begin the next epoch."""
        with self._lock:
            self._epoch, self._restored_at = self._epoch + 1, self._clock()
            for state in self._states.values():
                state.fence, state.owner, state.lease = state.fence + FENCE_JUMP, None, None
            return self._epoch

    async def restored_at(self) -> datetime | None:
        """The time when the present epoch began."""
        return self._restored_at

    async def mark_uncertain(self, run_id: str) -> None:
        """Mark a run as possibly older than the present epoch."""
        with self._lock:
            self._state(run_id).epoch = 0

    async def aclose(self) -> None:
        """Do nothing: there are no resources."""

    def _state(self, run_id: str) -> _MemoryRunState:
        state = self._states.get(run_id)
        if state is None:
            now = self._clock()
            state = self._states[run_id] = _MemoryRunState("running", now, now, epoch=self._epoch)
        return state

    def _held(self, lease: Lease, run_id: str) -> None:
        state = self._states.get(run_id)
        if (
            state is None
            or lease.run_id != run_id
            or state.fence != lease.fence
            or state.owner != lease.owner
            or state.until <= self._seconds()
        ):
            raise lease_lost(lease, run_id)

    def _summary(self, run_id: str) -> RunSummary:
        state, records = self._states[run_id], self._runs.get(run_id, ())
        head = None if state.last is None else state.last.body.get("chain")
        return RunSummary(
            run_id, state.status, len(records), state.fence, state.created, state.updated, body_of(state.detail),
            appended=state.appended, head=head if isinstance(head, str) else "", restored=state.epoch < self._epoch,
            held=state.owner is not None and state.until > self._seconds(),
        )  # fmt: skip
