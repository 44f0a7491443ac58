"""`FileStore`: a `DurableStore` over a directory, for the processes of one machine."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import StoreError
from bobcat.journal.records import StepRecord
from bobcat.logs import logger
from bobcat.stores.backup_items import SavedItem
from bobcat.stores.codec import (
    FENCE_JUMP,
    RecordRow,
    microseconds,
    moment_of,
    name_of,
    text_of,
)
from bobcat.stores.counts import StoreCounts
from bobcat.stores.errors import (
    JournalGap,
    read_only,
    storage_moved,
    store_closed,
    too_new,
    unavailable,
)
from bobcat.stores.file import backup, journal
from bobcat.stores.file.content import FORMAT_LINE, entry_of, format_of, parsed, state_of
from bobcat.stores.file.disk import file_name, locked, remove_file, replace_file, sync_directory
from bobcat.stores.file.identity import FileStoreIdentity, inode_of, read_identity, write_identity
from bobcat.stores.file.queue import FileQueue, LiveStates, marked_live, unmark
from bobcat.stores.local import RunState, recent
from bobcat.stores.local_counts import counts_of
from bobcat.stores.private_files import private_directory
from bobcat.stores.protocol import Entry, Lease, RunStatus, RunSummary

T = TypeVar("T")

log = logger("stores")

FORMAT = 3
"""The version of the directory's layout, as in its file `format`."""

FENCE = "fence"
"""The file with the fence with which a run becomes known: greater than those of all erased runs."""

THREADS = 16
"""Maximum number of files that one store object works on at the same time."""

MAX_TAILS = 4096
"""Maximum number of runs whose file extent a store object caches."""


class FileStore(FileQueue):
    """Journals in a directory, for the processes of one machine.

    `runs/ID.jsonl` is the journal of a run, `runs/ID.head` its length, `runs/ID.json` its status; `documents` holds the
    documents, and `store` the identity of the store. Every write is synced to the disk before it is acknowledged.

    Safe for any number of processes, threads and event loops of one machine that has `flock`; not for a directory on a
    network. A listing reads the file of every run: for thousands of runs use a `SQLiteStore`. `clock` is the store's
    time; a test can pass its own so that leases end without waiting.
    """

    def __init__(self, directory: str | os.PathLike[str], *, clock: Callable[[], datetime] | None = None) -> None:
        super().__init__(clock, RunState)
        self._directory = Path(os.path.abspath(directory))
        self._live: LiveStates = {}
        self._inode: int | None = None
        self._tails: dict[str, journal.JournalTail] = {}
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._ready = self._closed = False

    async def mark_restored(self) -> int:
        """Begin the next epoch."""

        def work() -> int:
            with locked(self._directory / ".lock"):
                return self._begin_epoch(read_identity(self._directory))

        return await self._do(work)

    async def aclose(self) -> None:
        """Finish pending work and close the store."""
        self._closed = True
        threads, self._threads = self._threads, None
        if threads is not None and self._process == os.getpid():
            await asyncio.to_thread(threads.shutdown)

    async def _append(self, row: RecordRow, lease: Lease | None) -> None:
        def work(descriptor: int) -> None:
            if lease is not None:
                self._check_held(self._load_state(descriptor, row.run_id), lease)
            tail = self._refreshed(descriptor, row.run_id)
            if lease is None and not tail.size and self._load_state(descriptor, row.run_id) is None:
                self._save_state(descriptor, self._new_state(descriptor, row.run_id))
            if lease is not None and row.seq > tail.last + 1:
                raise JournalGap(row.run_id, row.seq, tail.last)
            journal.append(descriptor, row, tail)
            journal.write_mark(self._path(row.run_id, "head"), tail)

        await self._change(row.run_id, work)

    async def _load(self, run_id: str, seq: int, limit: int | None) -> Sequence[StepRecord]:
        def work() -> tuple[StepRecord, ...]:
            with self._reading(run_id) as found:
                if found is None:
                    return ()
                descriptor, tail = found
                return tuple(journal.load(descriptor, self._path(run_id, "jsonl"), run_id, tail, seq, limit))

        return await self._do(work)

    async def _listed(
        self, status: RunStatus | None, limit: int, after: tuple[int, str] | None
    ) -> Sequence[RunSummary]:
        """Reads the state of every run."""

        def work() -> tuple[RunSummary, ...]:
            found = [state_of(path) for path in (self._directory / "runs").glob("[!.]*.json")]
            states = [state for state in found if state is not None]
            epoch = self._present_epoch()
            return tuple([self._summary(state, epoch) for state in recent(states, status, limit, after)])

        return await self._do(work)

    async def _run(self, run_id: str) -> RunSummary | None:
        def work() -> RunSummary | None:
            state = state_of(self._path(run_id, "json"))
            return None if state is None else self._summary(state, self._present_epoch())

        return await self._do(work)

    async def _get(self, kind: str, key: str) -> Entry | None:
        return await self._do(entry_of, self._document(kind, key))

    async def _put(self, kind: str, key: str, text: str, expected: int) -> datetime | None:
        path = self._document(kind, key)

        def work() -> datetime | None:
            with locked(path.with_name(".lock")):
                known, now = entry_of(path), self._now()
                if expected != (0 if known is None else known.version):
                    return None
                names = json.dumps({"kind": kind, "key": key, "version": expected + 1, "updated": now})
                replace_file(path, f'{names[:-1]}, "body": {text}}}\n'.encode())
                return moment_of(now)

        return await self._do(work)

    async def save(self, write: Callable[[SavedItem], None]) -> None:
        """Write every item of one state; see `BackupStore`."""
        await self._do(backup.save, self._directory, write)

    async def restore(self, items: Iterable[SavedItem]) -> None:
        """Write all items, or none, into this empty store."""

        def work() -> None:
            backup.restore(self._directory, FORMAT, self._now(), items)
            self._inode = inode_of(self._directory)

        await self._do(work)

    async def counts(self) -> StoreCounts:
        """Count the live runs that have an entry in the queue."""
        return await self._do(lambda: counts_of(self._live_states(), self._now()))

    async def _discard(self, entry: Entry, updated: int) -> bool | None:
        path = self._document(entry.kind, entry.key)

        def work() -> bool | None:
            with locked(path.with_name(".lock")):
                known = entry_of(path)
                if known is None:
                    return False
                if (known.version, microseconds(known.updated)) != (entry.version, updated):
                    return None
                remove_file(path)
                sync_directory(path.parent)
                return True

        return await self._do(work)

    async def _scan(self, kind: str, after: str, limit: int) -> Sequence[Entry]:
        """Reads all documents of the kind."""
        directory = self._document(kind, "x").parent

        def work() -> tuple[Entry, ...]:
            entries = [entry_of(path) for path in directory.glob("[!.]*.json")]
            chosen = [entry for entry in entries if entry is not None and entry.key > after]
            return tuple(sorted(chosen, key=lambda entry: entry.key)[:limit])

        return await self._do(work)

    async def _last_restore(self) -> tuple[int, datetime | None]:
        """See `bobcat.stores.file.identity`."""
        known = await self._do(read_identity, self._directory)
        if known is None:
            return 1, None
        return known.epoch, None if known.restored is None else moment_of(known.restored)

    async def _change(self, run_id: str, work: Callable[[int], T]) -> T:
        def under_lock() -> T:
            with locked(self._path(run_id, "jsonl")) as descriptor:
                found = work(descriptor)
            self.traffic.add(statements=1, commits=1)
            return found

        return await self._do(under_lock)

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
        version = format_of(path)
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
                    incomplete = format_of(path) == FORMAT
                    known = write_identity(self._directory, epoch=1, known=None)
                    if incomplete:
                        self._begin_epoch(known)
                elif known.inode != inode_of(self._directory):
                    log.warning(
                        "%s is a copy: unsafe actions of its open runs will wait for approvals", self._directory
                    )
                    self._begin_epoch(known)
                if format_of(path) != FORMAT:
                    replace_file(path, f"{FORMAT_LINE}{FORMAT}\n".encode())
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
            with locked(path.with_suffix(".jsonl")) as descriptor:
                state = state_of(path)
                assert state is not None
                state.fence, state.owner = state.fence + FENCE_JUMP, None
                self._save_state(descriptor, state)
        return epoch

    def _present_epoch(self, access: int | None = None) -> int:
        known = read_identity(self._directory)
        return 1 if known is None else known.epoch

    def _path(self, run_id: str, ending: str) -> Path:
        return self._directory / "runs" / f"{file_name(run_id)}.{ending}"

    def _document(self, kind: str, key: str) -> Path:
        name_of("kind", kind), name_of("key", key)
        return self._directory / "documents" / file_name(kind) / f"{file_name(key)}.json"

    def _refreshed(self, descriptor: int, run_id: str) -> journal.JournalTail:
        """The extent of the run's file after a refresh. INVARIANT: under its lock."""
        with self._lock:
            while len(self._tails) > MAX_TAILS:
                del self._tails[next(iter(self._tails))]
            tail = self._tails.setdefault(run_id, journal.JournalTail())
        with tail.lock:
            journal.refresh(descriptor, self._path(run_id, "jsonl"), run_id, tail)
        return tail

    def _load_state(self, access: int, run_id: str) -> RunState | None:
        return state_of(self._path(run_id, "json"))

    def _save_state(self, access: int, state: RunState) -> None:
        fields = {name: getattr(state, name) for name in RunState.__slots__}
        fields["detail"] = parsed(state.detail)
        with marked_live(self._directory, state):
            replace_file(self._path(state.run_id, "json"), text_of("state", fields).encode())

    def _summary(self, state: RunState, epoch: int) -> RunSummary:
        with self._reading(state.run_id) as found:
            records = 0 if found is None else len(found[1].positions)
        appended, head = journal.read_mark(self._path(state.run_id, "head")) or (None, None)
        return RunSummary(
            state.run_id, state.status, records, state.fence, moment_of(state.created), moment_of(state.updated),
            parsed(state.detail), appended, head, state.is_held(self._read()), state.epoch < epoch, state.entry,
        )  # fmt: skip

    @contextmanager
    def _reading(self, run_id: str) -> Iterator[tuple[int, journal.JournalTail] | None]:
        """The file of a run and its extent, under a lock that readers share; None without one."""
        with ExitStack() as stack:
            try:
                descriptor = stack.enter_context(locked(self._path(run_id, "jsonl"), shared=True, create=False))
            except FileNotFoundError:
                yield None
                return
            yield descriptor, self._refreshed(descriptor, run_id)

    def _remove_run(self, access: int, run_id: str) -> bool:
        """Remove the files of a run. Every state in between is that of a run with a whole journal, or an empty one."""
        removed = os.fstat(access).st_size > 0
        remove_file(self._path(run_id, "head"))
        os.ftruncate(access, 0)
        os.fsync(access)
        removed = remove_file(self._path(run_id, "json")) or removed
        unmark(self._directory, run_id)
        remove_file(self._path(run_id, "jsonl"))
        sync_directory(self._directory / "runs")
        return removed

    def _first_fence(self, access: int) -> int:
        try:
            return int((self._directory / FENCE).read_text())
        except FileNotFoundError:
            return 0
        except ValueError as error:
            raise StoreError("damaged", f"`{self._directory / FENCE}` is not a number") from error

    def _set_first_fence(self, access: int, fence: int) -> None:
        with locked(self._directory / f".{FENCE}"):
            replace_file(self._directory / FENCE, f"{max(fence, self._first_fence(access))}\n".encode())


def _only_readable(error: OSError) -> bool:
    """Return true for a refused write to readable storage."""
    path = error.filename
    return isinstance(error, PermissionError) and isinstance(path, str | os.PathLike) and os.access(path, os.R_OK)
