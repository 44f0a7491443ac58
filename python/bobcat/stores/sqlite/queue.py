"""The queue of a SQLite store: statements over the indexes of live runs."""

from __future__ import annotations

import asyncio
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from bobcat.stores.codec import moment_of
from bobcat.stores.lease_clock import ClockSample
from bobcat.stores.local import RunState
from bobcat.stores.local_queue import LocalQueue
from bobcat.stores.protocol import RunSummary
from bobcat.stores.queue import Claim, ClaimRequest
from bobcat.stores.queue_order import Waiting, accepts
from bobcat.stores.sqlite.identity import read_mark
from bobcat.stores.sqlite.rows import ALIVE, STATE

T = TypeVar("T")

_QUEUED = "status = 'queued' AND kind <> ''"
_BY_GROUP = "bobcat_runs INDEXED BY bobcat_runs_queued"
"""PERF: without the name of the index, SQLite prefers that of all runs by status, and sorts the queued ones."""
_BY_TIME = "bobcat_runs INDEXED BY bobcat_runs_due"
_GROUP = "kind, version, tenant, priority"
_FIRST_GROUP = f"SELECT {_GROUP} FROM {_BY_GROUP} WHERE {_QUEUED} ORDER BY {_GROUP} LIMIT 1"
_NEXT_GROUP = f"""SELECT {_GROUP} FROM {_BY_GROUP} WHERE {_QUEUED} AND ({_GROUP}) > (?, ?, ?, ?)
    ORDER BY {_GROUP} LIMIT 1"""
_FIRST_OF_GROUP = f"""SELECT run_at, place, run_id FROM {_BY_GROUP}
    WHERE {_QUEUED} AND kind = :kind AND version = :version AND tenant = :tenant AND priority = :priority
    AND run_at <= :date AND (owner IS NULL OR NOT ({ALIVE})) ORDER BY run_at, place LIMIT 1"""
_RUNNING = f"SELECT {STATE} FROM bobcat_runs WHERE status = 'running' AND kind <> ''"
_ANY_DUE = f"SELECT 1 FROM {_BY_TIME} WHERE {_QUEUED} AND run_at <= ? LIMIT 1"
_NEXT_QUEUED = f"SELECT min(run_at) FROM {_BY_TIME} WHERE {_QUEUED} AND run_at > ?"
_LOOKED_AT = "status = 'suspended' AND look IS NOT NULL"
_OVERDUE = f"""SELECT run_id FROM bobcat_runs INDEXED BY bobcat_runs_look WHERE {_LOOKED_AT} AND look <= ?
    ORDER BY look, run_id LIMIT ?"""
_NEXT_LOOK = f"SELECT min(look) FROM bobcat_runs INDEXED BY bobcat_runs_look WHERE {_LOOKED_AT} AND look > ?"


class SQLiteQueue(LocalQueue[sqlite3.Connection, RunState]):
    """The methods of the queue, for the store with the others."""

    _path: str
    _found_nothing = False

    @abstractmethod
    def _ask(self, work: Callable[[sqlite3.Connection], T], *, writes: bool) -> asyncio.Future[T]: ...

    @abstractmethod
    async def _summaries(self, condition: str, *values: object) -> tuple[RunSummary, ...]: ...

    async def _claim(self, owner: str, request: ClaimRequest, seconds: float) -> Claim | None:
        def is_due(connection: sqlite3.Connection) -> bool:
            return self._choose(connection, request) is not None

        # PERF: an idle worker asks without a write transaction, and its sync.
        if self._found_nothing and not await self._ask(is_due, writes=False):
            return None

        def work(connection: sqlite3.Connection) -> Claim | None:
            state = self._choose(connection, request)
            return None if state is None else self._take(connection, state, owner, request, seconds)

        claim = await self._ask(work, writes=True)
        self._found_nothing = claim is None
        return claim

    async def _overdue(self, limit: int) -> Sequence[RunSummary]:
        return await self._summaries(f"run_id IN ({_OVERDUE}) ORDER BY look, run_id", self._now(), limit)

    async def _next_due(self) -> datetime | None:
        def work(connection: sqlite3.Connection) -> datetime | None:
            now = self._read()
            found = [connection.execute(query, (now.date,)).fetchone()[0] for query in (_NEXT_QUEUED, _NEXT_LOOK)]
            found += [state.due(now) for state in self._running(connection)]
            moments = [moment for moment in found if moment is not None and moment > now.date]
            return moment_of(min(moments)) if moments else None

        return await self._ask(work, writes=False)

    def _written(self) -> object:
        """The count of writes beside the file, which every commit of any process changes."""
        return read_mark(self._path) or 0

    async def _change_queued(self, run_id: str, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._change(run_id, work)

    def _running(self, access: sqlite3.Connection) -> Iterable[RunState]:
        return [RunState(*row) for row in access.execute(_RUNNING)]

    def _waiting(self, access: sqlite3.Connection, request: ClaimRequest, now: ClockSample) -> Iterator[Waiting]:
        """PERF: two probes of an index for each group, however many runs it has; one when nothing is due."""
        group = access.execute(_FIRST_GROUP).fetchone() if access.execute(_ANY_DUE, (now.date,)).fetchone() else None
        while group is not None:
            kind, version, tenant, priority = group
            if accepts(request, kind, version):
                values = {"kind": kind, "version": version, "tenant": tenant, "priority": priority, **now._asdict()}
                found = access.execute(_FIRST_OF_GROUP, values).fetchone()
                if found is not None:
                    yield Waiting(*group, *found)
            group = access.execute(_NEXT_GROUP, group).fetchone()

    def _next_turn(self, access: sqlite3.Connection) -> int:
        return int(access.execute("UPDATE bobcat_store SET turn = turn + 1 RETURNING turn").fetchone()[0])

    def _served(self, access: sqlite3.Connection, tenants: Collection[str]) -> Mapping[str, int]:
        query = "SELECT served FROM bobcat_tenants WHERE tenant = ?"
        found = ((tenant, access.execute(query, (tenant,)).fetchone()) for tenant in tenants)
        return {tenant: row[0] for tenant, row in found if row is not None}

    def _serve(self, access: sqlite3.Connection, tenant: str, turn: int) -> None:
        access.execute("INSERT OR REPLACE INTO bobcat_tenants VALUES (?, ?)", (tenant, turn))
