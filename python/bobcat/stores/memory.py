"""Journals in memory: for tests, and for runs that need a journal only while their process lives."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from bobcat.journal.records import StepRecord
from bobcat.stores.codec import FENCE_JUMP, RecordRow, body_of, microseconds, moment_of
from bobcat.stores.counts import StoreCounts
from bobcat.stores.errors import duplicate_record, lease_lost
from bobcat.stores.lease_clock import ClockSample
from bobcat.stores.local import RunState, recent
from bobcat.stores.local_counts import counts_of
from bobcat.stores.local_queue import LocalQueue, overdue_first
from bobcat.stores.memory_queue import QueueIndex
from bobcat.stores.protocol import Entry, Lease, RunStatus, RunSummary
from bobcat.stores.queue import Claim, ClaimRequest
from bobcat.stores.queue_order import Waiting

T = TypeVar("T")


@dataclass(slots=True)
class _MemoryRunState(RunState):
    lease: Lease | None = None
    """The most recent lease: its holder only needs a check of the time."""
    ends: float = 0.0
    """End of the lease, in seconds of the lease clock."""
    appended: int = 0
    last: StepRecord | None = None
    """The record at the highest position."""


@dataclass(slots=True)
class _Documents:
    """The documents of one kind."""

    entries: dict[str, Entry] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    """In order: a scan costs as much as its page, however many documents the store has."""


class MemoryStore(LocalQueue[None, _MemoryRunState]):
    """A `DurableStore` over dicts, for one process, without durability. Records are kept as objects.

    `clock` is the store's time; a test can pass its own so that leases end without waiting.
    """

    _name = staticmethod(lambda label, name: name)  # a dict takes any name

    def __init__(self, *, clock: Callable[[], datetime] | None = None) -> None:
        super().__init__(clock, _MemoryRunState)
        self._runs: dict[str, dict[int, StepRecord]] = {}
        self._states: dict[str, _MemoryRunState] = {}
        self._documents: dict[str, _Documents] = {}
        self._queued = QueueIndex()
        # Leases use a clock that cannot be set: the date may jump. PERF: a third of the time of a `datetime`.
        self._seconds = time.monotonic if clock is None else lambda: self._now() / 1e6
        self._read = self._sample
        self._epoch, self._fence = 1, 0
        self._restored_at: datetime | None = None
        self._lock = threading.Lock()  # for states and documents; records need no lock: `setdefault` is atomic

    async def append(self, record: StepRecord) -> None:
        """Store `record`, or raise `DuplicateRecord`."""
        run = self._runs.get(record.run_id)
        if run is None:
            run = self._begin(record.run_id)
        if record.seq in run or run.setdefault(record.seq, record) is not record:
            raise duplicate_record(record.run_id, record.seq)
        state = self._states.get(record.run_id)
        if state is None:  # another thread erased the run meanwhile
            return
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

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append` while the lease is held. Calls `append`, so that a subclass overrides both at once."""
        state = self._states.get(record.run_id)
        if state is None or state.lease is not lease or state.ends <= self._seconds():
            self._held(lease, record.run_id)
        await self.append(record)

    async def mark_restored(self) -> int:
        """Begin the next epoch."""
        with self._lock:
            self._epoch, self._restored_at = self._epoch + 1, moment_of(self._now())
            for state in self._states.values():
                state.fence, state.owner, state.lease = state.fence + FENCE_JUMP, None, None
            return self._epoch

    async def aclose(self) -> None:
        """Do nothing: there are no resources."""

    async def _append(self, row: RecordRow, lease: Lease | None) -> None:
        raise TypeError("`append` and `append_fenced` keep records as objects: no row is written")

    async def _load(self, run_id: str, seq: int, limit: int | None) -> Sequence[StepRecord]:
        run, state = self._runs.get(run_id, {}), self._states.get(run_id)
        last = -1 if state is None or state.last is None else state.last.seq
        # PERF: a page of a long journal costs as much as one of a short journal, unless positions are missing.
        try:
            return tuple([run[position] for position in range(seq, max(last + 1, len(run)))[:limit]])
        except KeyError:
            return tuple(run[position] for position in sorted(position for position in run if position >= seq)[:limit])

    async def _listed(
        self, status: RunStatus | None, limit: int, after: tuple[int, str] | None
    ) -> Sequence[RunSummary]:
        with self._lock:
            return tuple([self._summary(state) for state in recent(self._states.values(), status, limit, after)])

    async def _run(self, run_id: str) -> RunSummary | None:
        with self._lock:
            state = self._states.get(run_id)
            return None if state is None else self._summary(state)

    async def _get(self, kind: str, key: str) -> Entry | None:
        found = self._documents.get(kind)
        return None if found is None else found.entries.get(key)

    async def _put(self, kind: str, key: str, text: str, expected: int) -> datetime | None:
        with self._lock:
            found = self._documents.setdefault(kind, _Documents())
            current = found.entries.get(key)
            if expected != (0 if current is None else current.version):
                return None
            if current is None:
                insort(found.keys, key)
            updated = moment_of(self._now())
            found.entries[key] = Entry(kind, key, expected + 1, body_of(text), updated)
            return updated

    async def counts(self) -> StoreCounts:
        """Count the live runs."""
        with self._lock:
            return counts_of(self._states.values(), self._now())

    async def _discard(self, entry: Entry, updated: int) -> bool | None:
        with self._lock:
            found = self._documents.get(entry.kind)
            current = None if found is None else found.entries.get(entry.key)
            if found is None or current is None:
                return False
            if (current.version, microseconds(current.updated)) != (entry.version, updated):
                return None
            del found.entries[entry.key]
            del found.keys[bisect_left(found.keys, entry.key)]
            return True

    async def _scan(self, kind: str, after: str, limit: int) -> Sequence[Entry]:
        with self._lock:
            found = self._documents.get(kind)
            if found is None:
                return ()
            first = bisect_right(found.keys, after)
            return tuple([found.entries[key] for key in found.keys[first : first + limit]])

    async def _last_restore(self) -> tuple[int, datetime | None]:
        return self._epoch, self._restored_at

    async def _change(self, run_id: str, work: Callable[[None], T]) -> T:
        with self._lock:
            return work(None)

    async def _change_queued(self, run_id: str, work: Callable[[None], T]) -> T:
        return await self._change(run_id, work)

    async def _claim(self, owner: str, request: ClaimRequest, seconds: float) -> Claim | None:
        with self._lock:
            state = self._choose(None, request)
            return None if state is None else self._take(None, state, owner, request, seconds)

    async def _overdue(self, limit: int) -> Sequence[RunSummary]:
        with self._lock:
            due = overdue_first(self._queued.suspended.values(), self._now(), limit)
            return tuple([self._summary(self._states[state.run_id]) for state in due])

    async def _next_due(self) -> datetime | None:
        with self._lock:
            now = self._read()
            others = (*self._queued.running.values(), *self._queued.suspended.values())
            moments = [moment for state in others if (moment := state.due(now)) is not None and moment > now.date]
            return min(map(moment_of, (*moments, *self._queued.queued_after(now.date))), default=None)

    def _running(self, access: None) -> Iterable[_MemoryRunState]:
        return [self._states[run_id] for run_id in self._queued.running]

    def _waiting(self, access: None, request: ClaimRequest, now: ClockSample) -> Iterable[Waiting]:
        return self._queued.waiting(request, now, self._states)

    def _next_turn(self, access: None) -> int:
        self._queued.turn += 1
        return self._queued.turn

    def _served(self, access: None, tenants: Collection[str]) -> Mapping[str, int]:
        return self._queued.served

    def _serve(self, access: None, tenant: str, turn: int) -> None:
        self._queued.served[tenant] = turn

    def _load_state(self, access: None, run_id: str) -> _MemoryRunState | None:
        return self._states.get(run_id)

    def _save_state(self, access: None, state: _MemoryRunState) -> None:
        if state.owner is None:
            state.lease = None
        self._states[state.run_id] = state
        if state.kind:
            self._queued.put(state)

    def _remove_run(self, access: None, run_id: str) -> bool:
        records, state = self._runs.pop(run_id, None), self._states.pop(run_id, None)
        self._queued.remove(run_id)
        return records is not None or state is not None

    def _first_fence(self, access: None) -> int:
        return self._fence

    def _set_first_fence(self, access: None, fence: int) -> None:
        self._fence = fence

    def _present_epoch(self, access: None) -> int:
        return self._epoch

    def _extend(self, access: None, state: _MemoryRunState, now: ClockSample, seconds: float) -> Lease:
        state.lease, state.ends = super()._extend(access, state, now, seconds), state.until / 1e6
        return state.lease

    def _sample(self) -> ClockSample:
        tick = round(self._seconds() * 1e6)  # read before the date, so that a lease ends no earlier by its date
        return ClockSample(self._now(), "", tick)

    def forget(self, run_id: str) -> None:
        """Remove a run and its records."""
        with self._lock:
            self._remove_run(None, run_id)

    def _state(self, run_id: str) -> _MemoryRunState:
        """The state of a run, which becomes known."""
        if run_id not in self._states:
            self._states[run_id] = self._new_state(None, run_id)
        return self._states[run_id]

    def _held(self, lease: Lease, run_id: str) -> None:
        if lease.run_id != run_id:
            raise lease_lost(lease, run_id)
        self._check_held(self._states.get(run_id), lease)

    def _summary(self, state: _MemoryRunState) -> RunSummary:
        head = None if state.last is None else state.last.body.get("chain")
        return RunSummary(
            state.run_id, state.status, len(self._runs.get(state.run_id, ())), state.fence, moment_of(state.created),
            moment_of(state.updated), body_of(str(state.detail)), appended=state.appended,
            head=head if isinstance(head, str) else "", restored=state.epoch < self._epoch,
            held=state.is_held(self._read()), queue=state.entry,
        )  # fmt: skip
