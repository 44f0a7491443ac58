"""`SQLiteStore`: a `TransactionalStore` over one file, for any number of runs and processes of one machine."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from bobcat.errors import StoreError
from bobcat.journal import StepRecord
from bobcat.stores.durable import Entry, Lease, RunBusy, RunStatus, RunSummary, Transaction
from bobcat.stores.refusals import changed, lost
from bobcat.stores.sqlite.rows import check_held, entry_of, insert, make_known, summary_of
from bobcat.stores.sqlite.transaction import transaction
from bobcat.stores.sqlite.worker import Worker
from bobcat.stores.written import microseconds, moment_of, name_of, reading, record_of, row_of, text_of, time_of

T = TypeVar("T")

_RECORD = "run_id, seq, kind, idempotency_key, body, timestamp"
_SUMMARY = """SELECT run_id, status, (SELECT count(*) FROM bobcat_records WHERE run_id = bobcat_runs.run_id),
    fence, created, updated, detail FROM bobcat_runs"""


class SQLiteStore:
    """Journals in one SQLite file: write-ahead log, `synchronous=FULL`, so what was appended survives a power cut.

    Safe for any number of processes, threads and event loops of one machine; not for a file on a network. `path` is
    made when it is not there. `busy_seconds` is how long a write waits for another process's before it fails. `clock`
    is the store's time; a test that gives its own lets leases end without waiting.
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
            raise StoreError("bad_path", f"`{self._path}` is no file: give a path, or take a `MemoryStore`")
        if self._path.startswith(("sqlite:", "postgres:", "postgresql:", "redis:", "rediss:")):
            raise StoreError(
                "bad_path", f"`{self._path}` is a URL: give a path, or take `bobcat.stores.urls.open_store`"
            )
        self._path, self._busy_seconds = os.path.abspath(self._path), busy_seconds
        self._now = time_of(clock)
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._worker = Worker(self._path, self._busy_seconds)
        weakref.finalize(self, self._worker.close)

    def _ask(self, work: Callable[[sqlite3.Connection], T], *, writes: bool) -> asyncio.Future[T]:
        if self._process != os.getpid():  # a child of `fork`: neither thread nor connection came along
            self._start()
        return self._worker.ask(work, writes=writes)

    async def append(self, record: StepRecord) -> None:
        """Keep `record` durably, or raise `DuplicateRecord`."""
        row = row_of(record)

        def work(connection: sqlite3.Connection) -> None:
            make_known(connection, row.run_id, self._now())
            insert(connection, row)

        await self._ask(work, writes=True)

    async def load(self, run_id: str) -> Sequence[StepRecord]:
        """Every record of a run, by `seq`."""
        return await self.load_from(run_id)

    async def acquire(self, run_id: str, *, owner: str, seconds: float) -> Lease:
        """Take the run with the next fence, or raise `RunBusy`."""
        name_of("run id", run_id), name_of("owner", owner)

        def work(connection: sqlite3.Connection) -> Lease:
            moment = self._now()
            held = connection.execute(
                "SELECT owner, expires FROM bobcat_runs WHERE run_id = ? AND owner != ? AND expires > ?",
                (run_id, owner, moment),
            ).fetchone()
            if held is not None:
                raise RunBusy(run_id, held[0], moment_of(held[1]))
            expires = moment + int(seconds * 1e6)
            (fence,) = connection.execute(
                """INSERT INTO bobcat_runs (run_id, status, detail, fence, owner, expires, created, updated)
                VALUES (?1, 'running', '{}', 1, ?2, ?3, ?4, ?4) ON CONFLICT (run_id) DO UPDATE
                SET fence = fence + 1, owner = ?2, expires = ?3, updated = ?4 RETURNING fence""",
                (run_id, owner, expires, moment),
            ).fetchone()
            return Lease(run_id, owner, fence, moment_of(expires))

        return await self._ask(work, writes=True)

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """The lease, for longer from now, or `LeaseLost`."""

        def work(connection: sqlite3.Connection) -> Lease:
            moment = self._now()
            expires = moment + int(seconds * 1e6)
            done = connection.execute(
                "UPDATE bobcat_runs SET expires = ?, updated = ? WHERE run_id = ? AND fence = ? AND owner = ?",
                (expires, moment, lease.run_id, lease.fence, lease.owner),
            )
            if not done.rowcount:
                raise lost(lease, lease.run_id)
            return replace(lease, expires=moment_of(expires))

        return await self._ask(work, writes=True)

    async def release(self, lease: Lease) -> None:
        """Give the run back."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE bobcat_runs SET owner = NULL, updated = ? WHERE run_id = ? AND fence = ? AND owner = ?",
                (self._now(), lease.run_id, lease.fence, lease.owner),
            )

        await self._ask(work, writes=True)

    async def append_fenced(self, record: StepRecord, lease: Lease) -> None:
        """`append`, while the lease is held, in one transaction."""
        row = row_of(record)

        def work(connection: sqlite3.Connection) -> None:
            check_held(connection, lease, row.run_id, self._now())
            insert(connection, row)

        await self._ask(work, writes=True)

    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        """Records of a run from `seq` on, by `seq`."""
        name_of("run id", run_id)
        query = f"SELECT {_RECORD} FROM bobcat_records WHERE run_id = ? AND seq >= ? ORDER BY seq LIMIT ?"
        wanted = (run_id, seq, -1 if limit is None else limit)

        def work(connection: sqlite3.Connection) -> tuple[StepRecord, ...]:
            with reading(f"the journal of run `{run_id}`"):
                return tuple([record_of(row) for row in connection.execute(query, wanted)])

        return await self._ask(work, writes=False)

    async def set_status(
        self, run_id: str, status: RunStatus, *, detail: Mapping[str, Any] | None = None, lease: Lease | None = None
    ) -> None:
        """Say where a run stands."""
        name_of("run id", run_id)
        text = text_of("status", detail or {})

        def work(connection: sqlite3.Connection) -> None:
            if lease is not None:
                check_held(connection, lease, run_id, self._now())
            connection.execute(
                """INSERT INTO bobcat_runs (run_id, status, detail, fence, owner, expires, created, updated)
                VALUES (?1, ?2, ?3, 0, NULL, 0, ?4, ?4) ON CONFLICT (run_id) DO UPDATE
                SET status = ?2, detail = ?3, updated = ?4""",
                (run_id, status, text, self._now()),
            )

        await self._ask(work, writes=True)

    async def runs(
        self, *, status: RunStatus | None = None, limit: int = 100, after: RunSummary | None = None
    ) -> Sequence[RunSummary]:
        """Runs, the last changed first."""
        conditions, values = ["1"], list[object]()
        if status is not None:
            conditions.append("status = ?")
            values.append(status)
        if after is not None:
            conditions.append("(updated, run_id) < (?, ?)")
            values += [microseconds(after.updated), after.run_id]
        query = f"{_SUMMARY} WHERE {' AND '.join(conditions)} ORDER BY updated DESC, run_id DESC LIMIT ?"
        return await self._ask(
            lambda connection: tuple(summary_of(row) for row in connection.execute(query, (*values, limit))),
            writes=False,
        )

    async def run(self, run_id: str) -> RunSummary | None:
        """One run, or None."""
        name_of("run id", run_id)

        def work(connection: sqlite3.Connection) -> RunSummary | None:
            row = connection.execute(f"{_SUMMARY} WHERE run_id = ?", (run_id,)).fetchone()
            return None if row is None else summary_of(row)

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
            change = """UPDATE bobcat_documents SET version = version + 1, body = ?3, updated = ?4
                WHERE kind = ?1 AND key = ?2 AND version = ?5"""
        else:
            change = "INSERT OR IGNORE INTO bobcat_documents (kind, key, version, body, updated) VALUES (?, ?, 1, ?, ?)"

        def work(connection: sqlite3.Connection) -> Entry:
            moment = self._now()
            values = (kind, key, text, moment, expected) if expected else (kind, key, text, moment)
            if not connection.execute(change, values).rowcount:
                raise changed(kind, key, expected)
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
        """The store's time: that of the machine, on which all its users are."""
        return moment_of(self._now())

    def transaction(self, lease: Lease) -> AbstractAsyncContextManager[Transaction]:
        """A transaction under a lease, on a connection of its own. Every other write to the file waits for its end."""
        return transaction(self._path, lease, busy_seconds=self._busy_seconds, now=self._now)

    async def aclose(self) -> None:
        """Do what was asked, then close the file. The store cannot be used any more."""
        thread = self._worker.close()
        if thread is not None and self._process == os.getpid():
            await asyncio.to_thread(thread.join)
