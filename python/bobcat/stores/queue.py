"""The queue of a store: which run a worker executes next is decided by the store, in one transaction.

A queueing engine only wakes workers; it can deliver a run twice, late, or to the wrong worker. `QueueStore.claim` is
the decision. It takes the lease, counts the attempt and sets the status `running` together, so that no two workers
execute a run, no death of a worker goes uncounted, and no run is between two states.

The order of the queue:

1. Runs whose worker died: `running`, with an entry, and without a live lease. They were chosen before. (A released one
   counts after `RELEASED_SECONDS`, in which its worker queues it again.)
2. The tenant that was served least recently, of those with a run that this worker can take: a tenant with 20,000 runs
   gets every second run beside a tenant with one. A tenant that was never served comes first.
3. Within the tenant: the higher priority, then the earlier `run_at`, then the one that was queued first.

A run is passed over, and stays as it is, while its time has not come, its lease is alive, its kind or version is not in
the request, or its tenant or kind is at its limit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeGuard, runtime_checkable

from bobcat.stores.protocol import DurableStore, Lease, QueueEntry, RunStatus, RunSummary, has_leases

FIRST_LOOK_SECONDS = 10.0
"""Time after which a suspended run is due for a look (`overdue`), unless `look_at` has set another."""

RELEASED_SECONDS = 2.0
"""Time in which a worker that has released a `running` run can set its next status."""

ENDED_WELL: tuple[RunStatus, ...] = ("succeeded", "cancelled", "suspended")
"""Statuses whose write uncounts the attempt of a `running` run."""


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """The runs that a worker can take."""

    kinds: Mapping[str, Collection[str] | None]
    """The kinds of runs that it has, each with the app versions whose runs it may continue; None: of every version.

    The version of a run that no worker has begun is "": without "" in the collection, no new runs are taken.
    """
    tenant_limit: int | None = None
    """Maximum number of `running` runs of one tenant, in all workers together. Runs without a tenant are unlimited."""
    tenant_limits: Mapping[str, int] = field(default_factory=dict)
    """`tenant_limit` by tenant, for those with another one."""
    kind_limits: Mapping[str, int] = field(default_factory=dict)
    """Maximum number of `running` runs of a kind, in all workers together."""
    version: str = ""
    """Version of the worker's app, recorded for a run that no worker has begun."""
    run_id: str | None = None
    """Only this run, whatever its place in the order."""

    def limit(self, tenant: str) -> int | None:
        """Maximum number of `running` runs of a tenant; None: unlimited."""
        return self.tenant_limits.get(tenant, self.tenant_limit) if tenant else None


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that a worker has taken: it is `running`, under the lease, and the attempt is counted in `entry`."""

    lease: Lease
    entry: QueueEntry
    taken_over: bool
    """True when the run was `running` and its worker died."""
    began: float = 0.0
    """Time of the worker's event loop before it asked; the lease counts from there. Set by the worker."""


@runtime_checkable
class QueueStore(DurableStore, Protocol):
    """A store with a queue. Workers need one; the shipped stores are."""

    async def queue(
        self,
        run_id: str,
        entry: QueueEntry,
        *,
        detail: Mapping[str, Any] | None = None,
        expected: Collection[RunStatus] = (),
        owner: str | None = None,
    ) -> None:
        """Set the status `queued` and the entry of a run, and announce it to waiting workers.

        An unknown run becomes known; a known one must have one of the `expected` statuses, else `StatusConflict`, and
        nothing changes. So it is for a `running` run under the live lease of another than `owner`; a lease of `owner`
        is released. A run that had an entry moves to its new place. The detail is replaced.
        """

    async def claim(self, owner: str, request: ClaimRequest, *, seconds: float) -> Claim | None:
        """Take the next run in the order of the queue, under a lease of so many seconds; None when none can be taken.

        `owner` names this claim and no other: a store on a server repeats a call whose answer was lost, and finds the
        run that it has taken by its owner.

        In one transaction: the lease with the next fence, the status `running`, one more attempt, the app version of a
        run without one, and the time when its tenant was served. The detail of the run stays.

        An attempt is uncounted by the write that ends it well: a status `succeeded`, `cancelled` or `suspended` of a
        `running` run. `queue` sets the number that its entry has.
        """

    async def adopt(self, run_id: str, entry: QueueEntry) -> bool:
        """Give a run of an earlier release its entry. False, without a change, when it has one or is unknown."""

    async def overdue(self, *, limit: int = 100) -> Sequence[RunSummary]:
        """Suspended runs with an entry that are due for a look, longest due first.

        A run is due `FIRST_LOOK_SECONDS` after it was suspended, or at the time from `look_at`.
        """

    async def look_at(self, run_id: str, moment: datetime | None) -> None:
        """Set the time when a suspended run is due for a look, such as the expiry of its approval; None: never.

        Does nothing for a run with another status.
        """

    async def next_due(self) -> datetime | None:
        """The first time from now on when a `queued` run may begin, the lease of a `running` one ends, or a `suspended`
        one is due for a look; None without any.

        Runs that are due already do not count: a worker claims before it asks.
        """

    async def wait_queued(self, seconds: float) -> bool:
        """Wait until a run may have been queued by any process since the last call, for at most so many seconds.

        True when something was announced. Announcements can be lost, and can be false: the caller claims after either.
        """


METHODS = tuple(name for name in vars(QueueStore) if not name.startswith("_"))


def has_queue(store: DurableStore) -> TypeGuard[QueueStore]:
    """Return true for a store with a queue."""
    return has_leases(store) and all(hasattr(store, name) for name in METHODS)


def with_queue(store: DurableStore) -> QueueStore:
    """Return the store. Raises `TypeError` for one without a queue."""
    if has_queue(store):
        return store
    name = type(store).__name__
    raise TypeError(f"workers and jobs need a store with a queue, such as SQLiteStore: `{name}` is not a `QueueStore`")
