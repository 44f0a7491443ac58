"""Store protocols beyond the two methods of `RunStore`: leases, listings and transactions.

The run loop asks `has_leases(store)`: a store with two methods still journals, and its missing guarantees are reported.
All times are those of the store (the database's clock), never of the caller's machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from inspect import Parameter, signature
from typing import Any, Literal, Protocol, TypeGuard, cast, runtime_checkable

from bobcat.errors import StoreError
from bobcat.journal.records import RunStore, StepRecord

RunStatus = Literal["queued", "running", "suspended", "succeeded", "failed", "cancelled", "dead"]
"""Status of a run. The last four are final; only `succeeded` cannot be resumed.

`dead` is a queued run that has used up its attempts.
"""

LIVE: tuple[RunStatus, ...] = ("queued", "running", "suspended")
"""The statuses that are not final: indexes for workers contain only these runs."""


class LeaseLost(Exception):
    """The lease is over, or another worker holds the run: the caller must not have any further effect."""


class RunBusy(Exception):
    """Another worker holds a live lease on the run, at least until `expires`."""

    code = "busy"

    def __init__(self, run_id: str, owner: str, expires: datetime) -> None:
        super().__init__(f"run {run_id!r} is being worked on by {owner!r}, at least until {expires.isoformat()}")
        self.run_id, self.owner, self.expires = run_id, owner, expires


class StatusConflict(Exception):
    """The run has a status that the caller did not expect, and keeps it. `status` is the present one."""

    def __init__(self, run_id: str, status: str) -> None:
        super().__init__(f"run {run_id!r} is {status} now")
        self.run_id, self.status = run_id, status


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one run's journal, until `expires`. `fence` grows with every holder of the run."""

    run_id: str
    owner: str
    fence: int
    expires: datetime


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """The entry of a run in the queue of its store. It stays with the run until the run is erased."""

    kind: str
    """The kind that a worker must support, not empty."""
    run_at: datetime
    """The earliest time of the next attempt."""
    tenant: str = ""
    priority: int = 0
    """A higher one goes first, within a tenant."""
    attempts: int = 0
    """Number of attempts that failed or whose worker died, and the one in progress. `claim` counts it."""
    version: str = ""
    """Version of the app that began the run; empty before the first claim, or where no app has a version."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in a listing."""

    run_id: str
    status: RunStatus
    records: int
    fence: int
    created: datetime
    updated: datetime
    """Time of the last change of its status or its lease. An appended record does not change it; renewals do."""
    detail: Mapping[str, Any]
    """The detail from `set_status`: JSON, such as the error of a failed run."""
    appended: int | None = None
    """Count of the run's records, updated in the transaction of each append; None where the store keeps no count.

    Fewer `records` than this mean a truncated journal.
    """
    head: str | None = None
    """Chain hash of the record at the highest position, kept with the count; "" for a record without one."""
    held: bool | None = None
    """True while a lease on the run is alive, by the store's lease clock; None where the store does not report it."""
    restored: bool = False
    """True when the run is older than the last restore of the store: its actions since its last record are unknown."""
    queue: QueueEntry | None = None
    """Its entry in the queue; None for a run that was never queued, or in a store without a queue."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of a store: JSON under a kind and a key. `version` grows by one with every change, from 1."""

    kind: str
    key: str
    version: int
    body: Mapping[str, Any]
    updated: datetime


class VersionConflict(Exception):
    """The document changed or was created since it was read: read it again."""


class Transaction(Protocol):
    """A transaction of the store that a tool's own writes share with the record of its result."""

    @property
    def connection(self) -> Any:  # Any: sqlite3.Connection, psycopg.AsyncConnection
        """The connection, inside the transaction. The tool writes through it, and neither commits nor rolls back."""

    async def append(self, record: StepRecord) -> None:
        """Append the record in the same transaction, under the fence that the transaction began with."""


@runtime_checkable
class CheckedTransaction(Transaction, Protocol):
    """A transaction that reports, after the tool, whether it can still commit. Optional: see `problem`."""

    def problem(self) -> str | None:
        """Reason, in words for the model, why it cannot commit: the tool ended it, or continued after a failed
        statement.

        None: it can commit.
        """


@runtime_checkable
class DurableStore(RunStore, Protocol):
    """A store with fencing: only the holder of a run's lease writes its journal, checked in the write itself."""

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Acquire the run with the next fence. Raises `RunBusy` while another owner's lease is alive.

        The same owner may acquire again: a worker that restarted under its name takes the next fence. An unknown run
        becomes known, as `running`.
        """

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """Extend the lease from now.

        Raises `LeaseLost` when the run has another fence now, or was released. A lease that ended can be renewed while
        no other worker has acquired the run.
        """

    async def release(self, lease: Lease) -> None:
        """Release the run before the lease ends. Does nothing for a lost lease."""

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append`, in one transaction with the check of the lease.

        Raises `LeaseLost` unless its fence is current and alive.
        """

    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        """Records of a run from `seq` on, by `seq`, at most `limit` of them."""

    async def set_status(
        self,
        run_id: str,
        status: RunStatus,
        *,
        detail: Mapping[str, Any] | None = None,
        lease: Lease | None = None,
        expected: Collection[RunStatus] | None = None,
    ) -> None:
        """Set the status of a run; under a lease, only while it is held (`LeaseLost`).

        An unknown run becomes known. The detail is replaced; without a new one it becomes empty. With `expected`, a
        known run must have one of these statuses, checked in the same transaction; else `StatusConflict`, and nothing
        changes. A store of an older release may lack the parameter: see `change_status`.
        """

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, most recently changed first; `after` continues from the last one of a page.

        A run is known from its first record, lease or status on.
        """

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""

    async def get(self, kind: str, key: str) -> Entry | None:
        """One document, or None."""

    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        """Write a document atomically if its version is `expected` (0: it must not exist). Else `VersionConflict`."""

    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        """Documents of a kind with keys greater than `after`, by key in code point order."""

    async def now(self) -> datetime:
        """The store's time, with its zone."""

    async def aclose(self) -> None:
        """Close connections and files; appended records remain."""


@runtime_checkable
class GroupingStore(DurableStore, Protocol):
    """A store that makes several writes of one run in one transaction. Optional."""

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        """Append consecutive records as `append_fenced` does: all of them, or none."""

    async def finish(self, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        """Set the status of a run under its lease, and release it. Raises `LeaseLost`, and changes nothing then."""


@runtime_checkable
class BatchingStore(GroupingStore, Protocol):
    """A store that the run loop sends all records up to an effect at once, in one transaction. Optional."""

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        """`acquire`, and the run as it is under the lease, in one transaction.

        A crash of the store may undo it until a write under the lease was acknowledged; then that write is `LeaseLost`.
        """

    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        """Append consecutive records, set the status and release the run, all or none. Raises as `append_group`."""


@runtime_checkable
class ErasableStore(DurableStore, Protocol):
    """A store that removes runs and documents for good. Optional: see `erasable`."""

    async def erase(self, run_id: str, *, fence: int | None = None) -> bool:
        """Remove a run: its records, its status and its lease, all or none. False for an unknown run.

        With `fence`, only a run that has it; false for one that has another. Raises `RunBusy` while a lease on the run
        is alive. Its leases stay lost: a run that becomes known afterwards begins with a greater fence.
        """

    async def discard(self, entry: Entry) -> bool:
        """Remove a document that is as it was read; false for one that does not exist.

        Raises `VersionConflict` when it has another version or another time.
        """


class Renewals(Protocol):
    """The renewals of a store's leases, for the event loop of another thread: see `bobcat.stores.heartbeat`."""

    renewals_paused: bool
    """True while a transaction of the store protects all of its leases: a renewal would wait for it."""

    async def renew_all(self, leases: Sequence[Lease], *, seconds: float) -> Sequence[Lease | None]:
        """Extend leases from now, with one statement; for each the extended one, or None for a lost one.

        A lease whose run another transaction has locked at this moment is returned as it is: no other one waits for it.
        """


@runtime_checkable
class RenewingStore(DurableStore, Protocol):
    """A store whose leases another thread can renew while the event loop of their runs is blocked. Optional."""

    def lease_renewals(self) -> Renewals:
        """The renewals of this store object: the same object for every call."""


_GROUPING = ("append_group", "finish")
_BATCHING = (*_GROUPING, "begin", "conclude")
METHODS = tuple(name for protocol in (RunStore, DurableStore) for name in vars(protocol) if not name.startswith("_"))


def has_leases(store: RunStore) -> TypeGuard[DurableStore]:
    """`isinstance(store, DurableStore)`.

    PERF: `isinstance` looks up the protocol's methods each time, 12 µs -> 1 µs.
    """
    return all(hasattr(store, name) for name in METHODS)


def grouping(store: DurableStore) -> GroupingStore | None:
    """Return the store if its class is a `GroupingStore`.

    PERF: as for `has_leases`. The class decides: a wrapper that forwards what it does not know has no such methods.
    """
    return cast(GroupingStore, store) if all(hasattr(type(store), name) for name in _GROUPING) else None


def batching(store: DurableStore) -> BatchingStore | None:
    """Return the store if its class is a `BatchingStore`."""
    return cast(BatchingStore, store) if all(hasattr(type(store), name) for name in _BATCHING) else None


def erasable(store: DurableStore) -> ErasableStore:
    """Return the store. Raises `StoreError` (`not_erasable`) for one that is no `ErasableStore`."""
    if isinstance(store, ErasableStore):
        return store
    name = type(store).__name__
    raise StoreError("not_erasable", f"`{name}` cannot remove anything: it has no methods `erase` and `discard`")


async def change_status(
    store: DurableStore,
    run_id: str,
    status: RunStatus,
    *,
    expected: Collection[RunStatus],
    detail: Mapping[str, Any] | None = None,
) -> None:
    """`set_status` from one of the `expected` statuses, or `StatusConflict`.

    In a store whose `set_status` has no `expected`, the status is read before it is written, in two steps.
    """
    parameters = signature(store.set_status).parameters
    if "expected" in parameters or any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values()):
        await store.set_status(run_id, status, detail=detail, expected=expected)
        return
    run = await store.run(run_id)
    if run is not None and run.status not in expected:
        raise StatusConflict(run_id, run.status)
    await store.set_status(run_id, status, detail=detail)


@runtime_checkable
class RestorableStore(DurableStore, Protocol):
    """A store with an epoch: one plus the number of times that its storage was restored, or marked as restored."""

    async def epoch(self) -> int:
        """The present epoch. A run keeps the epoch in which it became known."""

    async def mark_restored(self) -> int:
        """Begin the next epoch, and return it.

        Every lease is lost, fences grow past all earlier ones, and every known run becomes `restored`.
        """

    async def restored_at(self) -> datetime | None:
        """The time when the present epoch began, by the store's clock; None in the first one."""

    async def mark_uncertain(self, run_id: str) -> None:
        """Mark one run as possibly older than the last restore: it is `restored` from now on.

        An unknown run becomes known, as `running`.
        """


@runtime_checkable
class TransactionalStore(DurableStore, Protocol):
    """A store whose own transactions a tool can write in: SQLite, PostgreSQL."""

    def transaction(self, lease: Lease) -> AbstractAsyncContextManager[Transaction]:
        """A transaction under a lease: committed when the block ends, rolled back when it raises.

        Raises `LeaseLost` when the lease is not held at its beginning, or when another worker may have acquired the run
        by its end.

        SQLite has one writer: while the block runs, every other write to the file waits, including renewals. A store
        whose renewals continue meanwhile has an attribute `renews_in_transactions` that is true.
        """
