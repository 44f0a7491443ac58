"""`FileStore`: a `DurableStore` over a directory, for the processes of one machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from bobcat.errors import StoreError
from bobcat.journal import StepRecord
from bobcat.stores.durable import Entry, Lease, RunBusy, RunStatus, RunSummary
from bobcat.stores.file import journal
from bobcat.stores.file.disk import file_name, locked, replace_file
from bobcat.stores.refusals import changed, closed, lost, too_new, unavailable
from bobcat.stores.written import (
    UNREADABLE,
    body_of,
    microseconds,
    moment_of,
    name_of,
    row_of,
    text_of,
    time_of,
)
from bobcat.tasks import settle

T = TypeVar("T")

FORMAT = 1
"""The version of the directory's layout, as its file `format` says it."""

_FORMAT_LINE = "bobcat journals "

THREADS = 16
"""Files that one store object works on at the same time."""

MAX_SEEN = 4096
"""Runs whose files a store object remembers the extent of."""


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of a run beside its records; times are microseconds since 1970."""

    run_id: str
    status: RunStatus
    created: int
    updated: int
    detail: Mapping[str, Any]
    fence: int = 0
    owner: str | None = None
    expires: int = 0


@dataclass(frozen=True, slots=True)
class _Document:
    """A document as its file has it."""

    kind: str
    key: str
    version: int
    updated: int
    body: Mapping[str, Any]


class FileStore:
    """Journals in a directory: `runs/ID.jsonl` is the journal of a run, `runs/ID.json` where it stands, `documents`
    holds the rest. Every write is synced to the disk before it is acknowledged.

    Safe for any number of processes, threads and event loops of one machine that has `flock`; not for a directory on a
    network. Listing reads the file of every run: for thousands of runs take a `SQLiteStore`. `clock` is the store's
    time; a test that gives its own lets leases end without waiting.
    """

    def __init__(self, directory: str | os.PathLike[str], *, clock: Callable[[], datetime] | None = None) -> None:
        self._directory = Path(os.path.abspath(directory))
        self._now = time_of(clock)
        self._seen: dict[str, journal.Seen] = {}
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._ready = self._closed = False

    async def append(self, record: StepRecord) -> None:
        """Keep `record` durably, or raise `DuplicateRecord`."""
        await self._do(self._append, record, None)

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""
        return await self.load_from(run_id)

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Take the run with the next fence, or raise `RunBusy`."""
        name_of("run id", run_id), name_of("owner", owner)

        def work() -> Lease:
            with self._writing(run_id):
                state, now = self._state(run_id) or _begun(run_id, self._now()), self._now()
                if state.owner is not None and state.owner != owner and state.expires > now:
                    raise RunBusy(run_id, state.owner, moment_of(state.expires))
                expires = now + int(seconds * 1e6)
                self._keep(replace(state, fence=state.fence + 1, owner=owner, expires=expires, updated=now))
                return Lease(run_id, owner, state.fence + 1, moment_of(expires))

        return await self._do(work)

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """The lease, for longer from now, or `LeaseLost`."""

        def work() -> Lease:
            with self._writing(lease.run_id):
                state, now = self._state(lease.run_id), self._now()
                if state is None or (state.fence, state.owner) != (lease.fence, lease.owner):
                    raise lost(lease, lease.run_id)
                expires = now + int(seconds * 1e6)
                self._keep(replace(state, expires=expires, updated=now))
                return replace(lease, expires=moment_of(expires))

        return await self._do(work)

    async def release(self, lease: Lease) -> None:
        """Give the run back."""

        def work() -> None:
            with self._writing(lease.run_id):
                state = self._state(lease.run_id)
                if state is not None and (state.fence, state.owner) == (lease.fence, lease.owner):
                    self._keep(replace(state, owner=None, updated=self._now()))

        await self._do(work)

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append`, while the lease is held, under one lock."""
        await self._do(self._append, record, lease)

    def _append(self, record: StepRecord, lease: Lease | None) -> None:
        row = row_of(record)
        with self._writing(row.run_id) as descriptor:
            if lease is not None:
                self._check_held(lease, row.run_id)
            seen = self._refreshed(descriptor, row.run_id)
            if lease is None and not seen.size and self._state(row.run_id) is None:
                self._keep(_begun(row.run_id, self._now()))
            journal.append(descriptor, row, seen)

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
        self, run_id: str, status: RunStatus, *, detail: Mapping[str, Any] | None = None, lease: Lease | None = None
    ) -> None:
        """Say where a run stands."""
        name_of("run id", run_id)
        kept = body_of(text_of("status", detail or {}))

        def work() -> None:
            with self._writing(run_id):
                if lease is not None:
                    self._check_held(lease, run_id)
                state = self._state(run_id) or _begun(run_id, self._now())
                self._keep(replace(state, status=status, detail=kept, updated=self._now()))

        await self._do(work)

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, the last changed first. Reads the state of every run."""
        mark = None if after is None else (microseconds(after.updated), after.run_id)

        def work() -> tuple[RunSummary, ...]:
            states = [_state_of(path) for path in (self._directory / "runs").glob("[!.]*.json")]
            chosen = [
                state
                for state in states
                if status in (None, state.status) and (mark is None or (state.updated, state.run_id) < mark)
            ]
            chosen.sort(key=lambda state: (state.updated, state.run_id), reverse=True)
            return tuple([self._summary(state) for state in chosen[:limit]])

        return await self._do(work)

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""
        name_of("run id", run_id)

        def work() -> RunSummary | None:
            state = self._state(run_id)
            return None if state is None else self._summary(state)

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
                    raise changed(kind, key, expected)
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
        """The store's time: that of the machine, on which all its users are."""
        return moment_of(self._now())

    async def aclose(self) -> None:
        """Do what was begun. The store cannot be used any more."""
        self._closed = True
        threads, self._threads = self._threads, None
        if threads is not None and self._process == os.getpid():
            await asyncio.to_thread(threads.shutdown)

    async def _do(self, work: Callable[..., T], *arguments: object) -> T:
        """Have it done in a thread, to its end: a cancelled call has happened, or has not, when it says so."""
        with self._lock:
            if self._closed:
                raise closed(f"the store in `{self._directory}`")
            if self._threads is None or self._process != os.getpid():  # no thread comes along with `fork`
                self._threads, self._process = ThreadPoolExecutor(THREADS, "bobcat files"), os.getpid()
            threads = self._threads
        return await settle(asyncio.get_running_loop().run_in_executor(threads, self._worded, work, *arguments))

    def _worded(self, work: Callable[..., T], *arguments: object) -> T:
        try:
            if not self._ready:
                self._set_up()
            return work(*arguments)
        except OSError as error:
            raise unavailable(f"`{self._directory}` cannot be used: {error}") from error

    def _set_up(self) -> None:
        path = self._directory / "format"
        try:
            text = path.read_text()
        except FileNotFoundError:
            (self._directory / "runs").mkdir(parents=True, exist_ok=True)
            with locked(self._directory / ".lock"):
                if not path.exists():
                    replace_file(path, f"{_FORMAT_LINE}{FORMAT}\n".encode())
            text = path.read_text()
        version = text.removeprefix(_FORMAT_LINE).strip()
        if not text.startswith(_FORMAT_LINE) or not version.isdecimal():
            raise StoreError("damaged", f"`{path}` is not of bobcat: give a directory of journals, or a new one")
        if int(version) > FORMAT:
            raise too_new(f"`{self._directory}`", int(version), FORMAT)
        self._ready = True

    def _path(self, run_id: str, ending: str) -> Path:
        return self._directory / "runs" / f"{file_name(run_id)}.{ending}"

    def _document(self, kind: str, key: str) -> Path:
        name_of("kind", kind), name_of("key", key)
        return self._directory / "documents" / file_name(kind) / f"{file_name(key)}.json"

    @contextlib.contextmanager
    def _writing(self, run_id: str) -> Iterator[int]:
        with locked(self._path(run_id, "jsonl")) as descriptor:
            yield descriptor

    def _refreshed(self, descriptor: int, run_id: str) -> journal.Seen:
        """What is known of the run's file, after a look. INVARIANT: under its lock, which keeps other threads out."""
        with self._lock:
            while len(self._seen) > MAX_SEEN:
                del self._seen[next(iter(self._seen))]
            seen = self._seen.setdefault(run_id, journal.Seen())
        journal.refresh(descriptor, self._path(run_id, "jsonl"), run_id, seen)
        return seen

    def _state(self, run_id: str) -> _State | None:
        try:
            return _state_of(self._path(run_id, "json"))
        except FileNotFoundError:
            return None

    def _keep(self, state: _State) -> None:
        fields = {name: getattr(state, name) for name in _State.__slots__}
        replace_file(self._path(state.run_id, "json"), text_of("state", fields).encode())

    def _check_held(self, lease: Lease, run_id: str) -> None:
        state = self._state(run_id)
        if (
            state is None
            or lease.run_id != run_id
            or (state.fence, state.owner) != (lease.fence, lease.owner)
            or state.expires <= self._now()
        ):
            raise lost(lease, run_id)

    def _summary(self, state: _State) -> RunSummary:
        with self._writing(state.run_id) as descriptor:
            records = len(self._refreshed(descriptor, state.run_id).positions)
        created, updated = moment_of(state.created), moment_of(state.updated)
        detail = MappingProxyType(dict(state.detail))
        return RunSummary(state.run_id, state.status, records, state.fence, created, updated, detail)


def _begun(run_id: str, now: int) -> _State:
    return _State(run_id, "running", now, now, {})


def _state_of(path: Path) -> _State:
    try:
        state = msgspec.convert(json.loads(path.read_bytes()), _State)
        moment_of(state.created), moment_of(state.updated), moment_of(state.expires)
        return state
    except UNREADABLE as error:
        raise StoreError("damaged", f"`{path}` does not say where a run stands ({type(error).__name__})") from error


def _entry_of(path: Path) -> Entry:
    try:
        found = msgspec.convert(json.loads(path.read_bytes()), _Document)
        return Entry(found.kind, found.key, found.version, MappingProxyType(found.body), moment_of(found.updated))
    except UNREADABLE as error:
        raise StoreError("damaged", f"`{path}` is no document ({type(error).__name__})") from error
