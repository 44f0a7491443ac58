"""Group commit: writes of concurrent runs share a round trip, a commit and a wait for the disk.

While a commit is on its way, further writes wait for the next one; those of a lone run wait for nothing. A group makes
only the writes that need no second look: an append whose lease is held and whose records follow the last one, a lease
on a run that no other worker holds. Every other write, and all of a group that fails, is made by itself.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from bobcat.journal.records import StepRecord
from bobcat.stores.codec import RecordRow, row_of
from bobcat.stores.errors import lease_lost
from bobcat.stores.protocol import Lease, RunStatus

GROUPS_AT_ONCE = 2
"""PERF: one waits for the disk while the other collects writes. More groups are smaller, and gain nothing."""
LARGE = 16
"""Writes that must wait before a second group begins. PERF: two small groups cost two commits where one would do."""
TURNS = 4
"""Turns of the event loop for which a group waits for the runs of the last one to go on. PERF: without, a run that is
resumed first is a group by itself, and the others wait for it: 1.9 writes in a group of 8 runs, with 7.
"""
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

    @property
    def run_id(self) -> str:
        """The run."""
        return self.lease.run_id

    def fits_group(self) -> bool:
        """Return true if the records are few, and have consecutive positions."""
        return len(self.rows) <= MAX_ROWS and all(row.seq == self.rows[0].seq + at for at, row in enumerate(self.rows))


class Beginning(NamedTuple):
    """The acquisition of a run by an owner, for so many seconds."""

    run_id: str
    owner: str
    seconds: float

    def fits_group(self) -> bool:
        """Return true: it is one statement."""
        return True


def unit_of(
    records: Sequence[StepRecord], lease: Lease, status: RunStatus | None = None, detail: str | None = None
) -> Unit:
    """The unit of these records. Raises `LeaseLost` for a record of another run."""
    rows = [row_of(record) for record in records]
    for row in rows:
        if row.run_id != lease.run_id:
            raise lease_lost(lease, row.run_id)
    return Unit(lease, rows, [uuid.uuid4() for _ in rows], status, detail)


class Grouped(Protocol):
    """A write of one run."""

    @property
    def run_id(self) -> str:
        """The run."""

    def fits_group(self) -> bool:
        """Return true if a group may make it."""


W = TypeVar("W", bound=Grouped)
R = TypeVar("R")


class GroupCommit(Generic[W, R]):
    """Makes writes: `together` those of several runs, `alone` the others.

    `together` returns the results by run id of the writes that it made; it has no effect on the others.
    """

    def __init__(
        self, together: Callable[[Sequence[W]], Awaitable[Mapping[str, R]]], alone: Callable[[W], Awaitable[R]]
    ) -> None:
        self._together, self._alone = together, alone
        self._waiting: list[tuple[W, asyncio.Future[Mapping[str, R]]]] = []
        self._writers: set[asyncio.Task[None]] = set()
        self._writing = 0

    async def write(self, unit: W) -> R:
        """Make a write; it is done then. Raises as `alone`."""
        made = await self._made(unit) if unit.fits_group() else {}
        return made[unit.run_id] if unit.run_id in made else await self._alone(unit)

    async def _made(self, unit: W) -> Mapping[str, R]:
        """The results of the group that the write was in."""
        if not self._writing and not self._waiting:  # PERF: without a task, and a wait for it
            self._writing += 1
            try:
                return await self._together([unit])
            except Exception:  # it is made by itself, with its own retries and its own error
                return {}
            finally:
                self._writing -= 1
                self._begin()
        made: asyncio.Future[Mapping[str, R]] = asyncio.get_running_loop().create_future()
        self._waiting.append((unit, made))
        self._begin()
        return await made

    def _begin(self) -> None:
        enough = LARGE if self._writing else 1
        if len(self._waiting) >= enough and self._writing < GROUPS_AT_ONCE:
            self._writing += 1
            writer = asyncio.get_running_loop().create_task(self._write())
            self._writers.add(writer)
            writer.add_done_callback(self._writers.discard)

    async def _write(self) -> None:
        try:
            while batch := await self._collected():
                results: Mapping[str, R] = {}
                try:
                    results = await self._together([unit for unit, _ in batch])
                except Exception:  # each is made by itself
                    results = {}
                finally:
                    for _, made in batch:
                        if not made.done():
                            made.set_result(results)
        finally:  # no other task runs between the last `_next` and this line
            self._writing -= 1

    async def _collected(self) -> list[tuple[W, asyncio.Future[Mapping[str, R]]]]:
        """The next group, with the writes of the runs that go on at this moment."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return self._next()

    def _next(self) -> list[tuple[W, asyncio.Future[Mapping[str, R]]]]:
        """Take the writes that wait, at most one of a run, in their order. Those of cancelled calls are dropped."""
        taken: dict[str, tuple[W, asyncio.Future[Mapping[str, R]]]] = {}
        left: list[tuple[W, asyncio.Future[Mapping[str, R]]]] = []
        for unit, made in self._waiting:
            if made.done():
                continue
            if unit.run_id in taken or len(taken) == MAX_RUNS:
                left.append((unit, made))
            else:
                taken[unit.run_id] = unit, made
        self._waiting = left
        return list(taken.values())
