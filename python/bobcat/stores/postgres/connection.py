"""The connections of a PostgreSQL store: opened at first use, pooled, and reopened after the server was unavailable."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Literal, TypeVar

import psycopg

from bobcat.errors import StoreError, StoreWarning
from bobcat.stores.errors import unavailable
from bobcat.stores.postgres.counted import CountedConnection
from bobcat.stores.postgres.pool import Connection, Pool
from bobcat.stores.postgres.schema import begin_epoch, identify, log_position, migrate
from bobcat.stores.server import Driver, ServerConnections
from bobcat.stores.traffic import Traffic

T = TypeVar("T")

_TRANSIENT = {
    "40001",  # serialization_failure
    "40P01",  # deadlock_detected
    "53300",  # too_many_connections
    "57P01",  # admin_shutdown
    "57P02",  # crash_shutdown
    "57P03",  # cannot_connect_now
}
"""SQLSTATEs after which the same call can succeed; class 08 and no state at all are broken connections."""

_WRITE_THROUGH = """SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'"""
"""Statement that makes a commit wait for the disk, whatever the default of the server or the role."""


class PostgresConnections(ServerConnections[Connection, psycopg.Error]):
    """The connections to one schema of one database, for one event loop at a time."""

    def __init__(
        self, conninfo: str, schema: str, *, pool_size: int, patience: float, durability: Literal["require", "warn"],
        traffic: Traffic,
    ) -> None:  # fmt: skip
        super().__init__(Driver("PostgreSQL", psycopg.Error, _is_transient, to_store_error), patience)
        self._conninfo, self._schema, self._pool_size = conninfo, schema, pool_size
        self._durability, self._traffic = durability, traffic
        self._pool: Pool | None = None
        self._transaction_pool: Pool | None = None
        """Separate connections for transactions, so that renewals find a free one however many tools are in a
        transaction.
        """
        self._opened_once = False
        self._log_position = 0

    async def _attempt(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        assert self._pool is not None
        async with self._pool.connection() as connection:
            return await work(connection)

    @asynccontextmanager
    async def transaction(self, begin: Callable[[Connection], Awaitable[object]]) -> AsyncIterator[Connection]:
        """A connection in a transaction that `begin` has checked.

        Failures before that are retried, later ones are not.
        """
        pause = self._retries()
        await self._opened()
        pool = self._transaction_pool
        assert pool is not None
        while True:
            began = False
            try:
                async with pool.connection() as connection:
                    async with connection.transaction():
                        await begin(connection)
                        began = True
                        yield connection
                    return
            except psycopg.Error as error:
                if began:
                    if _is_transient(error):
                        raise to_store_error(error) from error
                    raise  # the tool's own exception
                await pause(error)

    async def _release(self) -> None:
        for pool in (self._pool, self._transaction_pool):
            if pool is not None:
                await pool.close()

    async def begin_epoch(self) -> int:
        """Begin the next epoch and return its number."""

        async def work(connection: Connection) -> int:
            async with connection.transaction():
                return await begin_epoch(connection, self._schema)

        return await self.do(work)

    async def _open(self) -> None:
        self._opened_once = False
        self._pool, self._transaction_pool = (Pool(self._connect, self._pool_size) for _ in range(2))
        async with self._pool.connection() as connection:
            await self._check(connection)
            await migrate(connection, self._schema)
            await self._identify(connection)
            self._opened_once = True

    def for_renewals(self) -> PostgresConnections:
        """One more connection to the same database, for another event loop. It checks and identifies nothing: a renewal
        can only extend a lease that the store has.
        """
        return _RenewalConnection(
            self._conninfo, self._schema, pool_size=1, patience=self._patience, durability=self._durability,
            traffic=self._traffic,
        )  # fmt: skip

    async def _connect(self) -> Connection:
        connection = await CountedConnection.connect(self._conninfo, autocommit=True)
        try:
            await connection.execute(_WRITE_THROUGH)
            if self._opened_once:  # the server may have been restored while the store had no connection
                await self._identify(connection)
        except BaseException:
            await connection.close()
            raise
        connection.traffic = self._traffic  # the statements above are those of the connection
        return connection

    def note(self, position: str) -> None:
        """Record the position of the server's log; a server found at an earlier position was restored."""
        self._log_position = max(self._log_position, log_position(position))

    async def _identify(self, connection: Connection) -> None:
        self._log_position = await identify(connection, self._schema, self._log_position)

    async def _check(self, connection: Connection) -> None:
        rows = await connection.execute("SELECT current_setting('server_encoding'), current_setting('fsync')")
        encoding, fsync = await rows.fetchone() or ("", "")
        if encoding != "UTF8":
            raise StoreError("encoding", f"the database's encoding is `{encoding}`; make one with `ENCODING 'UTF8'`")
        if fsync != "on":
            risk = "`fsync` is off on the PostgreSQL server, so a power cut loses or damages journals: set `fsync = on`"
            if self._durability == "require":
                raise StoreError("not_durable", f'{risk}, or pass `durability="warn"`')
            warnings.warn(risk, StoreWarning, stacklevel=2)


class _RenewalConnection(PostgresConnections):
    async def _open(self) -> None:
        self._pool = Pool(self._connect, self._pool_size)


def _is_transient(error: psycopg.Error) -> bool:
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state in _TRANSIENT or state.startswith("08")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate the errors of the store's own statements."""
    try:
        yield
    except psycopg.Error as error:
        raise to_store_error(error) from error


def to_store_error(error: psycopg.Error) -> StoreError:
    """Convert a PostgreSQL error to a `StoreError`."""
    first = str(error).strip().splitlines()
    return unavailable(f"PostgreSQL: {first[0] if first else type(error).__name__}")
