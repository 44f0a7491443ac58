"""Group commit: appends of concurrent runs share a statement, a commit and a wait for the disk.

While statements are on their way, further appends wait for the next one, so the appends of a lone run wait for nothing.
A statement makes only the appends that need no second look: the lease is held, and the records follow the last one.
Every other append, and all of a statement that fails, is made by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bobcat.stores.codec import RecordRow
from bobcat.stores.protocol import Lease

if TYPE_CHECKING:
    from bobcat.stores.postgres.pool import Connection

STATEMENTS_AT_ONCE = 2
"""PERF: one waits for the disk while the other collects appends: 1.8 times the runs per second at 32 concurrent
ones, beside appends without groups. More statements have smaller groups, and gain nothing."""
MAX_RUNS = 64
"""Runs in one statement."""


class Unit(NamedTuple):
    """Records of one run under its lease, to be appended all or none, with the token of each."""

    lease: Lease
    rows: Sequence[RecordRow]
    tokens: Sequence[Any]  # Any: UUID

    def is_consecutive(self) -> bool:
        """Return true if the records have consecutive positions."""
        return all(row.seq == self.rows[0].seq + index for index, row in enumerate(self.rows))


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
        if not unit.is_consecutive():
            await self._alone(unit)
            return
        loop = asyncio.get_running_loop()
        made: asyncio.Future[bool] = loop.create_future()
        self._waiting.append((unit, made))
        if self._writing < STATEMENTS_AT_ONCE:
            self._writing += 1
            writer = loop.create_task(self._write())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)
        if not await made:
            await self._alone(unit)

    async def _write(self) -> None:
        try:
            while batch := self._next():
                kept: set[str] = set()
                try:
                    if len(batch) > 1:  # PERF: the statement of one unit is planned and executed twice as fast
                        kept = await self._together([unit for unit, _ in batch])
                except Exception:  # each unit is made by itself, with its own retries and its own error
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


async def append_units(connection: Connection, statement: bytes, units: Sequence[Unit]) -> tuple[set[str], str]:
    """Append the units that fit. Returns the ids of their runs, and the position of the server's log."""
    rows = [(row, token) for unit in units for row, token in zip(unit.rows, unit.tokens, strict=True)]
    values = {
        "runs": [unit.lease.run_id for unit in units],
        "fences": [unit.lease.fence for unit in units],
        "owners": [unit.lease.owner for unit in units],
        "firsts": [unit.rows[0].seq for unit in units],
        "lasts": [unit.rows[-1].seq for unit in units],
        "heads": [unit.rows[-1].head for unit in units],
        "run_ids": [row.run_id for row, _ in rows],
        "seqs": [row.seq for row, _ in rows],
        "kinds": [row.kind for row, _ in rows],
        "keys": [row.idempotency_key for row, _ in rows],
        "bodies": [row.body for row, _ in rows],
        "timestamps": [row.timestamp for row, _ in rows],
        "tokens": [token for _, token in rows],
    }
    kept, position = await (await connection.execute(statement, values)).fetchone() or ((), "0/0")
    return set(kept or ()), position
