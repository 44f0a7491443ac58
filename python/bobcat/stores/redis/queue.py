"""The queue of a Redis store: one script for each operation."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bobcat.stores.base import BaseStore
from bobcat.stores.codec import microseconds, moment_of
from bobcat.stores.protocol import Lease, QueueEntry, RunStatus, RunSummary, StatusConflict
from bobcat.stores.queue import Claim, ClaimRequest
from bobcat.stores.queue_order import is_limited

if TYPE_CHECKING:
    from bobcat.stores.redis.connection import RedisConnection
    from bobcat.stores.redis.listener import Listener


class RedisQueue(BaseStore):
    """The methods of the queue, for the store with the others."""

    _connection: RedisConnection
    _listener: Listener
    _prefix: str

    @abstractmethod
    def _run_keys(self, run_id: str) -> tuple[str, str, str]: ...

    async def wait_queued(self, seconds: float) -> bool:
        """Wait for a message."""
        return await self._listener.wait(seconds)

    async def _queue(
        self, run_id: str, entry: QueueEntry, detail: str, expected: Collection[RunStatus], owner: str | None
    ) -> None:
        begin, end = (run_id, detail, f",{','.join(expected)},", owner or ""), _texts(entry)
        answer = await self._connection.run(
            "queue", self._run_keys(run_id), *begin, "", *end, repeated=(*begin, "repeated", *end)
        )
        if answer.startswith(b"not "):
            raise StatusConflict(run_id, answer[4:].decode())

    async def _claim(self, owner: str, request: ClaimRequest, seconds: float) -> Claim | None:
        values = ("", _request_text(request), owner, str(int(seconds * 1e6)))
        found = await self._connection.run("claim", self._run_keys(""), *values, "", repeated=(*values, "repeated"))
        if found is None:
            return None
        run_id, taken_over, (fence, expires, *entry) = found
        lease = Lease(run_id.decode(), owner, int(fence), moment_of(int(expires)))
        queued = entry_of(entry)
        assert queued is not None
        return Claim(lease, queued, bool(taken_over))

    async def _adopt(self, run_id: str, entry: QueueEntry) -> bool:
        return bool(await self._connection.run("adopt", self._run_keys(run_id), run_id, *_texts(entry)))

    async def _overdue(self, limit: int) -> Sequence[RunSummary]:
        found = await self._connection.run("overdue", (f"{self._prefix}queue:",), str(limit))
        runs = [await self._run(run_id.decode()) for run_id in found]
        return tuple([run for run in runs if run is not None and run.status == "suspended"])

    async def _look_at(self, run_id: str, moment: int | None) -> None:
        await self._connection.run("look_at", self._run_keys(run_id), run_id, "" if moment is None else str(moment))

    async def _next_due(self) -> datetime | None:
        found = await self._connection.run("next_due", (f"{self._prefix}queue:",))
        return None if found is None else moment_of(int(found))


ENTRY_FIELDS = "kind", "run_at", "tenant", "priority", "attempts", "version"
"""The fields of a run with its entry, in the order in which scripts return them."""


def entry_of(state: Sequence[bytes | None]) -> QueueEntry | None:
    """The entry from the values of these fields; None for a run without one."""
    if state[0] is None:
        return None
    kind, run_at, tenant, priority, attempts, version = (each.decode() for each in state if each is not None)
    return QueueEntry(kind, moment_of(int(run_at)), tenant, int(priority), int(attempts), version)


def _texts(entry: QueueEntry) -> tuple[str, str, str, str, str, str]:
    run_at, priority, attempts = str(microseconds(entry.run_at)), str(entry.priority), str(entry.attempts)
    return entry.kind, entry.version, entry.tenant, priority, run_at, attempts


def _request_text(request: ClaimRequest) -> str:
    """The request as the script reads it: `true` for a kind of which every version is accepted."""
    body: dict[str, Any] = {  # Any: JSON
        "kinds": {kind: True if versions is None else list(versions) for kind, versions in request.kinds.items()},
        "limited": is_limited(request),
        "tenant_limits": dict(request.tenant_limits),
        "kind_limits": dict(request.kind_limits),
        "version": request.version,
    }
    if request.tenant_limit is not None:
        body["tenant_limit"] = request.tenant_limit
    if request.run_id is not None:
        body["run_id"] = request.run_id
    return json.dumps(body)
