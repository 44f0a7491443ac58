"""The thread of a process that renews leases: all leases of one store object with one statement, three times a lease.

An event loop that a synchronous call blocks renews nothing, so its runs, and those beside them, would be lost to other
workers. This thread has an event loop of its own. A process that is frozen as a whole still loses its leases, and so
does a loop that stays blocked for `BLOCKED_LEASES` lease durations: it may never return.

There is one thread for a process, whatever its stores and event loops; it starts with the first lease. Callers are
`bobcat.runtime.lease`, which registers the leases of runs, and the stores, which close their connections here.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, cast

from bobcat.logs import logger
from bobcat.stores.errors import lease_lost
from bobcat.stores.protocol import DurableStore, Lease, Renewals, RenewingStore
from bobcat.text.json_text import format_exception

log = logger("stores")

SUSPENDED = "the process was suspended for too long"
RETRIES_PER_LEASE = 20
"""How often within one lease duration a failed renewal is tried again."""


BLOCKED_LEASES = 10
"""Lease durations for which the leases of a blocked event loop are renewed."""


class HeldLease(Protocol):
    """A lease that a run holds. The methods are called in the thread; times are those of `time.monotonic`."""

    seconds: float
    """Lease duration."""
    due: float
    """Time of the next renewal."""
    end: float
    """Time from which the run may do no more under the lease."""
    paused: bool
    """While true, a transaction of the store protects the lease: it is neither renewed nor expired."""
    loop: asyncio.AbstractEventLoop
    problem: str
    """Reason for which the last renewal failed; `SUSPENDED` when it did not fail."""

    @property
    def lease(self) -> Lease:
        """The present lease."""

    def renewed(self, lease: Lease, began: float) -> None:
        """Note a renewal that began at this time."""

    def lost(self, reason: str) -> None:
        """Notify the run that another worker has it."""

    def failed(self, problem: str) -> None:
        """Notify the run that the lease is about to expire, because it could not be renewed."""


class LeaseThread:
    """Renews the registered leases until they are removed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, tuple[HeldLease, Renewals]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakes_at = 0.0
        self._wake = asyncio.Event()
        self._renewing: dict[tuple[int, float], asyncio.Task[None]] = {}
        self._pinged: dict[asyncio.AbstractEventLoop, float] = {}
        self._blocked: set[asyncio.AbstractEventLoop] = set()
        self._given_up: set[asyncio.AbstractEventLoop] = set()

    def add(self, held: HeldLease, renewals: Renewals) -> None:
        """Renew a lease from now on."""
        with self._lock:
            loop = self._started()
            self._held[id(held)] = held, renewals
            wakes = held.due < self._wakes_at
        if wakes:
            loop.call_soon_threadsafe(self._wake.set)

    def remove(self, held: HeldLease) -> None:
        """Renew a lease no more. A renewal in progress may still happen, and its outcome is ignored."""
        with self._lock:
            self._held.pop(id(held), None)

    def of(self, renewals: Renewals) -> list[HeldLease]:
        """The registered leases of a store."""
        with self._lock:
            return [held for held, through in self._held.values() if through is renewals]

    async def call(self, work: Coroutine[Any, Any, object]) -> None:  # Any: a coroutine of any kind
        """Await `work` on the thread's event loop; nothing, when there is no thread."""
        loop = self._loop
        if loop is None:
            work.close()
            return
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._run, args=(self._loop,), name="bobcat leases", daemon=True).start()
        return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(self._renew_for_ever())

    async def _renew_for_ever(self) -> None:
        while True:
            self._wake.clear()
            now = time.monotonic()
            pause = self._begin_due(now)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    def _begin_due(self, now: float) -> float | None:
        """Begin the renewals that are due; return the seconds until the next ones, None without any."""
        groups: dict[tuple[int, float], list[tuple[HeldLease, Renewals]]] = {}
        with self._lock:
            self._wakes_at = math.inf  # a lease that is added from here on wakes the thread
            for held, renewals in list(self._held.values()):
                if held.loop.is_closed():  # its run ended without a release
                    del self._held[id(held)]
                elif not self._is_given_up(held, now):
                    groups.setdefault((id(renewals), held.seconds), []).append((held, renewals))
        for key, members in groups.items():
            if key not in self._renewing and _due_in(members, now) <= 0:
                leases = [held for held, _ in members if not held.paused]
                task = asyncio.get_running_loop().create_task(self._renew(leases, members[0][1]))
                self._renewing[key] = task
                task.add_done_callback(partial(self._ended, key))
                self._look_at_loops(leases, now)
        pauses = [max(_due_in(group, now), 0.0) for key, group in groups.items() if key not in self._renewing]
        pause = min(pauses, default=None)
        with self._lock:
            self._wakes_at = math.inf if pause is None else now + pause
        return pause

    def _ended(self, key: tuple[int, float], _: asyncio.Task[None]) -> None:
        del self._renewing[key]
        self._wake.set()

    async def _renew(self, leases: list[HeldLease], renewals: Renewals) -> None:
        """Renew leases of one store and one duration: together, or each alone when that fails."""
        if not leases:
            return
        problem = await self._renew_together(leases, renewals)
        if problem is None:
            return
        if len(leases) > 1 and time.monotonic() < min(held.end for held in leases):
            problems = [await self._renew_together([held], renewals) for held in leases]
        else:
            problems = [problem] * len(leases)
        now = time.monotonic()
        for held, why in zip(leases, problems, strict=True):
            if why is not None:
                if now >= held.end and self._is_held(held):
                    held.failed(why)
                held.due, held.problem = now + held.seconds / RETRIES_PER_LEASE, why

    async def _renew_together(self, leases: list[HeldLease], renewals: Renewals) -> str | None:
        """Renew leases with one statement; return the problem, if there was one."""
        began, seconds = time.monotonic(), leases[0].seconds
        for held in leases:
            if began >= held.end and self._is_held(held):
                held.failed(held.problem)
        before = [held.lease for held in leases]
        try:
            async with asyncio.timeout(max(min(held.end for held in leases) - began, seconds / 3)):
                renewed = await renewals.renew_all(before, seconds=seconds)
        except Exception as error:
            return format_exception(error)
        for held, known, lease in zip(leases, before, renewed, strict=True):
            if not self._is_held(held):
                continue
            if lease is None:
                self.remove(held)
                held.lost(str(lease_lost(known, known.run_id)))
            elif lease is known:  # its row is locked at this moment
                held.due = time.monotonic() + seconds / RETRIES_PER_LEASE
            else:
                held.renewed(lease, began)
        return None

    def _is_held(self, held: HeldLease) -> bool:
        with self._lock:
            return id(held) in self._held

    def _look_at_loops(self, leases: Sequence[HeldLease], now: float) -> None:
        """Log an event loop that has not run for the duration of a lease."""
        for loop, seconds in {held.loop: held.seconds for held in leases}.items():
            since = self._pinged.setdefault(loop, now)
            if since == now:
                with suppress(RuntimeError):  # it was closed
                    loop.call_soon_threadsafe(self._answered, loop)
            elif now - since > seconds and loop not in self._blocked:
                self._blocked.add(loop)
                log.warning(
                    "an event loop has been blocked for %.0f s; its %d leases are renewed: use `asyncio.to_thread`",
                    now - since,
                    len(leases),
                )

    def _is_given_up(self, held: HeldLease, now: float) -> bool:
        """Return true for a lease whose event loop has not answered for too long: it is left to expire."""
        since = self._pinged.get(held.loop)
        if since is None or now - since <= BLOCKED_LEASES * held.seconds:
            return False
        if held.loop not in self._given_up:
            self._given_up.add(held.loop)
            log.error("an event loop has been blocked for %.0f s: its leases are renewed no more", now - since)
        return True

    def _answered(self, loop: asyncio.AbstractEventLoop) -> None:
        """Note that a loop turns again. The runs of one that was given up learn that their leases have expired."""
        self._pinged.pop(loop, None)
        self._blocked.discard(loop)
        if loop in self._given_up:
            self._given_up.discard(loop)
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._wake.set)


def _due_in(members: list[tuple[HeldLease, Renewals]], now: float) -> float:
    """Seconds until one of the leases is due. Those of a transaction are looked at again soon."""
    return min(
        max(held.due - now, held.seconds / RETRIES_PER_LEASE)
        if held.paused or renewals.renewals_paused
        else held.due - now
        for held, renewals in members
    )


_thread = LeaseThread()


def _after_fork() -> None:
    """Begin without leases in a child: the thread and the runs are the parent's."""
    global _thread
    _thread = LeaseThread()


os.register_at_fork(after_in_child=_after_fork)


def lease_thread() -> LeaseThread:
    """The lease thread of this process."""
    return _thread


def renewals_of(store: DurableStore) -> Renewals | None:
    """The renewals of a store that another event loop may use; None for a store without, or with a `renew` of its own.

    A subclass or a wrapper that overrides `renew` expects its calls, on the event loop of the run.
    """
    made_by = next((each for each in type(store).__mro__ if "lease_renewals" in vars(each)), None)
    changed = next((each for each in type(store).__mro__ if "renew" in vars(each)), None)
    if made_by is None or changed is None or not issubclass(made_by, changed):
        return None
    return cast(RenewingStore, store).lease_renewals()
