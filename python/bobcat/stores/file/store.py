"""`FileStore`: a `DurableStore` over a directory, for the processes of one machine."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import StoreError
from bobcat.journal.records import StepRecord
from bobcat.logs import logger
from bobcat.stores.codec import (
    FENCE_JUMP,
    UNREADABLE,
    body_of,
    microseconds,
    moment_of,
    name_of,
    row_of,
    text_of,
    time_of,
)
from bobcat.stores.errors import (
    JournalGap,
    lease_lost,
    read_only,
    storage_moved,
    store_closed,
    too_new,
    unavailable,
    version_conflict,
)
from bobcat.stores.file import journal
from bobcat.stores.file.disk import file_name, locked, replace_file
from bobcat.stores.file.identity import FileStoreIdentity, inode_of, read_identity, write_identity
from bobcat.stores.lease_clock import ClockSample, lease_clock
from bobcat.stores.private_files import private_directory
from bobcat.stores.protocol import Entry, Lease, RunBusy, RunStatus, RunSummary, StatusConflict

T = TypeVar("T")

log = logger("stores")

FORMAT = 2
"""The version of the directory's layout, as in its file `format`."""

_FORMAT_LINE = "bobcat journals "

THREADS = 16
"""Maximum number of files that one store object works on at the same time."""

MAX_TAILS = 4096
"""Maximum number of runs whose file extent a store object caches."""


@dataclass(frozen=True, slots=True)
class _FileRunState:
    """The state of a run beside its records; times are microseconds since 1970."""

    run_id: str
    status: RunStatus
    created: int
    updated: int
    detail: Mapping[str, Any]
    fence: int = 0
    owner: str | None = None
    expires: int = 0
    boot: str | None = None
    until: int = 0
    """End of the lease by the machine's own clock: see `bobcat.stores.lease_clock`."""
    epoch: int = 1

    def is_held(self, now: ClockSample) -> bool:
        """Return true while a lease is alive."""
        return self.owner is not None and now.alive(self.expires, self.boot, self.until)


@dataclass(frozen=True, slots=True)
class _Document:
    """A document in its file."""

    kind: str
    key: str
    version: int
    updated: int
    body: Mapping[str, Any]


class FileStore:
    """Journals in a directory, for the processes of one machine.

    `runs/ID.jsonl` is the journal of a run, `runs/ID.head` its length, `runs/ID.json` its status; `documents` holds the
    documents, and `store` the identity of the store. Every write is synced to the disk before it is acknowledged.

    Safe for any number of processes, threads and event loops of one machine that has `flock`; not for a directory on a
    network. A listing reads the file of every run: for thousands of runs use a `SQLiteStore`. `clock` is the store's
    time; a test can pass its own so that leases end without waiting.
    """

    def __init__(self, directory: str | os.PathLike[str], *, clock: Callable[[], datetime] | None = None) -> None:
        self._directory = Path(os.path.abspath(directory))
        self._now, self._read = time_of(clock), lease_clock(clock)
        self._inode: int | None = None
        self._tails: dict[str, journal.JournalTail] = {}
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._ready = self._closed = False

    async def append(self, record: StepRecord) -> None:
        """Store `record` durably, or raise `DuplicateRecord`."""
        await self._do(self._append, record, None)

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""
        return await self.load_from(run_id)

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Acquire the run with the next fence, or raise `RunBusy`."""
        name_of("run id", run_id), name_of("owner", owner)

        def work() -> Lease:
            with self._writing(run_id):
                state, now = self._state(run_id) or self._new_state(run_id), self._read()
                if state.owner is not None and state.owner != owner and state.is_held(now):
                    raise RunBusy(run_id, state.owner, moment_of(state.expires))
                kept = self._keep(replace(state, fence=state.fence + 1, owner=owner, **_ends(now, seconds)))
                return Lease(run_id, owner, kept.fence, moment_of(kept.expires))

        return await self._do(work)

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """Extend the lease from now, or raise `LeaseLost`."""

        def work() -> Lease:
            with self._writing(lease.run_id):
                state, now = self._state(lease.run_id), self._read()
                if state is None or (state.fence, state.owner) != (lease.fence, lease.owner):
                    raise lease_lost(lease, lease.run_id)
                kept = self._keep(replace(state, **_ends(now, seconds)))
                return replace(lease, expires=moment_of(kept.expires))

        return await self._do(work)

    async def release(self, lease: Lease) -> None:
        """Release the run."""

        def work() -> None:
            with self._writing(lease.run_id):
                state = self._state(lease.run_id)
                if state is not None and (state.fence, state.owner) == (lease.fence, lease.owner):
                    self._keep(replace(state, owner=None, updated=self._now()))

        await self._do(work)

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append` while the lease is held, under one lock."""
        try:
            await self._do(self._append, record, lease)
        except JournalGap as gap:
            await self.mark_restored()
            raise lease_lost(lease, record.run_id) from gap

    def _append(self, record: StepRecord, lease: Lease | None) -> None:
        row = row_of(record)
        with self._writing(row.run_id) as descriptor:
            if lease is not None:
                self._check_held(lease, row.run_id)
            tail = self._refreshed(descriptor, row.run_id)
            if lease is None and not tail.size and self._state(row.run_id) is None:
                self._keep(self._new_state(row.run_id))
            if lease is not None and row.seq > tail.last + 1:
                raise JournalGap(row.run_id, row.seq, tail.last)
            journal.append(descriptor, row, tail)
            journal.write_mark(self._path(row.run_id, "head"), tail)

    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        """Records of a run from `seq` on, by `seq`."""
        name_of("run id", run_id)

        def work() -> tuple[StepRecord, ...]:
            path = self._path(run_id, "jsonl")
            try:
                with locked(path, shared=True, create=False) as descriptor:
                    records = journal.load(descriptor, path, run_id)
            except FileNotFoundError:
                return ()
            return tuple([each for each in records if each.seq >= seq][:limit])

        return await self._do(work)

    async def set_status(
        self,
        run_id: str,
        status: RunStatus,
        *,
        detail: Mapping[str, Any] | None = None,
        lease: Lease | None = None,
        expected: Collection[RunStatus] | None = None,
    ) -> None:
        """Set the status of a run, or raise `StatusConflict`."""
        name_of("run id", run_id)
        kept = body_of(text_of("status", detail or {}))

        def work() -> None:
            with self._writing(run_id):
                if lease is not None:
                    self._check_held(lease, run_id)
                found = self._state(run_id)
                if found is not None and expected is not None and found.status not in expected:
                    raise StatusConflict(run_id, found.status)
                state = found or self._new_state(run_id)
                self._keep(replace(state, status=status, detail=kept, updated=self._now()))

        await self._do(work)

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, most recently changed first. Reads the state of every run."""
        mark = None if after is None else (microseconds(after.updated), after.run_id)

        def work() -> tuple[RunSummary, ...]:
            states = [_state_of(path) for path in (self._directory / "runs").glob("[!.]*.json")]
            chosen = [
                state
                for state in states
                if status in (None, state.status) and (mark is None or (state.updated, state.run_id) < mark)
            ]
            chosen.sort(key=lambda state: (state.updated, state.run_id), reverse=True)
            epoch = self._epoch()
            return tuple([self._summary(state, epoch) for state in chosen[:limit]])

        return await self._do(work)

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""
        name_of("run id", run_id)

        def work() -> RunSummary | None:
            state = self._state(run_id)
            return None if state is None else self._summary(state, self._epoch())

        return await self._do(work)

    async def get(self, kind: str, key: str) -> Entry | None:
        """One document, or None."""
        path = self._document(kind, key)

        def work() -> Entry | None:
            try:
                return _entry_of(path)
            except FileNotFoundError:
                return None

        return await self._do(work)

    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        """Write a document if its version is `expected`, or raise `VersionConflict`."""
        path, text = self._document(kind, key), text_of("document", body)

        def work() -> Entry:
            with locked(path.with_name(".lock")):
                try:
                    version = _entry_of(path).version
                except FileNotFoundError:
                    version = 0
                if version != expected:
                    raise version_conflict(kind, key, expected)
                now = self._now()
                names = json.dumps({"kind": kind, "key": key, "version": expected + 1, "updated": now})
                replace_file(path, f'{names[:-1]}, "body": {text}}}\n'.encode())
                return Entry(kind, key, expected + 1, body_of(text), moment_of(now))

        return await self._do(work)

    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        """Documents of a kind, by key. Reads all of them."""
        directory = self._document(kind, "x").parent

        def work() -> tuple[Entry, ...]:
            entries = [_entry_of(path) for path in directory.glob("[!.]*.json")]
            chosen = sorted((entry for entry in entries if entry.key > after), key=lambda entry: entry.key)
            return tuple(chosen[:limit])

        return await self._do(work)

    async def now(self) -> datetime:
        """The store's time: that of the machine."""
        return moment_of(self._now())

    async def epoch(self) -> int:
        """The present epoch: see `bobcat.stores.file.identity`."""
        return await self._do(self._epoch)

    async def mark_restored(self) -> int:
        """Begin the next epoch."""

        def work() -> int:
            with locked(self._directory / ".lock"):
                return self._begin_epoch(read_identity(self._directory))

        return await self._do(work)

    async def restored_at(self) -> datetime | None:
        """The time when the present epoch began."""

        def work() -> datetime | None:
            known = read_identity(self._directory)
            return None if known is None or known.restored is None else moment_of(known.restored)

        return await self._do(work)

    async def mark_uncertain(self, run_id: str) -> None:
        """Mark a run as possibly older than the present epoch."""
        name_of("run id", run_id)

        def work() -> None:
            with self._writing(run_id):
                self._keep(replace(self._state(run_id) or self._new_state(run_id), epoch=0))

        await self._do(work)

    async def aclose(self) -> None:
        """Finish pending work and close the store."""
        self._closed = True
        threads, self._threads = self._threads, None
        if threads is not None and self._process == os.getpid():
            await asyncio.to_thread(threads.shutdown)

    async def _do(self, work: Callable[..., T], *arguments: object) -> T:
        """Run work in a thread to its end: on cancellation, the call has either happened or not when this returns."""
        with self._lock:
            if self._closed:
                raise store_closed(f"the store in `{self._directory}`")
            if self._threads is None or self._process != os.getpid():  # `fork` copies no threads
                self._threads, self._process = ThreadPoolExecutor(THREADS, "bobcat files"), os.getpid()
            threads = self._threads
        return await wait_shielded(
            asyncio.get_running_loop().run_in_executor(threads, self._to_store_error, work, *arguments)
        )

    def _to_store_error(self, work: Callable[..., T], *arguments: object) -> T:
        try:
            if not self._ready:
                self._set_up()
            elif inode_of(self._directory) != self._inode:
                raise storage_moved(str(self._directory))  # a write now could not be found again
            return work(*arguments)
        except OSError as error:
            if error.errno == errno.EROFS or _only_readable(error):
                raise read_only(str(self._directory), error.strerror) from error
            raise unavailable(f"`{self._directory}` cannot be used: {error}") from error

    def _set_up(self) -> None:
        path = self._directory / "format"
        version = _format(path)
        if version is None:
            private_directory(self._directory / "runs")
        if version is not None and version > FORMAT:
            raise too_new(f"`{self._directory}`", version, FORMAT)
        found = read_identity(self._directory)
        if version != FORMAT or found is None or found.inode != inode_of(self._directory):
            found = self._identify(path, found)
        self._inode = inode_of(self._directory)
        self._ready = True

    def _identify(self, path: Path, found: FileStoreIdentity | None) -> FileStoreIdentity | None:
        """Write the store's identity, after the next epoch began when it was restored.

        None: the directory is read-only.
        """
        try:
            with locked(self._directory / ".lock"):
                known = read_identity(self._directory)
                if known is None:
                    # Journals of this format without an identity file were copied here without it.
                    incomplete = _format(path) == FORMAT
                    known = write_identity(self._directory, epoch=1, known=None)
                    if incomplete:
                        self._begin_epoch(known)
                elif known.inode != inode_of(self._directory):
                    log.warning(
                        "%s is a copy: unsafe actions of its open runs will wait for approvals", self._directory
                    )
                    self._begin_epoch(known)
                if _format(path) != FORMAT:
                    replace_file(path, f"{_FORMAT_LINE}{FORMAT}\n".encode())
                return read_identity(self._directory)
        except OSError as error:
            if found is None or error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            return found

    def _begin_epoch(self, known: FileStoreIdentity | None) -> int:
        """Begin the next epoch. INVARIANT: under the directory's lock."""
        epoch = 1 if known is None else known.epoch + 1
        write_identity(self._directory, epoch=epoch, known=known, now=self._now())
        for path in (self._directory / "runs").glob("[!.]*.json"):
            with locked(path.with_suffix(".jsonl")):
                state = _state_of(path)
                self._keep(replace(state, fence=state.fence + FENCE_JUMP, owner=None))
        return epoch

    def _epoch(self) -> int:
        known = read_identity(self._directory)
        return 1 if known is None else known.epoch

    def _new_state(self, run_id: str) -> _FileRunState:
        now = self._now()
        return _FileRunState(run_id, "running", now, now, {}, epoch=self._epoch())

    def _path(self, run_id: str, ending: str) -> Path:
        return self._directory / "runs" / f"{file_name(run_id)}.{ending}"

    def _document(self, kind: str, key: str) -> Path:
        name_of("kind", kind), name_of("key", key)
        return self._directory / "documents" / file_name(kind) / f"{file_name(key)}.json"

    @contextlib.contextmanager
    def _writing(self, run_id: str) -> Iterator[int]:
        with locked(self._path(run_id, "jsonl")) as descriptor:
            yield descriptor

    def _refreshed(self, descriptor: int, run_id: str) -> journal.JournalTail:
        """The extent of the run's file after a refresh. INVARIANT: under its lock, which excludes other threads."""
        with self._lock:
            while len(self._tails) > MAX_TAILS:
                del self._tails[next(iter(self._tails))]
            tail = self._tails.setdefault(run_id, journal.JournalTail())
        journal.refresh(descriptor, self._path(run_id, "jsonl"), run_id, tail)
        return tail

    def _state(self, run_id: str) -> _FileRunState | None:
        try:
            return _state_of(self._path(run_id, "json"))
        except FileNotFoundError:
            return None

    def _keep(self, state: _FileRunState) -> _FileRunState:
        fields = {name: getattr(state, name) for name in _FileRunState.__slots__}
        replace_file(self._path(state.run_id, "json"), text_of("state", fields).encode())
        return state

    def _check_held(self, lease: Lease, run_id: str) -> None:
        state = self._state(run_id)
        if (
            state is None
            or lease.run_id != run_id
            or (state.fence, state.owner) != (lease.fence, lease.owner)
            or not state.is_held(self._read())
        ):
            raise lease_lost(lease, run_id)

    def _summary(self, state: _FileRunState, epoch: int) -> RunSummary:
        path = self._path(state.run_id, "jsonl")
        try:
            with self._writing(state.run_id) as descriptor:
                records = len(self._refreshed(descriptor, state.run_id).positions)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            records = self._count(path, state.run_id)
        appended, head = journal.read_mark(path.with_suffix(".head")) or (None, None)
        return RunSummary(
            state.run_id, state.status, records, state.fence, moment_of(state.created), moment_of(state.updated),
            MappingProxyType(dict(state.detail)), appended, head, state.is_held(self._read()), state.epoch < epoch,
        )  # fmt: skip

    def _count(self, path: Path, run_id: str) -> int:
        """Number of records of a read-only journal."""
        try:
            with locked(path, shared=True, create=False) as descriptor:
                return len(journal.load(descriptor, path, run_id))
        except FileNotFoundError:
            return 0


def _format(path: Path) -> int | None:
    """The format that a directory declares; None without one."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    version = text.removeprefix(_FORMAT_LINE).strip()
    if not text.startswith(_FORMAT_LINE) or not version.isdecimal():
        raise StoreError("damaged", f"`{path}` is not a Bobcat store: give a directory of journals, or a new one")
    return int(version)


def _only_readable(error: OSError) -> bool:
    """Return true for a refused write to readable storage."""
    path = error.filename
    return isinstance(error, PermissionError) and isinstance(path, str | os.PathLike) and os.access(path, os.R_OK)


def _ends(now: ClockSample, seconds: float) -> dict[str, Any]:  # Any: fields of a state
    """The fields of a lease of so many seconds from now."""
    span = int(seconds * 1e6)
    return {"expires": now.date + span, "boot": now.boot, "until": now.tick + span, "updated": now.date}


def _state_of(path: Path) -> _FileRunState:
    try:
        state = msgspec.convert(json.loads(path.read_bytes()), _FileRunState)
        moment_of(state.created), moment_of(state.updated), moment_of(state.expires)
        return state
    except UNREADABLE as error:
        raise StoreError("damaged", f"`{path}` has no valid run status ({type(error).__name__})") from error


def _entry_of(path: Path) -> Entry:
    try:
        found = msgspec.convert(json.loads(path.read_bytes()), _Document)
        return Entry(found.kind, found.key, found.version, MappingProxyType(found.body), moment_of(found.updated))
    except UNREADABLE as error:
        raise StoreError("damaged", f"`{path}` is not a document ({type(error).__name__})") from error
