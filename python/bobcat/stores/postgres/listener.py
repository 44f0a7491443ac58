"""The connection on which a worker hears that runs were queued."""

from __future__ import annotations

import asyncio

import psycopg
from psycopg import sql

from bobcat.stores.postgres.pool import Connection

CONNECT_SECONDS = 10.0
RETRY_SECONDS = 1.0
"""Pause after a connection was lost or refused. The caller looks into the queue meanwhile."""


class Listener:
    """One connection that listens to a channel, opened at the first wait and again when it is lost."""

    def __init__(self, conninfo: str, channel: str) -> None:
        self._conninfo, self._channel = conninfo, channel
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting = asyncio.Lock()

    async def wait(self, seconds: float) -> bool:
        """Wait for an announcement, for at most so many seconds. True also when one may have been missed."""
        if self._loop is not asyncio.get_running_loop():
            self._connection, self._loop, self._waiting = None, asyncio.get_running_loop(), asyncio.Lock()
        async with self._waiting:
            try:
                if self._connection is None:
                    self._connection = await self._listening()
                    return True
                heard = False
                async for _ in self._connection.notifies(timeout=seconds, stop_after=1):
                    heard = True
                return heard
            except (psycopg.Error, OSError, TimeoutError):
                await self.close()
                await asyncio.sleep(min(seconds, RETRY_SECONDS))
                return False

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None and self._loop is asyncio.get_running_loop():
            await connection.close()

    async def _listening(self) -> Connection:
        async with asyncio.timeout(CONNECT_SECONDS):
            connection: Connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
            try:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            except BaseException:
                await connection.close()
                raise
            return connection
