"""The connection on which a worker hears that runs were queued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from redis.exceptions import RedisError

from bobcat.stores.redis.connection import Client

CONNECT_SECONDS = 10.0
RETRY_SECONDS = 1.0
"""Pause after a connection was lost or refused. The caller looks into the queue meanwhile."""


class Listener:
    """One connection that is subscribed to a channel, opened at the first wait and again when it is lost."""

    def __init__(self, connect: Callable[[], Client], channel: str) -> None:
        self._connect, self._channel = connect, channel
        self._client: Client | None = None
        self._subscription: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting = asyncio.Lock()

    async def wait(self, seconds: float) -> bool:
        """Wait for an announcement, for at most so many seconds. True also when one may have been missed."""
        if self._loop is not asyncio.get_running_loop():
            self._client, self._subscription = None, None
            self._loop, self._waiting = asyncio.get_running_loop(), asyncio.Lock()
        async with self._waiting:
            try:
                if self._subscription is None:
                    await self._subscribe()
                    return True
                until = self._loop.time() + seconds
                while (left := until - self._loop.time()) > 0:
                    message = await self._subscription.get_message(ignore_subscribe_messages=True, timeout=left)
                    if message is not None:
                        return True
                return False
            except (RedisError, OSError, TimeoutError):
                await self.close()
                await asyncio.sleep(min(seconds, RETRY_SECONDS))
                return False

    async def close(self) -> None:
        """Close the connection."""
        opened, self._client, self._subscription = (self._subscription, self._client), None, None
        if self._loop is asyncio.get_running_loop():
            for each in opened:
                if each is not None:
                    with suppress(RedisError, OSError):
                        await each.aclose()

    async def _subscribe(self) -> None:
        async with asyncio.timeout(CONNECT_SECONDS):
            self._client = self._connect()
            subscription = self._client.pubsub()
            await subscription.subscribe(self._channel)
            self._subscription = subscription
