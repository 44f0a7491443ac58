"""`SQLiteStore`: a `TransactionalStore` over one file, for any number of runs and processes of one machine."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from bobcat.errors import StoreError
from bobcat.journal.records import StepRecord
from bobcat.stores.codec import (
    damaged_unless_readable,
    microseconds,
    moment_of,
    name_of,
    record_of,
    row_of,
    text_of,
    time_of,
)
from bobcat.stores.errors import JournalGap, lease_lost, version_conflict
from bobcat.stores.lease_clock import ClockSample, lease_clock
from bobcat.stores.protocol import Entry, Lease, RunBusy, RunStatus, RunSummary, StatusConflict, Transaction
from bobcat.stores.sqlite.identity import begin_epoch, read_identity
from bobcat.stores.sqlite.rows import (
    RECORD,
    SUMMARY,
    check_follows,
    check_held,
    entry_of,
    insert,
    make_known,
    summary_of,
)
from bobcat.stores.sqlite.transaction import transaction
from bobcat.stores.sqlite.worker import Worker

T = TypeVar("T")

_EPOCH = "(SELECT epoch FROM bobcat_store)"


class SQLiteStore:
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
        self._path = os.fspath(path)
        if not self._path or self._path == ":memory:" or self._path.startswith("file:"):
            raise StoreError("bad_path", f"`{self._path}` is not a file: give a path, or use a `MemoryStore`")
        if self._path.startswith(("sqlite:", "postgres:", "postgresql:", "redis:", "rediss:")):
            raise StoreError(
                "bad_path", f"`{self._path}` is a URL: give a path, or use `bobcat.stores.urls.open_store`"
            )
        self._path, self._busy_seconds = os.path.abspath(self._path), busy_seconds
        self._now, self._read = time_of(clock), lease_clock(clock)
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._worker = Worker(self._path, self._busy_seconds)
        weakref.finalize(self, self._worker.close)

    def _ask(self, work: Callable[[sqlite3.Connection], T], *, writes: bool) -> asyncio.Future[T]:
        if self._process != os.getpid():  # a child of `fork`, without the thread and the connection
            self._start()
        return self._worker.ask(work, writes=writes)

    async def append(self, record: StepRecord) -> None:
        """Store `record` durably, or raise `DuplicateRecord`."""
        row = row_of(record)

        def work(connection: sqlite3.Connection) -> None:
            make_known(connection, row.run_id, self._now())
            insert(connection, row)

        await self._ask(work, writes=True)

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""
        return await self.load_from(run_id)

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Acquire the run with the next fence, or raise `RunBusy`."""
        name_of("run id", run_id), name_of("owner", owner)

        def work(connection: sqlite3.Connection) -> Lease:
            now = self._read()
            held = connection.execute(
                "SELECT owner, expires, boot, until FROM bobcat_runs WHERE run_id = ? AND owner != ?", (run_id, owner)
            ).fetchone()
            if held is not None and now.alive(*held[1:]):
                raise RunBusy(run_id, held[0], moment_of(held[1]))
            given = _ends(now, seconds)
            (fence,) = connection.execute(
                f"""INSERT INTO bobcat_runs
                (run_id, status, detail, fence, owner, expires, boot, until, created, updated, epoch)
                VALUES (:run_id, 'running', '{{}}', 1, :owner, :expires, :boot, :until, :date, :date, {_EPOCH})
                ON CONFLICT (run_id) DO UPDATE SET fence = fence + 1, owner = :owner, expires = :expires,
                boot = :boot, until = :until, updated = :date RETURNING fence""",
                {"run_id": run_id, "owner": owner, **given},
            ).fetchone()
            return Lease(run_id, owner, fence, moment_of(given["expires"]))

        return await self._ask(work, writes=True)

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """Extend the lease from now, or raise `LeaseLost`."""

        def work(connection: sqlite3.Connection) -> Lease:
            given = _ends(self._read(), seconds)
            done = connection.execute(
                """UPDATE bobcat_runs SET expires = :expires, boot = :boot, until = :until, updated = :date
                WHERE run_id = :run_id AND fence = :fence AND owner = :owner""",
                {"run_id": lease.run_id, "fence": lease.fence, "owner": lease.owner, **given},
            )
            if not done.rowcount:
                raise lease_lost(lease, lease.run_id)
            return replace(lease, expires=moment_of(given["expires"]))

        return await self._ask(work, writes=True)

    async def release(self, lease: Lease) -> None:
        """Release the run."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE bobcat_runs SET owner = NULL, updated = ? WHERE run_id = ? AND fence = ? AND owner = ?",
                (self._now(), lease.run_id, lease.fence, lease.owner),
            )

        await self._ask(work, writes=True)

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append` while the lease is held, in one transaction."""
        row = row_of(record)

        def work(connection: sqlite3.Connection) -> None:
            check_follows(row, check_held(connection, lease, row.run_id, self._read()))
            insert(connection, row)

        try:
            await self._ask(work, writes=True)
        except JournalGap as gap:
            await self.mark_restored()
            raise lease_lost(lease, row.run_id) from gap

    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        """Records of a run from `seq` on, by `seq`."""
        name_of("run id", run_id)
        query = f"SELECT {RECORD} FROM bobcat_records WHERE run_id = ? AND seq >= ? ORDER BY seq LIMIT ?"
        wanted = (run_id, seq, -1 if limit is None else limit)

        def work(connection: sqlite3.Connection) -> tuple[StepRecord, ...]:
            with damaged_unless_readable(f"the journal of run `{run_id}`"):
                return tuple([record_of(row) for row in connection.execute(query, wanted)])

        return await self._ask(work, writes=False)

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
        text = text_of("status", detail or {})

        def work(connection: sqlite3.Connection) -> None:
            if lease is not None:
                check_held(connection, lease, run_id, self._read())
            if expected is not None:
                found = connection.execute("SELECT status FROM bobcat_runs WHERE run_id = ?", (run_id,)).fetchone()
                if found is not None and found[0] not in expected:
                    raise StatusConflict(run_id, found[0])
            connection.execute(
                f"""INSERT INTO bobcat_runs (run_id, status, detail, fence, owner, expires, created, updated, epoch)
                VALUES (:run_id, :status, :detail, 0, NULL, 0, :now, :now, {_EPOCH}) ON CONFLICT (run_id) DO UPDATE
                SET status = :status, detail = :detail, updated = :now""",
                {"run_id": run_id, "status": status, "detail": text, "now": self._now()},
            )

        await self._ask(work, writes=True)

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, most recently changed first."""
        conditions, values = ["1"], list[object]()
        if status is not None:
            conditions.append("status = ?")
            values.append(status)
        if after is not None:
            conditions.append("(updated, run_id) < (?, ?)")
            values += [microseconds(after.updated), after.run_id]
        query = f"{SUMMARY} WHERE {' AND '.join(conditions)} ORDER BY updated DESC, run_id DESC LIMIT ?"
        return await self._ask(
            lambda connection: tuple(
                summary_of(row, self._read()) for row in connection.execute(query, (*values, limit))
            ),
            writes=False,
        )

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""
        name_of("run id", run_id)

        def work(connection: sqlite3.Connection) -> RunSummary | None:
            row = connection.execute(f"{SUMMARY} WHERE run_id = ?", (run_id,)).fetchone()
            return None if row is None else summary_of(row, self._read())

        return await self._ask(work, writes=False)

    async def get(self, kind: str, key: str) -> Entry | None:
        """One document, or None."""
        name_of("kind", kind), name_of("key", key)
        query = "SELECT kind, key, version, body, updated FROM bobcat_documents WHERE kind = ? AND key = ?"

        def work(connection: sqlite3.Connection) -> Entry | None:
            row = connection.execute(query, (kind, key)).fetchone()
            return None if row is None else entry_of(row)

        return await self._ask(work, writes=False)

    async def put(self, kind: str, key: str, body: Mapping[str, Any], *, expected: int) -> Entry:
        """Write a document if its version is `expected`, or raise `VersionConflict`."""
        name_of("kind", kind), name_of("key", key)
        text = text_of("document", body)
        if expected:
            change = """UPDATE bobcat_documents SET version = version + 1, body = :body, updated = :updated
                WHERE kind = :kind AND key = :key AND version = :expected"""
        else:
            change = """INSERT OR IGNORE INTO bobcat_documents (kind, key, version, body, updated)
                VALUES (:kind, :key, 1, :body, :updated)"""

        def work(connection: sqlite3.Connection) -> Entry:
            moment = self._now()
            values = {"kind": kind, "key": key, "body": text, "updated": moment, "expected": expected}
            if not connection.execute(change, values).rowcount:
                raise version_conflict(kind, key, expected)
            return entry_of((kind, key, expected + 1, text, moment))

        return await self._ask(work, writes=True)

    async def scan(self, kind: str, *, after: str = "", limit: int = 100) -> Sequence[Entry]:
        """Documents of a kind, by key."""
        name_of("kind", kind)
        query = """SELECT kind, key, version, body, updated FROM bobcat_documents
            WHERE kind = ? AND key > ? ORDER BY key LIMIT ?"""
        return await self._ask(
            lambda connection: tuple(entry_of(row) for row in connection.execute(query, (kind, after, limit))),
            writes=False,
        )

    async def now(self) -> datetime:
        """The store's time: that of the machine."""
        return moment_of(self._now())

    async def epoch(self) -> int:
        """The present epoch: see `bobcat.stores.sqlite.identity`."""
        return await self._ask(lambda connection: read_identity(connection).epoch, writes=False)

    async def mark_restored(self) -> int:
        """Begin the next epoch."""
        return await self._ask(begin_epoch, writes=True)

    async def restored_at(self) -> datetime | None:
        """The time when the present epoch began."""

        def work(connection: sqlite3.Connection) -> datetime | None:
            (moment,) = connection.execute("SELECT restored FROM bobcat_store").fetchone()
            return None if moment is None else moment_of(moment)

        return await self._ask(work, writes=False)

    async def mark_uncertain(self, run_id: str) -> None:
        """Mark a run as possibly older than the present epoch."""
        name_of("run id", run_id)

        def work(connection: sqlite3.Connection) -> None:
            make_known(connection, run_id, self._now())
            connection.execute("UPDATE bobcat_runs SET epoch = 0 WHERE run_id = ?", (run_id,))

        await self._ask(work, writes=True)

    def transaction(self, lease: Lease) -> AbstractAsyncContextManager[Transaction]:
        """A transaction under a lease, on a connection of its own. Every other write to the file waits for its end."""
        return transaction(self._path, lease, busy_seconds=self._busy_seconds, read=self._read)

    async def aclose(self) -> None:
        """Finish pending requests, then close the file and the store."""
        thread = self._worker.close()
        if thread is not None and self._process == os.getpid():
            await asyncio.to_thread(thread.join)


def _ends(now: ClockSample, seconds: float) -> dict[str, Any]:  # Any: columns
    """The columns of a lease of so many seconds from now."""
    span = int(seconds * 1e6)
    return {"expires": now.date + span, "boot": now.boot, "until": now.tick + span, "date": now.date}
