"""What a store offers beyond the two methods of `RunStore`, so that a run can be fenced, listed and waited for.

The kernel asks `has_leases(store)`: a store of two methods still journals, and what it cannot guarantee
is said. All times are those of the store (the database's clock), never of the caller's machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from inspect import Parameter, signature
from typing import Any, Literal, Protocol, TypeGuard, runtime_checkable

from bobcat.journal import RunStore, StepRecord

RunStatus = Literal["queued", "running", "suspended", "succeeded", "failed", "cancelled"]
"""Where a run stands. The last three are final; only `succeeded` cannot be resumed."""


class LeaseLost(Exception):
    """The lease is over, or the run is somebody else's by now: whoever gets this must not have any further effect."""


class RunBusy(Exception):
    """Another worker holds a live lease on the run. `expires` says until when, at the earliest."""

    def __init__(self, run_id: str, owner: str, expires: datetime) -> None:
        super().__init__(f"run {run_id!r} is being worked on by {owner!r}, at least until {expires.isoformat()}")
        self.run_id, self.owner, self.expires = run_id, owner, expires


class StatusConflict(Exception):
    """The run has a status that the caller did not expect, and keeps it. `status` is the one that was found."""

    def __init__(self, run_id: str, status: str) -> None:
        super().__init__(f"run {run_id!r} is {status} by now")
        self.run_id, self.status = run_id, status


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one run's journal, until `expires`. `fence` grows with every holder of the run."""

    run_id: str
    owner: str
    fence: int
    expires: datetime


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of a listing."""

    run_id: str
    status: RunStatus
    records: int
    fence: int
    created: datetime
    updated: datetime
    """When its status or its lease last changed. A record alone changes nothing here: the run's renewals do."""
    detail: Mapping[str, Any]
    """What `set_status` was given: JSON, such as the error of a failed run."""
    appended: int | None = None
    """Count of the run's records, kept in the transaction of each append; None where the store keeps no count. Fewer
    `records` than this is a journal that was cut."""
    head: str | None = None
    """Chain hash of the record at the highest position, kept with the count; "" for a record without one."""
    held: bool | None = None
    """True while a lease on the run is alive, by the store's lease clock; None where the store does not say."""
    restored: bool = False
    """True when the run is older than the last restore of the store: what it did since its last record is unknown."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of a store: JSON under a kind and a key. `version` grows by one with every change, from 1."""

    kind: str
    key: str
    version: int
    body: Mapping[str, Any]
    updated: datetime


class VersionConflict(Exception):
    """The document changed, or came into being, since it was read: read it again."""


class Transaction(Protocol):
    """A transaction of the store that a tool's own writes share with the record of its result."""

    @property
    def connection(self) -> Any:  # Any: sqlite3.Connection, psycopg.AsyncConnection
        """The connection, inside the transaction. The tool writes through it, and neither commits nor rolls back."""

    async def append(self, record: StepRecord) -> None:
        """Keep the record in the same transaction, under the fence that the transaction was begun with."""


@runtime_checkable
class CheckedTransaction(Transaction, Protocol):
    """A transaction that can say, after the tool, whether it can still be committed. Optional: see `problem`."""

    def problem(self) -> str | None:
        """Why not, in words for the model: the tool has ended it, or gone on after a statement failed. None: it can."""


@runtime_checkable
class DurableStore(RunStore, Protocol):
    """A store that fences: only the holder of a run's lease writes its journal, checked in the write itself."""

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Take the run with the next fence. Raises `RunBusy` while another owner's lease is alive.

        The same owner may acquire again: a worker that lost its memory, not its name, takes the next fence. An unknown
        run becomes known, as `running`.
        """

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """The lease, for longer from now. Raises `LeaseLost` when the run has another fence by now, or was released. A
        lease that ended and that nobody took since can be renewed."""

    async def release(self, lease: Lease) -> None:
        """Give the run back before the lease ends. A lease that was lost is nobody's: nothing happens."""

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append`, and in the same transaction: `LeaseLost` unless the run still has the lease's fence and the lease
        is not over."""

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
        """Say where a run stands; under a lease, only while it is held (`LeaseLost`). Makes the run known if it is
        not. The detail is replaced, by nothing when there is none.

        With `expected`, a known run must have one of these statuses, checked in the same transaction; else
        `StatusConflict`, and nothing is changed. A store of an older release may lack the parameter: see
        `change_status`.
        """

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, the last changed first; `after` pages on from the last one seen. A run is known from its first record,
        lease or status on."""

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""

    async def get(self, kind: str, key: str) -> Entry | None:
        """One document, or None."""

    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        """Write a document if its version is `expected` (0: there is none yet), atomically. Else `VersionConflict`."""

    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        """Documents of a kind with keys greater than `after`, by key in code point order."""

    async def now(self) -> datetime:
        """The store's time, with its zone."""

    async def aclose(self) -> None:
        """Let go of connections and files; what was appended stays."""


_METHODS = tuple(name for protocol in (RunStore, DurableStore) for name in vars(protocol) if not name.startswith("_"))


def has_leases(store: RunStore) -> TypeGuard[DurableStore]:
    """`isinstance(store, DurableStore)`. PERF: that looks for the methods of the protocol each time, 12 µs -> 1 µs."""
    return all(hasattr(store, name) for name in _METHODS)


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
    """A store with an epoch: the number of times that its storage was restored, or marked so, and one."""

    async def epoch(self) -> int:
        """The present epoch. A run keeps the epoch in which it became known."""

    async def mark_restored(self) -> int:
        """Begin the next epoch, and return it: every lease is lost, fences grow past all that were given, and every
        run that is known by now is `restored`."""

    async def restored_at(self) -> datetime | None:
        """When the present epoch began, by the store's time; None in the first one."""

    async def doubt(self, run_id: str) -> None:
        """Say of one run that it may have run before the last restore: it is `restored` from now on. Makes it known,
        as `running`, if it is not."""


@runtime_checkable
class TransactionalStore(DurableStore, Protocol):
    """A store whose own transactions a tool can write in: SQLite, PostgreSQL."""

    def transaction(self, lease: Lease) -> AbstractAsyncContextManager[Transaction]:
        """A transaction under a lease: committed when the block ends, rolled back when it raises. `LeaseLost` when the
        lease is not held at its beginning, or when another worker can have taken the run by its end.

        SQLite has one writer: while the block runs, every other write to the file waits, renewals among them. Where
        renewals go on meanwhile, the store has an attribute `renews_in_transactions` that is true.
        """
