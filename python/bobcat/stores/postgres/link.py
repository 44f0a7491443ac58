"""The connections of a PostgreSQL store: made at first use, pooled, and made again after the server was away."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Literal, TypeVar

import psycopg

from bobcat.errors import StoreError, StoreWarning
from bobcat.stores.postgres.pool import Connection, Pool
from bobcat.stores.postgres.schema import begin_epoch, identify, log_position, migrate
from bobcat.stores.refusals import closed, elsewhere, unavailable

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
"""Seconds between attempts: doubled from the first to the longest."""

_PASSING = {
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
"""A commit is acknowledged when it is on the disk, whatever the server or the role has as its default."""


class Link:
    """The way to one schema of one database, for one event loop after the other."""

    def __init__(
        self, conninfo: str, schema: str, *, pool_size: int, patience: float, durability: Literal["require", "warn"]
    ) -> None:
        self._conninfo, self._schema, self._pool_size = conninfo, schema, pool_size
        self._patience, self._durability = patience, durability
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Task[None] | None = None
        self._pool: Pool | None = None
        self._apart: Pool | None = None
        """Connections of transactions: renewals find one of their own, however many tools are in a transaction."""
        self._opened_once = False
        self._log_position = 0
        self._closed = False

    async def do(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Have `work` done on a connection; again, for a while, when that breaks. `work` must bear being repeated."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._patience, FIRST_PAUSE
        pool = await self._opened()
        while True:
            try:
                async with pool.connection() as connection:
                    return await work(connection)
            except psycopg.Error as error:
                if not _passes(error) or loop.time() + pause > until:
                    raise worded(error) from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    @asynccontextmanager
    async def begun(self, begin: Callable[[Connection], Awaitable[object]]) -> AsyncIterator[Connection]:
        """A connection in a transaction that `begin` has looked at. What breaks before is tried again, not after."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._patience, FIRST_PAUSE
        await self._opened()
        pool = self._apart
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
                    if _passes(error):
                        raise worded(error) from error
                    raise  # the tool's own
                if not _passes(error) or loop.time() + pause > until:
                    raise worded(error) from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._close_pools()

    async def _close_pools(self) -> None:
        for pool in (self._pool, self._apart):
            if pool is not None:
                await pool.close()

    async def begin_epoch(self) -> int:
        """Begin the next epoch; its number."""

        async def work(connection: Connection) -> int:
            async with connection.transaction():
                return await begin_epoch(connection, self._schema)

        return await self.do(work)

    async def _opened(self) -> Pool:
        loop = asyncio.get_running_loop()
        if self._closed:
            raise closed("the PostgreSQL store")
        if self._loop is not loop:
            if self._loop is not None and not self._loop.is_closed():
                raise elsewhere("a PostgreSQL store")
            await self._close_pools()
            self._loop, self._opening, self._opened_once = loop, None, False
            self._pool, self._apart = (Pool(self._connect, self._pool_size) for _ in range(2))
        pool = self._pool
        assert pool is not None
        if self._opening is None:
            self._opening = loop.create_task(self._open(pool))
        opening = self._opening
        try:
            await asyncio.shield(opening)
        except Exception:
            if self._opening is opening:
                self._opening = None
            raise
        return pool

    async def _open(self, pool: Pool) -> None:
        # The errors of a first connection are those that a user can mend: they are said at once.
        try:
            async with pool.connection() as connection:
                await self._check(connection)
                await migrate(connection, self._schema)
                await self._identify(connection)
                self._opened_once = True
        except psycopg.Error as error:
            raise worded(error) from error

    async def _connect(self) -> Connection:
        connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
        try:
            await connection.execute(_WRITE_THROUGH)
            if self._opened_once:  # the server may have been restored while the store had no connection
                await self._identify(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    def note(self, position: str) -> None:
        """Remember how far the server's log was; a server that is found before that was restored."""
        self._log_position = max(self._log_position, log_position(position))

    async def _identify(self, connection: Connection) -> None:
        self._log_position = await identify(connection, self._schema, self._log_position)

    async def _check(self, connection: Connection) -> None:
        rows = await connection.execute("SELECT current_setting('server_encoding'), current_setting('fsync')")
        encoding, fsync = await rows.fetchone() or ("", "")
        if encoding != "UTF8":
            raise StoreError("encoding", f"the database's encoding is `{encoding}`; make one with `ENCODING 'UTF8'`")
        if fsync != "on":
            lack = "`fsync` is off on the PostgreSQL server, so a power cut loses or damages journals: set `fsync = on`"
            if self._durability == "require":
                raise StoreError("not_durable", f'{lack}, or pass `durability="warn"`')
            warnings.warn(lack, StoreWarning, stacklevel=2)


def _passes(error: psycopg.Error) -> bool:
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state in _PASSING or state.startswith("08")


@contextmanager
def saying() -> Iterator[None]:
    """Say the errors of a statement of ours in our words."""
    try:
        yield
    except psycopg.Error as error:
        raise worded(error) from error


def worded(error: psycopg.Error) -> StoreError:
    """An error of PostgreSQL, in our words."""
    first = str(error).strip().splitlines()
    return unavailable(f"PostgreSQL: {first[0] if first else type(error).__name__}")
