"""A run's lease: acquired at its start, renewed while it works, released at its end.

`RunJournal` holds one for a run in a store with leases, its own or that of a caller that has claimed the run. Between
two renewals the run uses its own monotonic clock, which reaches the end of a lease before the store's clock does: it
starts counting before the request to the store.

The lease thread of the process renews it (`bobcat.stores.heartbeat`), so that a call that blocks the event loop costs
no lease. A store without `lease_renewals`, or an event loop with a time of its own, has a task instead.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

from bobcat.aio.tasks import cancel_and_wait
from bobcat.journal.records import StepRecord
from bobcat.runtime.commands import StoreFailed, Superseded
from bobcat.stores.heartbeat import RETRIES_PER_LEASE, SUSPENDED, lease_thread, renewals_of
from bobcat.stores.protocol import (
    BatchingStore,
    DurableStore,
    GroupingStore,
    Lease,
    LeaseLost,
    RestorableStore,
    RunStatus,
    RunSummary,
)
from bobcat.text.json_text import format_exception

DEFAULT_LEASE_SECONDS = 30.0
"""Lease duration: time without a renewal after which another worker may take over."""
MIN_LEASE_SECONDS = 0.05

Loss = Superseded | StoreFailed


def default_owner() -> str:
    """A unique owner name: no other worker and no other run has it."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


class LeaseKeeper:
    """The lease of one run. `fence` is its number; `due` is the time of the next renewal, on the clock of the event
    loop.
    """

    def __init__(self, store: DurableStore, run_id: str, *, owner: str | None, seconds: float) -> None:
        self.store = store
        self._run_id = run_id
        self._owner = owner or default_owner()
        self.seconds = seconds
        self.loop = asyncio.get_running_loop()
        # PERF: the clock behind `time` without a frame around it, a third of the time; every write reads it.
        self._now = time.monotonic if _has_real_time(self.loop) else self.loop.time
        self._append = store.append_fenced
        self._task: asyncio.Task[None] | None = None
        self._on_loss: Callable[[Loss], None] | None = None
        self._lease: Lease | None = None
        self.end = 0.0
        self.due = 0.0
        self.problem = SUSPENDED
        self.paused = False
        """While true, the lease is neither renewed nor expired: a transaction of the store protects it."""
        self.unrecorded: Mapping[str, Any] = {}
        """Detail of the status of a failed run that its caller records: see `claimed`."""

    @classmethod
    def claimed(cls, store: DurableStore, lease: Lease, *, seconds: float, began: float) -> LeaseKeeper:
        """The keeper of a lease that a worker has taken, requested at the time `began` of the event loop.

        `run_agent` works under it, and leaves a run that has failed `running` and leased: the worker records whether
        the run is tried again, in one write with its outcome.
        """
        keeper = cls(store, lease.run_id, owner=lease.owner, seconds=seconds)
        keeper._set_lease(lease, began)
        return keeper

    @property
    def lease(self) -> Lease:
        """The present lease."""
        if self._lease is None:
            raise RuntimeError("the lease was not taken")
        return self._lease

    async def acquire(self) -> None:
        """Acquire the run. Raises `RunBusy`, and the store's exceptions."""
        began = self._now()
        self._set_lease(await self.store.acquire(self._run_id, owner=self._owner, seconds=self.seconds), began)

    async def begin(self, store: BatchingStore) -> RunSummary:
        """Acquire the run, and return it as it is then. Raises as `acquire`."""
        began = self._now()
        lease, found = await store.begin(self._run_id, owner=self._owner, seconds=self.seconds)
        self._set_lease(lease, began)
        return found

    async def renew(self) -> None:
        """Renew the lease. Raises `LeaseLost`, and the store's exceptions."""
        began = self._now()
        self._set_lease(await self.store.renew(self.lease, seconds=self.seconds), began)

    def _set_lease(self, lease: Lease, began: float) -> None:
        self._lease, self.problem = lease, SUSPENDED
        self.due = began + self.seconds / 3
        self.end = began + self.seconds * 0.9

    def renewed(self, lease: Lease, began: float) -> None:
        """Note a renewal by the lease thread, which began at this time."""
        if began + self.seconds / 3 > self.due:
            self._set_lease(lease, began)

    def lost(self, reason: str) -> None:
        """Notify the run, from the lease thread, that another worker has it."""
        self._notify(Superseded(reason))

    def failed(self, problem: str) -> None:
        """Notify the run, from the lease thread, that its lease is about to expire."""
        self._notify(StoreFailed(f"store.renew failed: {problem}"))

    def _notify(self, loss: Loss) -> None:
        on_loss = self._on_loss

        def deliver() -> None:
            if on_loss is not None and self._on_loss is on_loss:  # else it has ended meanwhile, or has another lease
                on_loss(loss)

        with suppress(RuntimeError):  # the event loop is closed
            self.loop.call_soon_threadsafe(deliver)

    def write(self, record: StepRecord) -> Awaitable[None]:
        """Append a record under the lease. Raises `LeaseLost`, and the store's exceptions.

        PERF: one record in a thousand finds the lease due; the others need no coroutine here.
        """
        if self._lease is not None and self._now() < self.due:
            return self._append(record, self._lease)
        return self._write_renewed(record)

    async def write_group(self, store: GroupingStore, records: Sequence[StepRecord]) -> None:
        """Append records in one transaction under the lease. Raises as `write`."""
        if self._lease is None or self._now() >= self.due:
            await self.renew()
        await store.append_group(records, self.lease)

    async def _write_renewed(self, record: StepRecord) -> None:
        await self.renew()
        await self._append(record, self.lease)

    def is_due(self) -> bool:
        """Return true if the lease must be renewed before another write under it."""
        return self._now() >= self.due

    async def ensure_valid(self) -> Loss | None:
        """Renew the lease if it is due; return the reason when the run may do no more under it."""
        if not self.is_due():
            return None
        try:
            async with asyncio.timeout(self._renewal_timeout()):
                await self.renew()
        except LeaseLost as lost:
            return Superseded(str(lost))
        except Exception as error:
            return None if self._now() < self.end else StoreFailed(f"store.renew failed: {format_exception(error)}")
        return None

    def start_heartbeat(self, on_loss: Callable[[Loss], None]) -> None:
        """Renew in the background from now on. `on_loss` is called when the lease is lost or about to expire."""
        renewals = renewals_of(self.store) if self._now is time.monotonic else None
        if renewals is None:
            self._task = self.loop.create_task(self._heartbeat(on_loss))
        else:
            self._on_loss = on_loss
            lease_thread().add(self, renewals)

    async def _heartbeat(self, on_loss: Callable[[Loss], None]) -> None:
        retry = self.seconds / RETRIES_PER_LEASE
        while True:
            await asyncio.sleep(max(0.0, self.due - self._now()))
            if self.paused or not self.is_due():
                await asyncio.sleep(retry)
                continue
            if self._now() >= self.end:
                on_loss(StoreFailed(f"store.renew failed: {self.problem}"))
            try:
                async with asyncio.timeout(self._renewal_timeout()):
                    await self.renew()
            except LeaseLost as lost:
                on_loss(Superseded(str(lost)))
                return
            except Exception as error:
                self.problem = format_exception(error)
                await asyncio.sleep(retry)

    async def detect_rollback(self) -> None:
        """Begin the store's next epoch when the store provably lost acknowledged data.

        The proof is a fence below this lease's, or a missing run. Raises the store's exceptions.
        """
        if self._lease is None or not isinstance(self.store, RestorableStore):
            return
        found = await self.store.run(self._run_id)
        if found is None or found.fence < self._lease.fence:
            await self.store.mark_restored()

    def _renewal_timeout(self) -> float:
        """Timeout of one renewal: the remaining lease time; an expired lease is still tried."""
        return max(self.end - self._now(), self.seconds / 3)

    async def conclude(
        self, store: BatchingStore, records: Sequence[StepRecord], status: RunStatus, detail: Mapping[str, Any]
    ) -> None:
        """Append the last records, set the status of the run and release it. Raises as `finish`."""
        if self.is_due():
            await self.renew()
        await store.conclude(records, status, detail=detail, lease=self.lease)
        self._lease = None
        await self.stop_heartbeat()

    async def finish(self, store: GroupingStore, status: RunStatus, detail: Mapping[str, Any]) -> None:
        """Stop the renewals, set the status of the run and release it. Raises `LeaseLost`, and the store's
        exceptions.
        """
        await self.stop_heartbeat()
        await store.finish(status, detail=detail, lease=self.lease)
        self._lease = None

    async def release(self) -> None:
        """Stop the renewals, and release the run. Raises the store's exceptions."""
        await self.stop_heartbeat()
        if self._lease is not None:
            await self.store.release(self._lease)

    async def stop_heartbeat(self) -> None:
        """Renew no more."""
        if self._on_loss is not None:
            lease_thread().remove(self)
            self._on_loss = None
        task, self._task = self._task, None
        if task is not None:
            await cancel_and_wait(task)


def _has_real_time(loop: asyncio.AbstractEventLoop) -> bool:
    """Return true for an event loop whose time is that of the process, not a simulated one."""
    kind = type(loop)
    return getattr(kind, "time", None) is asyncio.BaseEventLoop.time or kind.__module__.partition(".")[0] == "uvloop"
