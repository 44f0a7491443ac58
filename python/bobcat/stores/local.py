"""The leases and the statuses of stores that one machine uses, and whose own code decides about them.

Called under the lock or in the transaction of the store, so that a state does not change between its reading and its
writing.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from bobcat.stores.base import BaseStore
from bobcat.stores.codec import microseconds, moment_of, time_of
from bobcat.stores.errors import lease_lost
from bobcat.stores.lease_clock import ClockSample, lease_clock
from bobcat.stores.protocol import Lease, QueueEntry, Renewals, RunBusy, RunStatus, StatusConflict
from bobcat.stores.queue import ENDED_WELL, FIRST_LOOK_SECONDS, RELEASED_SECONDS

T = TypeVar("T")
A = TypeVar("A")


@dataclass(slots=True)
class RunState:
    """The state of a run beside its records; times are microseconds since 1970."""

    run_id: str
    status: RunStatus
    created: int
    updated: int
    detail: Mapping[str, Any] | str = "{}"
    """JSON, as text where it was not parsed."""
    fence: int = 0
    owner: str | None = None
    expires: int = 0
    boot: str | None = None
    until: int = 0
    """End of the lease by the machine's own clock: see `bobcat.stores.lease_clock`."""
    epoch: int = 1
    kind: str = ""
    """The queue entry of the run from here on; an empty kind: the run has no entry."""
    version: str = ""
    tenant: str = ""
    priority: int = 0
    run_at: int = 0
    attempts: int = 0
    place: int = 0
    """Position in the order of queueing, of those with the same time."""
    look: int | None = None
    """Time when the suspended run is due for a look."""

    @property
    def entry(self) -> QueueEntry | None:
        """The entry of the run."""
        if not self.kind:
            return None
        moment = moment_of(self.run_at)
        return QueueEntry(self.kind, moment, self.tenant, self.priority, self.attempts, self.version)

    def enter(self, entry: QueueEntry, place: int) -> None:
        """Set the entry of the run."""
        self.kind, self.version, self.tenant = entry.kind, entry.version, entry.tenant
        self.priority, self.attempts, self.place = entry.priority, entry.attempts, place
        self.run_at = microseconds(entry.run_at)

    def change_status(self, status: RunStatus, detail: str, now: int) -> None:
        """Set the status, and what depends on it in the entry."""
        if self.status == "running" and status in ENDED_WELL:
            self.attempts = max(0, self.attempts - 1)
        self.look = now + int(FIRST_LOOK_SECONDS * 1e6) if status == "suspended" and self.kind else None
        self.status, self.detail, self.updated = status, detail, now

    def is_held(self, now: ClockSample) -> bool:
        """Return true while a lease is alive."""
        return self.owner is not None and now.alive(self.expires, self.boot, self.until)

    def is_abandoned(self, now: ClockSample) -> bool:
        """Return true for a `running` run whose worker died."""
        if self.status != "running" or self.is_held(now):
            return False
        return self.owner is not None or not 0 <= now.date - self.updated < RELEASED_SECONDS * 1e6

    def is_waiting(self, now: ClockSample) -> bool:
        """Return true for a queued run that is due, and that its last holder has released."""
        return self.status == "queued" and bool(self.kind) and self.run_at <= now.date and not self.is_held(now)

    def due(self, now: ClockSample) -> int | None:
        """The time at which a worker should look at the run; None: never."""
        if not self.kind:
            return None
        match self.status:
            case "queued":
                return self.run_at
            case "suspended":
                return self.look
            case "running":
                if not self.is_held(now):
                    return self.updated + int(RELEASED_SECONDS * 1e6)
                known = now.boot is not None and self.boot == now.boot
                return now.date + self.until - now.tick if known else self.expires
            case _:
                return None

    def is_leased_as(self, lease: Lease) -> bool:
        """Return true for the most recent lease, alive or not."""
        return (self.fence, self.owner) == (lease.fence, lease.owner)


S = TypeVar("S", bound=RunState)


class LocalStore(BaseStore, Generic[A, S]):
    """A store over states of runs. `A` is the access that work gets: a connection, or a locked file."""

    def __init__(self, clock: Callable[[], datetime] | None, state: type[S]) -> None:
        self._now, self._read = time_of(clock), lease_clock(clock)
        self._state_type = state
        self.renewals_paused = False

    def lease_renewals(self) -> Renewals:
        """The store itself: any event loop may use it."""
        return self

    async def renew_all(self, leases: Sequence[Lease], *, seconds: float) -> Sequence[Lease | None]:
        """Extend leases from now; None for a lost one. In SQLite, requests that arrive together share a transaction."""
        return await asyncio.gather(*(self._renew(lease, seconds) for lease in leases))

    async def release(self, lease: Lease) -> None:
        """Release the run."""

        def work(access: A) -> bool:
            state = self._load_state(access, lease.run_id)
            if state is None or not state.is_leased_as(lease):
                return False
            state.owner, state.updated = None, self._now()
            self._save_state(access, state)
            return state.status == "queued"

        if await self._change(lease.run_id, work):
            self._announce()

    async def now(self) -> datetime:
        """The store's time: that of the machine."""
        return moment_of(self._now())

    async def _acquire(self, run_id: str, owner: str, seconds: float) -> Lease:
        return await self._change(run_id, self._acquiring(run_id, owner, seconds))

    def _acquiring(self, run_id: str, owner: str, seconds: float) -> Callable[[A], Lease]:
        """The work that acquires a run. It raises before it writes."""

        def work(access: A) -> Lease:
            state, now = self._known_state(access, run_id), self._read()
            if state.owner != owner and state.is_held(now):
                raise RunBusy(run_id, str(state.owner), moment_of(state.expires))
            state.fence, state.owner = state.fence + 1, owner
            return self._extend(access, state, now, seconds)

        return work

    async def _renew(self, lease: Lease, seconds: float) -> Lease | None:
        def work(access: A) -> Lease | None:
            state = self._load_state(access, lease.run_id)
            if state is None or not state.is_leased_as(lease):
                return None
            return self._extend(access, state, self._read(), seconds)

        return await self._change(lease.run_id, work)

    async def _set_status(
        self, run_id: str, status: RunStatus, detail: str, lease: Lease | None, expected: Collection[RunStatus] | None
    ) -> None:
        def work(access: A) -> bool:
            state = self._load_state(access, run_id)
            if lease is not None:
                self._check_held(state, lease)
            if state is not None and expected is not None and state.status not in expected:
                raise StatusConflict(run_id, state.status)
            state = state or self._new_state(access, run_id)
            state.change_status(status, detail, self._now())
            self._save_state(access, state)
            return state.status == "queued"

        if await self._change(run_id, work):
            self._announce()

    async def _erase(self, run_id: str, fence: int | None) -> bool:
        def work(access: A) -> bool:
            state = self._load_state(access, run_id)
            if state is not None:
                if state.is_held(self._read()):
                    raise RunBusy(run_id, str(state.owner), moment_of(state.expires))
                if fence not in (None, state.fence):
                    return False
                if state.fence >= self._first_fence(access):
                    self._set_first_fence(access, state.fence + 1)
            return self._remove_run(access, run_id)

        return await self._change(run_id, work)

    async def _mark_uncertain(self, run_id: str) -> None:
        def work(access: A) -> None:
            state = self._known_state(access, run_id)
            state.epoch = 0
            self._save_state(access, state)

        await self._change(run_id, work)

    def _extend(self, access: A, state: S, now: ClockSample, seconds: float) -> Lease:
        """The lease of the run's owner, which ends so many seconds from now."""
        span = int(seconds * 1e6)
        state.expires, state.boot, state.until = now.date + span, now.boot, now.tick + span
        state.updated = now.date
        self._save_state(access, state)
        return Lease(state.run_id, str(state.owner), state.fence, moment_of(state.expires))

    def _check_held(self, state: S | None, lease: Lease) -> None:
        """Raise `LeaseLost` unless the lease is alive."""
        if state is None or not (state.is_leased_as(lease) and state.is_held(self._read())):
            raise lease_lost(lease, lease.run_id)

    def _known_state(self, access: A, run_id: str) -> S:
        return self._load_state(access, run_id) or self._new_state(access, run_id)

    def _new_state(self, access: A, run_id: str) -> S:
        now = self._now()
        first = self._first_fence(access)
        return self._state_type(run_id, "running", now, now, fence=first, epoch=self._present_epoch(access))

    def _announce(self) -> None:
        """Wake the workers that wait in this process. Others poll the storage."""

    @abstractmethod
    async def _change(self, run_id: str, work: Callable[[A], T]) -> T:
        """Execute `work` with exclusive access to the state of the run."""

    @abstractmethod
    def _load_state(self, access: A, run_id: str) -> S | None:
        """The state of a run, or None."""

    @abstractmethod
    def _save_state(self, access: A, state: S) -> None:
        """Write the state of a run."""

    @abstractmethod
    def _remove_run(self, access: A, run_id: str) -> bool:
        """Remove the state and the records of a run; false without any."""

    @abstractmethod
    def _first_fence(self, access: A) -> int:
        """The fence with which a run becomes known: greater than those of all erased runs."""

    @abstractmethod
    def _set_first_fence(self, access: A, fence: int) -> None:
        """Change the fence with which a run becomes known."""

    @abstractmethod
    def _present_epoch(self, access: A) -> int:
        """The present epoch."""


def recent(states: Iterable[S], status: RunStatus | None, limit: int, after: tuple[int, str] | None) -> list[S]:
    """A page of a listing: most recently changed first."""
    chosen = [
        state
        for state in states
        if status in (None, state.status) and (after is None or (state.updated, state.run_id) < after)
    ]
    return sorted(chosen, key=lambda state: (state.updated, state.run_id), reverse=True)[:limit]
