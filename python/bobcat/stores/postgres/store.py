"""`PostgresStore`: a `TransactionalStore` in a PostgreSQL database, for workers on many machines."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bobcat.errors import StoreError
from bobcat.journal.records import StepRecord
from bobcat.stores.backup_items import SavedItem
from bobcat.stores.codec import RecordRow, body_of, damaged_unless_readable, moment_of, record_of, row_of, text_of
from bobcat.stores.counts import StoreCounts
from bobcat.stores.errors import ENDED, JournalGap, duplicate_record, lease_lost, without_driver
from bobcat.stores.group_commit import Beginning, GroupCommit, Unit, unit_of
from bobcat.stores.heartbeat import lease_thread
from bobcat.stores.postgres.grouped import append_units, begin_runs
from bobcat.stores.postgres.queue import PostgresQueue, Row
from bobcat.stores.postgres.renewals import PostgresRenewals
from bobcat.stores.postgres.statements import channel_of, statements_for
from bobcat.stores.protocol import (
    Entry,
    Lease,
    QueueEntry,
    Renewals,
    RunBusy,
    RunStatus,
    RunSummary,
    StatusConflict,
    Transaction,
)

if TYPE_CHECKING:
    from bobcat.stores.postgres.pool import Connection

T = TypeVar("T")

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class PostgresStore(PostgresQueue):
    """Journals in PostgreSQL. Acknowledged records are on the server's disk; times are the database's.

    `conninfo` is a URL or a connection string of libpq. The tables are in the schema `schema`, which is created when it
    is missing. At most `pool_size` connections are open, and as many for transactions of tools. A call whose connection
    breaks is retried for `patience` seconds, so that runs survive a restart of the server; it never takes effect twice.
    A server that would lose acknowledged data is refused, or with `durability="warn"` logged. One event loop at a time.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str = "bobcat",
        pool_size: int = 8,
        patience: float = 30.0,
        durability: Literal["require", "warn"] = "require",
    ) -> None:
        if not _SCHEMA.fullmatch(schema):
            raise StoreError("bad_name", f"the name of a schema must consist of a-z, 0-9 and _, not `{schema}`")
        try:
            from bobcat.stores.postgres.connection import PostgresConnections
            from bobcat.stores.postgres.listener import Listener
        except ModuleNotFoundError as error:
            raise without_driver("PostgresStore", "psycopg", "postgres") from error
        self._connections = PostgresConnections(
            conninfo, schema, pool_size=pool_size, patience=patience, durability=durability, traffic=self.traffic
        )
        self._listener = Listener(conninfo, channel_of(schema))
        self._schema = schema
        self._statements = statements_for(schema)
        self._renewals = PostgresRenewals(self._connections.for_renewals(), self._statements)
        self._commits = GroupCommit[Unit, None](self._append_units, self._append_unit)
        self._beginnings = GroupCommit[Beginning, Row](self._begin_runs, self._begin_run)

    async def release(self, lease: Lease) -> None:
        """Release the run."""

        async def work(connection: Connection) -> None:
            await connection.execute(self._statements["release"], _held(lease))

        await self._connections.do(work)

    async def _append(self, row: RecordRow, lease: Lease | None) -> None:
        if lease is not None:
            await self._commits.write(Unit(lease, (row,), (uuid.uuid4(),)))
            return
        values = _values(row)

        async def work(connection: Connection) -> None:
            if await self._one(connection, "append", values) is None:
                await self._own_or_taken(connection, values)

        await self._connections.do(work)

    async def append_group(self, records: Sequence[StepRecord], lease: Lease) -> None:
        """Append consecutive records under the lease: all of them, or none."""
        if records:
            await self._commit(unit_of(records, lease))

    async def conclude(
        self, records: Sequence[StepRecord], status: RunStatus, *, detail: Mapping[str, Any], lease: Lease
    ) -> None:
        """Append consecutive records, set the status and release the run: all, or nothing."""
        if records:
            await self._commit(unit_of(records, lease, status, text_of("status", detail)))
        else:
            await self.finish(status, detail=detail, lease=lease)

    async def _commit(self, unit: Unit) -> None:
        try:
            await self._commits.write(unit)
        except JournalGap as gap:
            await self.mark_restored()
            raise lease_lost(unit.lease, unit.lease.run_id) from gap

    async def finish(self, status: RunStatus, *, detail: Mapping[str, Any], lease: Lease) -> None:
        """Set the status of a run under its lease, and release it, in one statement."""
        values = {**_held(lease), "status": status, "detail": text_of("status", detail), "expected": None}

        async def work(connection: Connection) -> None:
            if await self._one(connection, "finish", values) is None:
                # An earlier attempt of the same call, whose answer was lost, may have released the run.
                released = await self._one(connection, "finished", values)
                if released is None:
                    raise lease_lost(lease, lease.run_id)

        await self._connections.do(work)

    async def _append_units(self, units: Sequence[Unit]) -> dict[str, None]:
        """Append units of several runs, without retries. Returns the ids of the runs whose units are durable."""
        kept, position = await self._connections.once(
            lambda connection: append_units(connection, self._statements, units)
        )
        self._connections.note(position)
        return dict.fromkeys(kept)

    async def _append_unit(self, unit: Unit) -> None:
        """Append a unit by itself, in one transaction."""
        every = [{**row._asdict(), "token": token} for row, token in zip(unit.rows, unit.tokens, strict=True)]

        end = {**_held(unit.lease), "status": unit.status, "detail": unit.detail}

        async def work(connection: Connection) -> None:
            if len(every) == 1 and unit.status is None:
                await self._append_fenced(connection, every[0], unit.lease)
                return
            async with connection.transaction():
                if unit.status is not None and await self._one(connection, "finished", end) is not None:
                    await self._own_or_taken(connection, every[-1])  # an attempt of this call, whose answer was lost
                    return
                for values in every:
                    await self._append_fenced(connection, values, unit.lease)
                if unit.status is not None and await self._one(connection, "finish", end) is None:
                    raise lease_lost(unit.lease, unit.lease.run_id)

        await self._connections.do(work)

    async def _append_fenced(self, connection: Connection, values: Mapping[str, Any], lease: Lease) -> None:
        row = await self._one(connection, "append_fenced", {**values, **_held(lease)})
        held, kept, last, position = row or (0, 0, -1, "0/0")
        self._connections.note(position)
        if not held:
            raise lease_lost(lease, lease.run_id)
        if not kept:
            if values["seq"] > last + 1:
                raise JournalGap(lease.run_id, values["seq"], last)
            await self._own_or_taken(connection, values)

    async def now(self) -> datetime:
        """The database's time."""
        (moment,) = await self._first("now", {}) or (None,)
        assert isinstance(moment, datetime)
        return moment.astimezone(UTC)

    async def mark_restored(self) -> int:
        """Begin the next epoch."""
        return await self._connections.begin_epoch()

    renews_in_transactions = True

    def transaction(self, lease: Lease) -> AbstractAsyncContextManager[Transaction]:
        """A transaction under a lease.

        The run is locked only from its record on, so renewals continue meanwhile; when another worker took the run in
        the meantime, the commit raises `LeaseLost` and everything is rolled back.
        """
        return self._transaction(lease)

    @asynccontextmanager
    async def _transaction(self, lease: Lease) -> AsyncIterator[Transaction]:
        async def held(connection: Connection, statement: str = "held") -> None:
            if await self._one(connection, statement, _held(lease)) is None:
                raise lease_lost(lease, lease.run_id)

        async with self._connections.transaction(held) as connection:
            yield _PostgresTransaction(self, connection, lease)
            await held(connection, "hold")

    def lease_renewals(self) -> Renewals:
        """The renewals of leases on another event loop, over a connection that opens when the first one is due."""
        return self._renewals

    async def aclose(self) -> None:
        """Close the connections. The store cannot be used any more."""
        await lease_thread().call(self._renewals.aclose())
        await self._listener.close()
        await self._connections.aclose()

    async def begin(self, run_id: str, *, owner: str, seconds: float) -> tuple[Lease, RunSummary]:
        """Acquire a run, and read it in the same statement."""
        self._name("run id", run_id)
        beginning = Beginning(run_id, self._name("owner", owner), float(seconds))
        fence, expires, *summary, _ = await self._beginnings.write(beginning)
        return Lease(run_id, owner, fence, _utc(expires)), _summary(tuple(summary))

    async def _begin_runs(self, beginnings: Sequence[Beginning]) -> dict[str, Row]:
        return await self._connections.once(lambda connection: begin_runs(connection, self._statements, beginnings))

    async def _begin_run(self, beginning: Beginning) -> Row:
        return await self._acquired("begin", beginning.run_id, beginning.owner, beginning.seconds)

    async def _acquire(self, run_id: str, owner: str, seconds: float) -> Lease:
        fence, expires = await self._acquired("acquire", run_id, owner, seconds)
        return Lease(run_id, owner, fence, _utc(expires))

    async def _acquired(self, statement: str, run_id: str, owner: str, seconds: float) -> tuple[Any, ...]:
        values = {"run_id": run_id, "owner": owner, "seconds": float(seconds)}

        async def work(connection: Connection) -> tuple[Any, ...]:
            while True:
                got = await self._one(connection, statement, values)
                if got is not None:
                    return got
                holder = await self._one(connection, "holder", values)
                if holder is not None:  # else it was released meanwhile
                    raise RunBusy(run_id, holder[0], holder[1].astimezone(UTC))

        return await self._connections.do(work)

    async def _renew(self, lease: Lease, seconds: float) -> Lease | None:
        got = await self._first("renew", {**_held(lease), "seconds": float(seconds)})
        return None if got is None else replace(lease, expires=got[0].astimezone(UTC))

    async def _load(self, run_id: str, seq: int, limit: int | None) -> Sequence[StepRecord]:
        rows = await self._every("load", {"run_id": run_id, "seq": seq, "limit": limit})
        with damaged_unless_readable(f"the journal of run `{run_id}`"):
            return tuple([record_of(row) for row in rows])

    async def _set_status(
        self, run_id: str, status: RunStatus, detail: str, lease: Lease | None, expected: Collection[RunStatus] | None
    ) -> None:
        values: dict[str, Any] = {"run_id": run_id, "status": status, "detail": detail}
        values["expected"] = None if expected is None else list(expected)
        if lease is not None:
            values |= _held(lease)

        async def work(connection: Connection) -> None:
            statement = "set_status" if lease is None else "set_status_held"
            if await self._one(connection, statement, values) is not None:
                return
            found = await self._one(connection, "standing", values)
            if lease is not None and await self._one(connection, "held", values) is None:
                raise lease_lost(lease, run_id)
            # An earlier attempt of the same call, whose answer was lost, may have set it.
            if found is not None and expected is not None and found != (status, detail):
                raise StatusConflict(run_id, found[0])

        await self._connections.do(work)

    async def _listed(
        self, status: RunStatus | None, limit: int, after: tuple[int, str] | None
    ) -> Sequence[RunSummary]:
        updated, run_id = (None, None) if after is None else (moment_of(after[0]), after[1])
        values = {"status": status, "updated": updated, "run_id": run_id, "limit": limit}
        return await self._listing("runs", values)

    async def _listing(self, statement: str, values: Mapping[str, Any]) -> tuple[RunSummary, ...]:
        return tuple([_summary(row) for row in await self._every(statement, values)])

    async def _do(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        return await self._connections.do(work)

    async def _run(self, run_id: str) -> RunSummary | None:
        row = await self._first("run", {"run_id": run_id})
        return None if row is None else _summary(row)

    async def _get(self, kind: str, key: str) -> Entry | None:
        row = await self._first("get", {"kind": kind, "key": key})
        return None if row is None else _entry(row)

    async def _put(self, kind: str, key: str, text: str, expected: int) -> datetime | None:
        values = {"kind": kind, "key": key, "body": text, "expected": expected, "token": uuid.uuid4()}

        async def work(connection: Connection) -> datetime | None:
            row = await self._one(connection, "change" if expected else "create", values)
            if row is None:
                row = await self._one(connection, "own_document", values)
            return None if row is None else _utc(row[0])

        return await self._connections.do(work)

    async def _scan(self, kind: str, after: str, limit: int) -> Sequence[Entry]:
        values = {"kind": kind, "after": after, "limit": limit}
        return tuple([_entry(row) for row in await self._every("scan", values)])

    async def _erase(self, run_id: str, fence: int | None) -> bool:
        values = {"run_id": run_id, "fence": fence}

        async def work(connection: Connection) -> bool:
            async with connection.transaction():
                erased = await self._one(connection, "erase", values)
                if erased is None:
                    holder = await self._one(connection, "held_by", values)
                    if holder is not None:
                        raise RunBusy(run_id, holder[0], _utc(holder[1]))
                    return False
                # A second statement: it sees the records of appends that the first one has waited for.
                await connection.execute(self._statements["erase_records"], values)
                await connection.execute(self._statements["raise_fence"], {"fence": erased[0] + 1})
                return True

        return await self._connections.do(work)

    async def save(self, write: Callable[[SavedItem], None]) -> None:
        """Write every item of one state; see `BackupStore`."""
        from bobcat.stores.postgres.backup import save
        from bobcat.stores.postgres.connection import translated_errors

        with translated_errors():
            await self._connections.once(lambda connection: save(connection, self._schema, write))

    async def restore(self, items: Iterable[SavedItem]) -> None:
        """Write all items, or none, into this empty store."""
        from bobcat.stores.postgres.backup import restore
        from bobcat.stores.postgres.connection import translated_errors

        with translated_errors():
            await self._connections.once(lambda connection: restore(connection, self._schema, items))

    async def counts(self) -> StoreCounts:
        """Count the live runs."""
        from bobcat.stores.postgres.counts import live_counts

        return await self._connections.do(lambda connection: live_counts(connection, self._schema))

    async def _discard(self, entry: Entry, updated: int) -> bool | None:
        values = {"kind": entry.kind, "key": entry.key, "version": entry.version, "updated": moment_of(updated)}
        if await self._first("discard", values) is not None:
            return True
        return False if await self._first("get", values) is None else None

    async def _last_restore(self) -> tuple[int, datetime | None]:
        """See `bobcat.stores.postgres.schema.identify`."""
        epoch, moment = await self._first("last_restore", {}) or (1, None)
        return int(epoch), None if moment is None else _utc(moment)

    async def _mark_uncertain(self, run_id: str) -> None:
        await self._first("mark_uncertain", {"run_id": run_id})

    async def _own_or_taken(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """Raise for a taken position, unless an earlier attempt of the same call wrote it."""
        if await self._one(connection, "own_record", values) is None:
            raise duplicate_record(values["run_id"], values["seq"])

    async def _one(self, connection: Connection, statement: str, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = await (await connection.execute(self._statements[statement], values)).fetchone()
        return row

    async def _first(self, statement: str, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        return await self._connections.do(lambda connection: self._one(connection, statement, values))

    async def _every(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            return await (await connection.execute(self._statements[statement], values)).fetchall()

        return await self._connections.do(work)


class _PostgresTransaction:
    """The `transaction` of a transactional tool. `connection` is a `psycopg.AsyncConnection` in a transaction."""

    def __init__(self, store: PostgresStore, connection: Connection, lease: Lease) -> None:
        self._store, self._connection, self._lease = store, connection, lease

    @property
    def connection(self) -> Connection:
        """The connection, inside the transaction."""
        return self._connection

    def problem(self) -> str | None:
        """Reason why the transaction can no longer commit, or None."""
        from psycopg.pq import TransactionStatus

        match self._connection.info.transaction_status:
            case TransactionStatus.INTRANS:
                return None
            case TransactionStatus.INERROR:
                return "a statement of the tool failed, so PostgreSQL undoes all of its transaction"
            case _:
                return ENDED

    async def append(self, record: StepRecord) -> None:
        """Append the record in the transaction."""
        from bobcat.stores.postgres.connection import translated_errors

        row = row_of(record)
        if row.run_id != self._lease.run_id:
            raise lease_lost(self._lease, row.run_id)
        with translated_errors():
            await self._store._append_fenced(self._connection, _values(row), self._lease)


def _held(lease: Lease) -> dict[str, Any]:
    return {"run_id": lease.run_id, "fence": lease.fence, "owner": lease.owner}


def _values(row: RecordRow) -> dict[str, Any]:
    return {**row._asdict(), "token": uuid.uuid4()}


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _summary(row: tuple[Any, ...]) -> RunSummary:
    run_id, status, records, fence, created, updated, detail, *more = row
    moments = created.astimezone(UTC), updated.astimezone(UTC)
    with damaged_unless_readable(f"the status of run `{run_id}`"):
        appended, head, held, restored, kind, run_at, *queued = more
        queue = QueueEntry(kind, _utc(run_at), *queued) if kind else None
        return RunSummary(
            run_id, status, records, fence, *moments, body_of(detail), appended, head, held, restored, queue
        )


def _entry(row: tuple[Any, ...]) -> Entry:
    kind, key, version, body, updated = row
    with damaged_unless_readable(f"document `{key}` of kind `{kind}`"):
        return Entry(kind, key, version, body_of(body), updated.astimezone(UTC))
