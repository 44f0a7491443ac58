"""`SQLiteStore`: a `TransactionalStore` over one file, for any number of runs and processes of one machine."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar

from bobcat.aio.tasks import wait_shielded
from bobcat.errors import StoreError
from bobcat.journal.records import StepRecord
from bobcat.stores.backup_items import SavedItem
from bobcat.stores.codec import (
    RecordRow,
    damaged_unless_readable,
    moment_of,
    record_of,
    row_of,
    text_of,
)
from bobcat.stores.counts import StoreCounts
from bobcat.stores.errors import JournalGap, duplicate_record, lease_lost
from bobcat.stores.heartbeat import lease_thread
from bobcat.stores.local import RunState
from bobcat.stores.protocol import Entry, Lease, RunStatus, RunSummary, Transaction
from bobcat.stores.sqlite import backup
from bobcat.stores.sqlite.counts import live_counts
from bobcat.stores.sqlite.identity import begin_epoch, read_identity
from bobcat.stores.sqlite.queue import SQLiteQueue
from bobcat.stores.sqlite.rows import (
    DISCARD,
    OVERWRITE,
    RECORD,
    RUN_TABLES,
    SAVE_STATE,
    STATE,
    SUMMARY,
    check_follows,
    check_held,
    entry_of,
    insert,
    summary_of,
)
from bobcat.stores.sqlite.transaction import transaction
from bobcat.stores.sqlite.worker import Worker, to_store_error

T = TypeVar("T")


class SQLiteStore(SQLiteQueue):
    """Journals in one SQLite file: write-ahead log, `synchronous=FULL`, so that appended records survive a power cut.

    Safe for any number of processes, threads and event loops of one machine; not for a file on a network. The file at
    `path` is created when it is missing. `busy_seconds` is how long a write waits for another process's before it
    fails. `clock` is the store's time; a test can pass its own so that leases end without waiting.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_seconds: float = 30.0,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        super().__init__(clock, RunState)
        self._path = os.fspath(path)
        if not self._path or self._path == ":memory:" or self._path.startswith("file:"):
            raise StoreError("bad_path", f"`{self._path}` is not a file: give a path, or use a `MemoryStore`")
        if self._path.startswith(("sqlite:", "postgres:", "postgresql:", "redis:", "rediss:")):
            raise StoreError(
                "bad_path", f"`{self._path}` is a URL: give a path, or use `bobcat.stores.urls.open_store`"
            )
        self._path, self._busy_seconds = os.path.abspath(self._path), busy_seconds
        self._transactions = 0
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._worker = Worker(self._path, self._busy_seconds, self.traffic)
        weakref.finalize(self, self._worker.close)

    def _ask(self, work: Callable[[sqlite3.Connection], T], *, writes: bool) -> asyncio.Future[T]:
        if self._process != os.getpid():  # a child of `fork`, without the thread and the connection
            self._start()
        return self._worker.ask(work, writes=writes)

    async def mark_restored(self) -> int:
        """Begin the next epoch."""
        return await self._ask(begin_epoch, writes=True)

    @asynccontextmanager
    async def transaction(self, lease: Lease) -> AsyncIterator[Transaction]:
        """A transaction under a lease, on a connection of its own. Every other write to the file waits for its end.

        So do acquisitions by other workers, which protects all leases. Those of this store object are renewed in the
        transaction itself: else another worker could be the first to write after it.
        """
        self._transactions += 1
        self.renewals_paused = True

        def renew_due(connection: sqlite3.Connection) -> None:
            now = time.monotonic()
            for each in lease_thread().of(self):
                if each.due > now:
                    continue
                state = self._load_state(connection, each.lease.run_id)
                if state is not None and state.is_leased_as(each.lease):
                    each.renewed(self._extend(connection, state, self._read(), each.seconds), now)

        opening = transaction(self._path, lease, busy_seconds=self._busy_seconds, read=self._read, last=renew_due)
        try:
            async with opening as opened:
                yield opened
        finally:
            self._transactions -= 1
            self.renewals_paused = self._transactions > 0

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        """Acquire a run, and read it in the same transaction."""
        acquired = self._acquiring(self._name("run id", run_id), self._name("owner", owner), seconds)

        def work(connection: sqlite3.Connection) -> tuple[Lease, RunSummary]:
            lease = acquired(connection)
            found = connection.execute(f"{SUMMARY} WHERE run_id = ?", (run_id,)).fetchone()
            return lease, summary_of(found, self._read())

        return await self._ask(work, writes=True)

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        """Append consecutive records in one transaction."""
        rows = [row_of(record) for record in records]
        await self._under_lease(lease, lambda connection: self._insert_group(connection, rows, lease))

    async def finish(self, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        """Set the status of a run and release it, in one transaction."""
        await self.conclude((), status, detail=detail, lease=lease)

    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        """Append consecutive records, set the status and release the run, in one transaction."""
        rows, text = [row_of(record) for record in records], text_of("status", detail)

        def work(connection: sqlite3.Connection) -> None:
            state = self._load_state(connection, lease.run_id)
            self._check_held(state, lease)
            assert state is not None
            self._insert_group(connection, rows, lease)
            state.owner = None
            state.change_status(status, text, self._now())
            self._save_state(connection, state)

        await self._under_lease(lease, work)

    def _insert_group(self, connection: sqlite3.Connection, rows: Sequence[RecordRow], lease: Lease) -> None:
        """Insert the rows if all of them follow the last one. It raises before it writes."""
        last = check_held(connection, lease, self._read())
        for row in rows:
            if row.run_id != lease.run_id:
                raise lease_lost(lease, row.run_id)
            if row.seq <= last:
                raise duplicate_record(row.run_id, row.seq)
            check_follows(row, last)
            last = row.seq
        for row in rows:
            insert(connection, row)

    async def _under_lease(self, lease: Lease, work: Callable[[sqlite3.Connection], None]) -> None:
        try:
            await self._ask(work, writes=True)
        except JournalGap as gap:
            await self.mark_restored()
            raise lease_lost(lease, lease.run_id) from gap

    async def aclose(self) -> None:
        """Finish pending requests, then close the file and the store."""
        thread = self._worker.close()
        if thread is not None and self._process == os.getpid():
            await asyncio.to_thread(thread.join)

    async def _append(self, row: RecordRow, lease: Lease | None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if lease is not None:
                check_follows(row, check_held(connection, lease, self._read()))
            elif self._load_state(connection, row.run_id) is None:
                self._save_state(connection, self._new_state(connection, row.run_id))
            insert(connection, row)

        await self._ask(work, writes=True)

    async def _load(self, run_id: str, seq: int, limit: int | None) -> Sequence[StepRecord]:
        query = f"SELECT {RECORD} FROM bobcat_records WHERE run_id = ? AND seq >= ? ORDER BY seq LIMIT ?"
        wanted = (run_id, seq, -1 if limit is None else limit)

        def work(connection: sqlite3.Connection) -> tuple[StepRecord, ...]:
            with damaged_unless_readable(f"the journal of run `{run_id}`"):
                return tuple([record_of(row) for row in connection.execute(query, wanted)])

        return await self._ask(work, writes=False)

    async def _listed(
        self, status: RunStatus | None, limit: int, after: tuple[int, str] | None
    ) -> Sequence[RunSummary]:
        conditions, values = ["1"], list[object]()
        if status is not None:
            conditions.append("status = ?")
            values.append(status)
        if after is not None:
            conditions.append("(updated, run_id) < (?, ?)")
            values += after
        return await self._summaries(
            f"{' AND '.join(conditions)} ORDER BY updated DESC, run_id DESC LIMIT ?", *values, limit
        )

    async def _run(self, run_id: str) -> RunSummary | None:
        return next(iter(await self._summaries("run_id = ?", run_id)), None)

    async def _summaries(self, condition: str, *values: object) -> tuple[RunSummary, ...]:
        def work(connection: sqlite3.Connection) -> tuple[RunSummary, ...]:
            rows = connection.execute(f"{SUMMARY} WHERE {condition}", values)
            return tuple([summary_of(row, self._read()) for row in rows])

        return await self._ask(work, writes=False)

    async def _get(self, kind: str, key: str) -> Entry | None:
        return next(iter(await self._entries("key = ?", kind, key)), None)

    async def _put(self, kind: str, key: str, text: str, expected: int) -> datetime | None:
        if expected:
            change = """UPDATE bobcat_documents SET version = version + 1, body = :body, updated = :updated
                WHERE kind = :kind AND key = :key AND version = :expected"""
        else:
            change = """INSERT OR IGNORE INTO bobcat_documents (kind, key, version, body, updated)
                VALUES (:kind, :key, 1, :body, :updated)"""

        def work(connection: sqlite3.Connection) -> datetime | None:
            moment = self._now()
            values = {"kind": kind, "key": key, "body": text, "updated": moment, "expected": expected}
            return moment_of(moment) if connection.execute(change, values).rowcount else None

        return await self._ask(work, writes=True)

    async def save(self, write: Callable[[SavedItem], None]) -> None:
        """Write every item of one state; see `BackupStore`."""
        await self._ask(lambda connection: None, writes=False)  # the file exists, with the tables of this release
        try:
            await wait_shielded(asyncio.to_thread(backup.save, self._path, write))
        except sqlite3.Error as error:
            raise to_store_error(self._path, error) from error

    async def restore(self, items: Iterable[SavedItem]) -> None:
        """Write all items, or none, into this empty store."""
        await self._ask(lambda connection: backup.restore(connection, items, self._path), writes=True)

    async def counts(self) -> StoreCounts:
        """Count the live runs."""
        return await self._ask(lambda connection: live_counts(connection, self._now()), writes=False)

    async def _discard(self, entry: Entry, updated: int) -> bool | None:
        values = {"kind": entry.kind, "key": entry.key, "version": entry.version, "updated": updated}

        def work(connection: sqlite3.Connection) -> bool | None:
            connection.execute(OVERWRITE)
            if connection.execute(f"{DISCARD} AND version = :version AND updated = :updated", values).rowcount:
                return True
            found = connection.execute("SELECT 1 FROM bobcat_documents WHERE kind = :kind AND key = :key", values)
            return None if found.fetchone() else False

        return await self._ask(work, writes=True)

    async def _scan(self, kind: str, after: str, limit: int) -> Sequence[Entry]:
        return await self._entries("key > ? ORDER BY key LIMIT ?", kind, after, limit)

    async def _entries(self, condition: str, kind: str, *values: object) -> tuple[Entry, ...]:
        query = f"SELECT kind, key, version, body, updated FROM bobcat_documents WHERE kind = ? AND {condition}"
        return await self._ask(
            lambda connection: tuple([entry_of(row) for row in connection.execute(query, (kind, *values))]),
            writes=False,
        )

    async def _last_restore(self) -> tuple[int, datetime | None]:
        """See `bobcat.stores.sqlite.identity`."""

        def work(connection: sqlite3.Connection) -> tuple[int, datetime | None]:
            epoch, moment = connection.execute("SELECT epoch, restored FROM bobcat_store").fetchone()
            return epoch, None if moment is None else moment_of(moment)

        return await self._ask(work, writes=False)

    async def _change(self, run_id: str, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._ask(work, writes=True)

    def _load_state(self, access: sqlite3.Connection, run_id: str) -> RunState | None:
        row = access.execute(f"SELECT {STATE} FROM bobcat_runs WHERE run_id = ?", (run_id,)).fetchone()
        return None if row is None else RunState(*row)

    def _save_state(self, access: sqlite3.Connection, state: RunState) -> None:
        access.execute(SAVE_STATE, [getattr(state, name) for name in RunState.__slots__])

    def _remove_run(self, access: sqlite3.Connection, run_id: str) -> bool:
        access.execute(OVERWRITE)
        removed = [access.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,)).rowcount for table in RUN_TABLES]
        return any(removed)

    def _first_fence(self, access: sqlite3.Connection) -> int:
        return int(access.execute("SELECT fence FROM bobcat_store").fetchone()[0])

    def _set_first_fence(self, access: sqlite3.Connection, fence: int) -> None:
        access.execute("UPDATE bobcat_store SET fence = ?", (fence,))

    def _present_epoch(self, access: sqlite3.Connection) -> int:
        return read_identity(access).epoch
