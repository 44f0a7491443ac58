"""A run's lease: taken at its beginning, renewed while it works, given back at its end.

`RunJournal` holds one for a run in a store with leases. Between two renewals the run goes by its own monotonic clock,
which reaches the end of a lease before the store's does: it began to count before the store was asked.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

from bobcat.journal import StepRecord
from bobcat.kernel.commands import StoreFailed, Superseded
from bobcat.plain_json import describe
from bobcat.stores.durable import DurableStore, Lease, LeaseLost, RestorableStore
from bobcat.tasks import end

DEFAULT_LEASE_SECONDS = 30.0
"""How long a run may not be heard of before another worker takes it."""
MIN_LEASE_SECONDS = 0.05

Loss = Superseded | StoreFailed


def default_owner() -> str:
    """A name that no other worker and no other run of this one has."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


class Tenure:
    """The lease of one run. `fence` is its number; `due` is when to renew it, on the clock of the event loop."""

    def __init__(self, store: DurableStore, run_id: str, *, owner: str | None, seconds: float) -> None:
        self.store = store
        self._run_id = run_id
        self._owner = owner or default_owner()
        self._seconds = seconds
        loop = asyncio.get_running_loop()
        # PERF: the clock behind `time` without a frame around it, a third of the time; every write looks at it.
        self._now = time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time
        self._append = store.append_fenced
        self._task: asyncio.Task[None] | None = None
        self._lease: Lease | None = None
        self._end = 0.0
        self.due = 0.0
        self.resting = False
        """While true, nothing is renewed and nothing ends: a transaction of the store vouches for the lease."""

    @property
    def lease(self) -> Lease:
        """The lease as it is now."""
        if self._lease is None:
            raise RuntimeError("the lease was not taken")
        return self._lease

    async def take(self) -> None:
        """Take the run. Raises `RunBusy`, and whatever the store raises."""
        began = self._now()
        self._hold(await self.store.acquire(self._run_id, owner=self._owner, seconds=self._seconds), began)

    async def renew(self) -> None:
        """Hold the run for longer. Raises `LeaseLost`, and whatever the store raises."""
        began = self._now()
        self._hold(await self.store.renew(self.lease, seconds=self._seconds), began)

    def _hold(self, lease: Lease, began: float) -> None:
        self._lease = lease
        self.due = began + self._seconds / 3
        self._end = began + self._seconds * 0.9

    def write(self, record: StepRecord) -> Awaitable[None]:
        """Keep a record on the lease's account. Raises `LeaseLost`, and whatever the store raises.

        PERF: one record in a thousand finds the lease due; the others need no coroutine of ours.
        """
        if self._lease is not None and self._now() < self.due:
            return self._append(record, self._lease)
        return self._write_renewed(record)

    async def _write_renewed(self, record: StepRecord) -> None:
        await self.renew()
        await self._append(record, self.lease)

    def is_due(self) -> bool:
        """Whether to renew before anything is done on the lease's account."""
        return self._now() >= self.due

    async def secure(self) -> Loss | None:
        """Renew the lease when it is due; why nothing may be done on its account."""
        if not self.is_due():
            return None
        try:
            async with asyncio.timeout(self._patience()):
                await self.renew()
        except LeaseLost as lost:
            return Superseded(str(lost))
        except Exception as error:
            return None if self._now() < self._end else StoreFailed(f"store.renew failed: {describe(error)}")
        return None

    def keep(self, on_loss: Callable[[Loss], None]) -> None:
        """Renew in the background from now on. `on_loss` is told when the run is lost, or the lease about to end."""
        self._task = asyncio.get_running_loop().create_task(self._keep(on_loss))

    async def _keep(self, on_loss: Callable[[Loss], None]) -> None:
        problem = "the process did not run in time"
        while True:
            await asyncio.sleep(max(0.0, self.due - self._now()))
            if self.resting or not self.is_due():
                await asyncio.sleep(self._seconds / 20)
                continue
            if self._now() >= self._end:
                on_loss(StoreFailed(f"store.renew failed: {problem}"))
            try:
                async with asyncio.timeout(self._patience()):
                    await self.renew()
            except LeaseLost as lost:
                on_loss(Superseded(str(lost)))
                return
            except Exception as error:
                problem = describe(error)
                await asyncio.sleep(self._seconds / 20)

    async def note_loss(self) -> None:
        """Begin the store's next epoch when it gives proof that it lost what it acknowledged: a fence below ours, or
        no such run. Raises what the store raises."""
        if self._lease is None or not isinstance(self.store, RestorableStore):
            return
        found = await self.store.run(self._run_id)
        if found is None or found.fence < self._lease.fence:
            await self.store.mark_restored()

    def _patience(self) -> float:
        """How long one renewal may take: until the lease ends; when it has ended, it is tried all the same."""
        return max(self._end - self._now(), self._seconds / 3)

    async def give_back(self) -> None:
        """Stop renewing, and release the run. Raises what the store raises."""
        if self._task is not None:
            await end(self._task)
        if self._lease is not None:
            await self.store.release(self._lease)
