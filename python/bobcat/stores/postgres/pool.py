"""Connection pool of one event loop.

It has no task of its own: an event loop that ends before the store was closed has nothing to wait for. (psycopg's pool
connects in tasks, and one of those that is cancelled while it connects never ends.)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus

Connection: TypeAlias = psycopg.AsyncConnection[Any]  # Any: rows are tuples of columns


class Pool:
    """At most `size` connections, opened by `connect`."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int) -> None:
        self._connect = connect
        self._slots = asyncio.Semaphore(size)
        self._idle: list[Connection] = []
        self._closed = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection, most recently used first. It returns to the pool when it is still good."""
        async with self._slots:
            connection = self._idle.pop() if self._idle else await self._connect()
            try:
                yield connection
            finally:
                reusable = connection.info.transaction_status == TransactionStatus.IDLE
                if reusable and not self._closed:
                    self._idle.append(connection)
                else:
                    broken = connection.broken
                    await connection.close()
                    if broken:  # the server was unavailable: the others are broken too
                        await self._drop()

    async def close(self) -> None:
        """Close the idle connections, and the others when they are returned."""
        self._closed = True
        await self._drop()

    async def _drop(self) -> None:
        while self._idle:
            await self._idle.pop().close()
