"""A transaction for a tool's writes, on a separate connection."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bobcat.aio.tasks import wait_shielded
from bobcat.journal.records import StepRecord
from bobcat.stores.codec import row_of
from bobcat.stores.errors import ENDED, lease_lost, read_only
from bobcat.stores.lease_clock import ClockSample
from bobcat.stores.protocol import Lease, Transaction
from bobcat.stores.sqlite.identity import count_write, write_mark
from bobcat.stores.sqlite.rows import check_held, insert
from bobcat.stores.sqlite.schema import connect
from bobcat.stores.sqlite.worker import to_store_error


class SQLiteTransaction:
    """The `transaction` of a transactional tool. `connection` is a `sqlite3.Connection` in a transaction."""

    def __init__(self, connection: sqlite3.Connection, lease: Lease) -> None:
        self._connection, self._lease = connection, lease

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, inside the transaction."""
        return self._connection

    def problem(self) -> str | None:
        """Reason why the transaction can no longer commit, or None."""
        try:
            return None if self._connection.in_transaction else ENDED
        except sqlite3.ProgrammingError:
            return ENDED

    async def append(self, record: StepRecord) -> None:
        """Append the record in the transaction.

        The lease may end meanwhile: no other worker can acquire the run, which is a write, before the transaction ends.
        """
        row = row_of(record)
        if row.run_id != self._lease.run_id:
            raise lease_lost(self._lease, row.run_id)
        insert(self._connection, row)


@asynccontextmanager
async def transaction(
    path: str,
    lease: Lease,
    *,
    busy_seconds: float,
    read: Callable[[], ClockSample],
    last: Callable[[sqlite3.Connection], object],
) -> AsyncIterator[Transaction]:
    """Begin, and commit when the block ends. `read` reads the store's clocks, `last` writes before the commit."""
    connections: list[sqlite3.Connection] = []

    def begin() -> None:
        connected = connect(path, busy_seconds=busy_seconds)
        connections.append(connected.connection)
        if connected.read_only is not None:
            raise read_only(path, connected.read_only)
        connections[0].execute("BEGIN IMMEDIATE")

    def commit() -> None:
        last(connections[0])
        mark = count_write(connections[0])
        connections[0].execute("COMMIT")
        write_mark(path, mark)

    try:
        await wait_shielded(asyncio.to_thread(_to_store_error, path, begin))
        connection = connections[0]
        check_held(connection, lease, read())
        connection.set_authorizer(_within)
        yield SQLiteTransaction(connection, lease)
        connection.set_authorizer(None)
        await wait_shielded(asyncio.to_thread(_to_store_error, path, commit))
    finally:
        for connection in connections:
            connection.close()  # rolls back uncommitted writes


def _within(action: int, *_: object) -> int:
    """Authorizer that keeps the tool from ending the transaction."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_TRANSACTION else sqlite3.SQLITE_OK


def _to_store_error(path: str, work: Callable[[], object]) -> None:
    try:
        work()
    except sqlite3.Error as error:
        raise to_store_error(path, error) from error
