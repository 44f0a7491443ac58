"""The queue of a store in files: a file without content in `live` for each live run that has an entry.

`queue` has the turns in which tenants were served, and its lock is that of every claim. A claim reads the state of
every live run whose file has changed since this store object read it, and of no others.
"""

from __future__ import annotations

import json
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from bobcat.errors import StoreError
from bobcat.stores.codec import UNREADABLE
from bobcat.stores.file.content import state_of
from bobcat.stores.file.disk import file_name, locked, remove_file, replace_file, sync_directory
from bobcat.stores.lease_clock import ClockSample
from bobcat.stores.local import RunState
from bobcat.stores.local_queue import LocalQueue, file_time, next_moment, overdue_first
from bobcat.stores.private_files import open_private, private_directory
from bobcat.stores.protocol import LIVE, RunSummary
from bobcat.stores.queue import Claim, ClaimRequest
from bobcat.stores.queue_order import Waiting, accepts

T = TypeVar("T")

DIRECTORY, TURNS, LOCK = "live", "queue", ".queue"

LiveStates: TypeAlias = dict[str, tuple[tuple[int, int], RunState]]
"""States of live runs by the name of their file, each with time and inode of the file when it was read."""

SETTLED_NS = 100_000_000
"""Age of a file from which its time and inode identify its content: two writes within a tick can have both the same."""


@dataclass(slots=True)
class _Turns:
    """The last turn, and those in which tenants were served."""

    turn: int = 0
    served: dict[str, int] = field(default_factory=dict)


class FileQueue(LocalQueue[int, RunState]):
    """The methods of the queue, for the store with the others."""

    _directory: Path
    _live: LiveStates

    @abstractmethod
    async def _do(self, work: Callable[..., T], *arguments: object) -> T: ...

    @abstractmethod
    def _path(self, run_id: str, ending: str) -> Path: ...

    @abstractmethod
    def _present_epoch(self, access: int | None = None) -> int: ...

    @abstractmethod
    def _summary(self, state: RunState, epoch: int) -> RunSummary: ...

    async def _change_queued(self, run_id: str, work: Callable[[int], T]) -> T:
        """INVARIANT: the lock of the queue is always taken before that of a run."""

        def under_locks() -> T:
            with self._locked_queue(), locked(self._path(run_id, "jsonl")) as descriptor:
                found = work(descriptor)
            self.traffic.add(statements=1, commits=1)
            return found

        return await self._do(under_locks)

    async def _claim(self, owner: str, request: ClaimRequest, seconds: float) -> Claim | None:
        def work() -> Claim | None:
            with self._locked_queue() as descriptor:
                while True:
                    chosen = self._choose(descriptor, request)
                    if chosen is None:
                        return None
                    with locked(self._path(chosen.run_id, "jsonl")) as access:
                        state, now = self._load_state(access, chosen.run_id), self._read()
                        if state is not None and state == chosen and (state.is_waiting(now) or state.is_abandoned(now)):
                            self.traffic.add(statements=1, commits=1)
                            return self._take(access, state, owner, request, seconds)
                    self._live = {}  # it has changed meanwhile: choose again

        return await self._do(work)

    async def _overdue(self, limit: int) -> Sequence[RunSummary]:
        def work() -> tuple[RunSummary, ...]:
            epoch = self._present_epoch()
            due = overdue_first(self._live_states(), self._now(), limit)
            return tuple([self._summary(state, epoch) for state in due])

        return await self._do(work)

    async def _next_due(self) -> datetime | None:
        return await self._do(lambda: next_moment(self._live_states(), self._read()))

    def _announce(self) -> None:
        super()._announce()
        with suppress(OSError):  # no run was ever queued here
            os.utime(self._directory / LOCK, ns=(time.time_ns(),) * 2)  # finer than the clock of the file system

    def _written(self) -> object:
        """The time of the file that an announcement touches."""
        return file_time(self._directory / LOCK) or (0, 0)

    @contextmanager
    def _locked_queue(self) -> Iterator[int]:
        with locked(self._directory / LOCK) as descriptor:
            yield descriptor

    def _live_states(self) -> list[RunState]:
        """The states of live runs."""
        known, found = self._live, LiveStates()
        try:
            names = os.listdir(self._directory / DIRECTORY)
        except FileNotFoundError:
            names = []
        for name in names:
            path = self._directory / "runs" / f"{name}.json"
            try:
                stat = path.stat()
            except FileNotFoundError:  # it is being queued, or erased
                continue
            read = known.get(name)
            if read is None or read[0] != (stat.st_mtime_ns, stat.st_ino):
                state = state_of(path)
                if state is None:
                    continue
                is_settled = 0 < stat.st_mtime_ns < time.time_ns() - SETTLED_NS
                read = (stat.st_mtime_ns if is_settled else 0, stat.st_ino), state
            found[name] = read
        self._live = found
        return [state for _, state in found.values() if state.kind]

    def _running(self, access: int) -> Iterable[RunState]:
        return [state for state in self._live_states() if state.status == "running"]

    def _waiting(self, access: int, request: ClaimRequest, now: ClockSample) -> Iterator[Waiting]:
        for _, state in self._live.values():
            if state.is_waiting(now) and accepts(request, state.kind, state.version):
                yield Waiting(
                    state.kind, state.version, state.tenant, state.priority, state.run_at, state.place, state.run_id
                )

    def _next_turn(self, access: int) -> int:
        turns = self._turns()
        turns.turn += 1
        self._write_turns(turns)
        return turns.turn

    def _served(self, access: int, tenants: Collection[str]) -> Mapping[str, int]:
        return self._turns().served

    def _serve(self, access: int, tenant: str, turn: int) -> None:
        turns = self._turns()
        turns.served[tenant] = turn
        self._write_turns(turns)

    def _turns(self) -> _Turns:
        path = self._directory / TURNS
        try:
            return msgspec.convert(json.loads(path.read_bytes()), _Turns)
        except FileNotFoundError:
            return _Turns()
        except UNREADABLE as error:
            raise StoreError("damaged", f"`{path}` has no turns of a queue ({type(error).__name__})") from error

    def _write_turns(self, turns: _Turns) -> None:
        replace_file(self._directory / TURNS, json.dumps({"turn": turns.turn, "served": turns.served}).encode())


@contextmanager
def marked_live(directory: Path, state: RunState) -> Iterator[None]:
    """Keep the file in `live` around a write of the state. A run without the file is not found by a claim.

    INVARIANT: under the lock of the run; the file is there before the state of a live run, and until after it.
    """
    live = bool(state.kind) and state.status in LIVE
    path = directory / DIRECTORY / file_name(state.run_id)
    if live and not path.exists():
        private_directory(path.parent)
        os.close(open_private(path, os.O_WRONLY))
        sync_directory(path.parent)
    yield
    if state.kind and not live:
        remove_file(path)


def unmark(directory: Path, run_id: str) -> None:
    """Remove the file of an erased run from `live`."""
    remove_file(directory / DIRECTORY / file_name(run_id))
