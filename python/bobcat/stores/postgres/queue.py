"""The queue of a PostgreSQL store: one statement for each operation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from bobcat.stores.base import BaseStore
from bobcat.stores.codec import moment_of
from bobcat.stores.protocol import Lease, QueueEntry, RunStatus, RunSummary, StatusConflict
from bobcat.stores.queue import Claim, ClaimRequest
from bobcat.stores.queue_order import is_limited

if TYPE_CHECKING:
    from bobcat.stores.postgres.listener import Listener
    from bobcat.stores.postgres.pool import Connection

T = TypeVar("T")
Row = tuple[Any, ...]  # Any: the columns of a row


class PostgresQueue(BaseStore):
    """The methods of the queue, for the store with the others."""

    _statements: dict[str, bytes]
    _listener: Listener

    @abstractmethod
    async def _do(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Execute work on a connection, again when it breaks."""

    @abstractmethod
    async def _one(self, connection: Connection, statement: str, values: Mapping[str, Any]) -> Row | None: ...

    @abstractmethod
    async def _first(self, statement: str, values: Mapping[str, Any]) -> Row | None: ...

    @abstractmethod
    async def _listing(self, statement: str, values: Mapping[str, Any]) -> tuple[RunSummary, ...]: ...

    async def wait_queued(self, seconds: float) -> bool:
        """Wait for a notification."""
        return await self._listener.wait(seconds)

    async def _queue(
        self, run_id: str, entry: QueueEntry, detail: str, expected: Collection[RunStatus], owner: str | None
    ) -> None:
        values = _values(run_id, entry, detail=detail, expected=list(expected), owner=owner)

        began = False

        async def work(connection: Connection) -> None:
            nonlocal began
            repeated, began = began, True
            if await self._one(connection, "queue", values) is not None:
                return
            if repeated and await self._one(connection, "queued", values) is not None:
                return  # by the first attempt, whose answer was lost
            found = await self._one(connection, "standing", values)
            raise StatusConflict(run_id, "queued" if found is None else found[0])

        await self._do(work)

    async def _claim(self, owner: str, request: ClaimRequest, seconds: float) -> Claim | None:
        values = {**_requested(request), "owner": owner, "seconds": float(seconds)}
        limited = is_limited(request)
        statement = "claim_named" if request.run_id is not None else "claim_limited" if limited else "claim"
        began = False

        async def work(connection: Connection) -> Claim | None:
            nonlocal began
            repeated, began = began, True
            if repeated:  # the answer to the first attempt was lost: it may have taken a run
                row = await self._one(connection, "claimed", values)
                if row is not None:
                    return _claim_of(row, owner)
            if not limited:
                row = await self._one(connection, statement, values)
            else:  # claims one after the other: each counts the runs of those before
                async with connection.transaction():
                    await connection.execute(self._statements["claim_lock"])
                    row = await self._one(connection, statement, values)
            return None if row is None else _claim_of(row, owner)

        return await self._do(work)

    async def _adopt(self, run_id: str, entry: QueueEntry) -> bool:
        return await self._first("adopt", _values(run_id, entry)) is not None

    async def _overdue(self, limit: int) -> Sequence[RunSummary]:
        return await self._listing("overdue", {"limit": limit})

    async def _look_at(self, run_id: str, moment: int | None) -> None:
        await self._first("look_at", {"run_id": run_id, "moment": None if moment is None else moment_of(moment)})

    async def _next_due(self) -> datetime | None:
        row = await self._first("next_due", {})
        return None if row is None or row[0] is None else row[0].astimezone(UTC)


def _values(run_id: str, entry: QueueEntry, **more: object) -> dict[str, object]:
    return {
        "run_id": run_id, "kind": entry.kind, "version": entry.version, "tenant": entry.tenant,
        "priority": entry.priority, "run_at": entry.run_at, "attempts": entry.attempts, **more,
    }  # fmt: skip


def _requested(request: ClaimRequest) -> dict[str, object]:
    pairs = [
        (kind, version)
        for kind, versions in request.kinds.items()
        for version in ((None,) if versions is None else versions)
    ]
    return {
        "kinds": [kind for kind, _ in pairs],
        "versions": [version for _, version in pairs],
        "version": request.version,
        "run_id": request.run_id,
        "tenant_limit": request.tenant_limit,
        "tenants": list(request.tenant_limits),
        "tenant_limits": list(request.tenant_limits.values()),
        "limited_kinds": list(request.kind_limits),
        "kind_limits": list(request.kind_limits.values()),
    }


def _claim_of(row: Row, owner: str) -> Claim:
    run_id, fence, expires, taken_over, kind, run_at, *queued = row
    lease = Lease(run_id, owner, fence, expires.astimezone(UTC))
    return Claim(lease, QueueEntry(kind, run_at.astimezone(UTC), *queued), taken_over)
