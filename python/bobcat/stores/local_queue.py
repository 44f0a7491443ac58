"""The queue of stores that one machine uses: their code decides, under the lock or in the transaction of a store."""

from __future__ import annotations

import asyncio
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from bobcat.stores.codec import moment_of
from bobcat.stores.lease_clock import ClockSample
from bobcat.stores.local import A, LocalStore, S
from bobcat.stores.protocol import QueueEntry, RunStatus, StatusConflict
from bobcat.stores.queue import Claim, ClaimRequest
from bobcat.stores.queue_order import Running, Waiting, accepts, first

T = TypeVar("T")

POLL_SECONDS = 0.05
"""Interval between two looks at the time of a file that other processes write."""


class Announcements:
    """Announcements to the waiting callers of one process, in any of its threads and event loops."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def announce(self) -> None:
        """Wake those that wait."""
        with self._lock:
            self.count += 1
            waiting, self._waiting = self._waiting, {}
        for event, loop in waiting.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def wait(self, seen: int, seconds: float) -> None:
        """Wait for an announcement after the one with the number `seen`, for at most so many seconds."""
        event = asyncio.Event()
        with self._lock:
            if self.count != seen:
                return
            self._waiting[event] = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return
        finally:
            with self._lock:
                self._waiting.pop(event, None)


class LocalQueue(LocalStore[A, S]):
    """The queue over states of runs."""

    def __init__(self, clock: Callable[[], datetime] | None, state: type[S]) -> None:
        super().__init__(clock, state)
        self._announcements = Announcements()
        self._seen: tuple[int, object] | None = None

    async def wait_queued(self, seconds: float) -> bool:
        """Wait until a run may have been queued: here, or, by the time of its file, in another process."""
        until = asyncio.get_running_loop().time() + seconds
        while True:
            found = (self._announcements.count, self._written())
            if found != self._seen:
                self._seen = found
                return True
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await self._announcements.wait(found[0], left if found[1] is None else min(left, POLL_SECONDS))

    def _announce(self) -> None:
        self._announcements.announce()

    async def _queue(
        self, run_id: str, entry: QueueEntry, detail: str, expected: Collection[RunStatus], owner: str | None
    ) -> None:
        def work(access: A) -> None:
            state = self._load_state(access, run_id)
            if state is None:
                state = self._new_state(access, run_id)
            elif state.status not in expected or self._is_held_by_another(state, owner):
                raise StatusConflict(run_id, state.status)
            if owner is not None and state.owner == owner:
                state.owner = None
            turn = self._next_turn(access)
            state.enter(entry, turn)
            self._know_tenant(access, entry.tenant, turn)
            state.change_status("queued", detail, self._now())
            self._save_state(access, state)

        await self._change_queued(run_id, work)
        self._announce()

    async def _adopt(self, run_id: str, entry: QueueEntry) -> bool:
        def work(access: A) -> bool:
            state = self._load_state(access, run_id)
            if state is None or state.kind:
                return False
            turn = self._next_turn(access)
            state.enter(entry, turn)
            self._know_tenant(access, entry.tenant, turn)
            if state.status == "suspended":
                state.look = self._now()
            self._save_state(access, state)
            return True

        adopted = await self._change_queued(run_id, work)
        self._announce()
        return adopted

    async def _look_at(self, run_id: str, moment: int | None) -> None:
        def work(access: A) -> None:
            state = self._load_state(access, run_id)
            if state is not None and state.status == "suspended" and state.kind:
                state.look = moment
                self._save_state(access, state)

        await self._change(run_id, work)

    def _is_held_by_another(self, state: S, owner: str | None) -> bool:
        return state.status == "running" and state.owner != owner and state.is_held(self._read())

    def _take(self, access: A, state: S, owner: str, request: ClaimRequest, seconds: float) -> Claim:
        """Take a run that was chosen, and still is as it was then."""
        taken_over = state.status == "running"
        state.status, state.owner, state.look = "running", owner, None
        state.fence, state.attempts, state.version = (
            state.fence + 1,
            state.attempts + 1,
            state.version or request.version,
        )
        if not taken_over:
            self._serve(access, state.tenant, self._next_turn(access))
        lease = self._extend(access, state, self._read(), seconds)
        entry = state.entry
        assert entry is not None
        return Claim(lease, entry, taken_over)

    def _choose(self, access: A, request: ClaimRequest) -> S | None:
        """The next run in the order of the queue, or the one that the request names."""
        now, counts = self._read(), Running()
        dead: S | None = None
        for state in self._running(access):
            counts.add(state.tenant, state.kind)
            if request.run_id not in (None, state.run_id) or not accepts(request, state.kind, state.version):
                continue
            if state.is_abandoned(now) and (dead is None or (state.updated, state.place) < (dead.updated, dead.place)):
                dead = state
        if dead is not None:
            return dead
        if request.run_id is not None:
            named = self._load_state(access, request.run_id)
            if named is None or not named.is_waiting(now) or not accepts(request, named.kind, named.version):
                return None
            return named if counts.leaves_room(request, named.tenant, named.kind) else None
        waiting = [
            run for run in self._waiting(access, request, now) if counts.leaves_room(request, run.tenant, run.kind)
        ]
        chosen = first(waiting, self._served(access, {run.tenant for run in waiting}))
        return None if chosen is None else self._load_state(access, chosen.run_id)

    def _written(self) -> object:
        """A value that changes when another process writes to the storage; None where no other process can."""
        return None

    @abstractmethod
    async def _change_queued(self, run_id: str, work: Callable[[A], T]) -> T:
        """As `_change`, with exclusive access to the turns and the tenants too."""

    @abstractmethod
    def _running(self, access: A) -> Iterable[S]:
        """The states of `running` runs with an entry."""

    @abstractmethod
    def _waiting(self, access: A, request: ClaimRequest, now: ClockSample) -> Iterable[Waiting]:
        """The first runs that are due, one for each kind, version, tenant and priority that the request accepts."""

    @abstractmethod
    def _next_turn(self, access: A) -> int:
        """A number greater than all earlier ones."""

    @abstractmethod
    def _served(self, access: A, tenants: Collection[str]) -> Mapping[str, int]:
        """The turns in which the tenants were served last."""

    @abstractmethod
    def _serve(self, access: A, tenant: str, turn: int) -> None:
        """Record the turn in which a tenant is served."""

    def _know_tenant(self, access: A, tenant: str, turn: int) -> None:
        """Place a new tenant behind those that are known."""
        if tenant not in self._served(access, (tenant,)):
            self._serve(access, tenant, turn)


def next_moment(states: Iterable[S], now: ClockSample) -> datetime | None:
    """The first time from now on when a worker should look at one of the states."""
    moments = [moment for state in states if (moment := state.due(now)) is not None and moment > now.date]
    return moment_of(min(moments)) if moments else None


def overdue_first(states: Iterable[S], now: int, limit: int) -> list[S]:
    """The suspended runs that are due for a look."""
    due = [state for state in states if state.status == "suspended" and state.look is not None and state.look <= now]
    return sorted(due, key=lambda state: (state.look or 0, state.run_id))[:limit]


def file_time(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Time and size of a file, which change with each write."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
