"""Group commit: appends of concurrent runs share a round trip, a commit and a wait for the disk.

While a commit is on its way, further appends wait for the next one; those of a lone run wait for nothing. A group makes
only the appends that need no second look: the lease is held, and the records follow the last one. Every other append,
and all of a group that fails, is made by itself.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from bobcat.journal.records import StepRecord
from bobcat.stores.codec import RecordRow, row_of
from bobcat.stores.errors import lease_lost
from bobcat.stores.protocol import Lease, RunStatus

GROUPS_AT_ONCE = 2
"""PERF: one waits for the disk while the other collects appends. More groups are smaller, and gain nothing."""
MAX_RUNS = 64
"""Runs in one group."""
MAX_ROWS = 16
"""Records of one run in a group; more are appended by themselves."""


class Unit(NamedTuple):
    """Records of one run under its lease, to be appended all or none, with the token of each.

    With a `status`, the run ends with them: it gets the status and the `detail`, and is released.
    """

    lease: Lease
    rows: Sequence[RecordRow]
    tokens: Sequence[Any]  # Any: UUID
    status: RunStatus | None = None
    detail: str | None = None

    def fits_group(self) -> bool:
        """Return true if the records are few, and have consecutive positions."""
        return len(self.rows) <= MAX_ROWS and all(row.seq == self.rows[0].seq + at for at, row in enumerate(self.rows))


def unit_of(
    records: Sequence[StepRecord], lease: Lease, status: RunStatus | None = None, detail: str | None = None
) -> Unit:
    """The unit of these records. Raises `LeaseLost` for a record of another run."""
    rows = [row_of(record) for record in records]
    for row in rows:
        if row.run_id != lease.run_id:
            raise lease_lost(lease, row.run_id)
    return Unit(lease, rows, [uuid.uuid4() for _ in rows], status, detail)


class GroupCommit:
    """Appends units: `together` those of several runs, `alone` the others.

    `together` returns the ids of the runs whose units are durable; it has no effect on the others.
    """

    def __init__(
        self, together: Callable[[Sequence[Unit]], Awaitable[set[str]]], alone: Callable[[Unit], Awaitable[None]]
    ) -> None:
        self._together, self._alone = together, alone
        self._waiting: list[tuple[Unit, asyncio.Future[bool]]] = []
        self._writers: set[asyncio.Task[None]] = set()
        self._writing = 0

    async def append(self, unit: Unit) -> None:
        """Append a unit; it is durable then. Raises as `alone`."""
        if not unit.fits_group() or not await self._is_appended(unit):
            await self._alone(unit)

    async def _is_appended(self, unit: Unit) -> bool:
        if self._writing < GROUPS_AT_ONCE and not self._waiting:  # PERF: without a task, and a wait for it
            self._writing += 1
            try:
                return unit.lease.run_id in await self._together([unit])
            except Exception:  # it is made by itself, with its own retries and its own error
                return False
            finally:
                self._writing -= 1
                self._begin()
        made: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((unit, made))
        self._begin()
        return await made

    def _begin(self) -> None:
        if self._waiting and self._writing < GROUPS_AT_ONCE:
            self._writing += 1
            writer = asyncio.get_running_loop().create_task(self._write())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)

    async def _write(self) -> None:
        try:
            while batch := self._next():
                kept: set[str] = set()
                try:
                    kept = await self._together([unit for unit, _ in batch])
                except Exception:  # each unit is made by itself
                    kept = set()
                finally:
                    for unit, made in batch:
                        if not made.done():
                            made.set_result(unit.lease.run_id in kept)
        finally:  # no other task runs between the last `_next` and this line
            self._writing -= 1

    def _next(self) -> list[tuple[Unit, asyncio.Future[bool]]]:
        """Take the units that wait, at most one of a run, in their order. Those of cancelled calls are dropped."""
        taken: dict[str, tuple[Unit, asyncio.Future[bool]]] = {}
        left: list[tuple[Unit, asyncio.Future[bool]]] = []
        for unit, made in self._waiting:
            if made.done():
                continue
            if unit.lease.run_id in taken or len(taken) == MAX_RUNS:
                left.append((unit, made))
            else:
                taken[unit.lease.run_id] = unit, made
        self._waiting = left
        return list(taken.values())
