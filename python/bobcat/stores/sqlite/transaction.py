"""A transaction that a tool writes in, on a connection of its own."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bobcat.journal import StepRecord
from bobcat.stores.durable import Lease, Transaction
from bobcat.stores.lease_clock import Reading
from bobcat.stores.refusals import ENDED, lost, read_only
from bobcat.stores.sqlite.identity import count_write, write_mark
from bobcat.stores.sqlite.rows import check_held, insert
from bobcat.stores.sqlite.schema import connect
from bobcat.stores.sqlite.worker import worded
from bobcat.stores.written import row_of
from bobcat.tasks import settle


class SQLiteTransaction:
    """What a transactional tool gets. `connection` is a `sqlite3.Connection` that has begun."""

    def __init__(self, connection: sqlite3.Connection, lease: Lease) -> None:
        self._connection, self._lease = connection, lease

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, inside the transaction."""
        return self._connection

    def problem(self) -> str | None:
        """Why nothing can be committed in the transaction any more."""
        try:
            return None if self._connection.in_transaction else ENDED
        except sqlite3.ProgrammingError:
            return ENDED

    async def append(self, record: StepRecord) -> None:
        """Keep the record in the transaction. That the lease ended meanwhile is no matter: nobody takes the run before
        the transaction ends, for that is a write."""
        row = row_of(record)
        if row.run_id != self._lease.run_id:
            raise lost(self._lease, row.run_id)
        insert(self._connection, row)


@asynccontextmanager
async def transaction(
    path: str, lease: Lease, *, busy_seconds: float, read: Callable[[], Reading]
) -> AsyncIterator[Transaction]:
    """Begin, and commit when the block ends. `read` reads the store's clocks."""
    connections: list[sqlite3.Connection] = []

    def begin() -> None:
        connected = connect(path, busy_seconds=busy_seconds)
        connections.append(connected.connection)
        if connected.read_only is not None:
            raise read_only(path, connected.read_only)
        connections[0].execute("BEGIN IMMEDIATE")

    def commit() -> None:
        mark = count_write(connections[0])
        connections[0].execute("COMMIT")
        write_mark(path, mark)

    try:
        await settle(asyncio.to_thread(_worded, path, begin))
        connection = connections[0]
        check_held(connection, lease, lease.run_id, read())
        connection.set_authorizer(_within)
        yield SQLiteTransaction(connection, lease)
        connection.set_authorizer(None)
        await settle(asyncio.to_thread(_worded, path, commit))
    finally:
        for connection in connections:
            connection.close()  # rolls back what was not committed


def _within(action: int, *_: object) -> int:
    """Refuses to end the transaction: that is not the tool's to do."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_TRANSACTION else sqlite3.SQLITE_OK


def _worded(path: str, work: Callable[[], object]) -> None:
    try:
        work()
    except sqlite3.Error as error:
        raise worded(path, error) from error
