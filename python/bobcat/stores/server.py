"""Connections of a store to a server: opened at first use, for one event loop at a time, retried when they break."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from bobcat.errors import StoreError
from bobcat.stores.errors import store_closed, wrong_event_loop

T = TypeVar("T")
C = TypeVar("C")
E = TypeVar("E", bound=Exception)

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
"""Seconds between attempts: doubled from the first to the longest."""


class Driver(NamedTuple, Generic[E]):
    """A database driver: its exception, whether the same call can succeed after one, and the store's error for it."""

    name: str
    failure: type[E]
    is_transient: Callable[[E], bool]
    to_store_error: Callable[[E], StoreError]


class ServerConnections(ABC, Generic[C, E]):
    """The connections to one server. A call is retried for `patience` seconds."""

    def __init__(self, driver: Driver[E], patience: float) -> None:
        self._driver, self._patience = driver, patience
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Task[None] | None = None
        self._closed = False

    async def do(self, work: Callable[[C], Awaitable[T]]) -> T:
        """Execute `work` on a connection, with retries when it breaks. `work` must be safe to repeat."""
        pause = self._retries()
        while True:
            await self._opened()
            try:
                return await self._attempt(work)
            except self._driver.failure as error:
                await pause(error)

    async def once(self, work: Callable[[C], Awaitable[T]]) -> T:
        """Execute `work` on a connection, without retries. Raises the driver's exceptions."""
        await self._opened()
        return await self._attempt(work)

    def _retries(self) -> Callable[[E], Awaitable[None]]:
        """The pause after each failed attempt of one call; it raises a `StoreError` after the last one."""
        loop, following = asyncio.get_running_loop(), FIRST_PAUSE
        until = loop.time() + self._patience

        async def pause(error: E) -> None:
            nonlocal following
            if not self._driver.is_transient(error) or loop.time() + following > until:
                raise self._driver.to_store_error(error) from error
            await asyncio.sleep(following)
            following = min(following * 2, LONGEST_PAUSE)

        return pause

    async def _opened(self) -> None:
        """Open the connections, once for all callers. Errors of the first connection are raised without retries."""
        loop = asyncio.get_running_loop()
        if self._closed:
            raise store_closed(f"the {self._driver.name} store")
        if self._loop is not loop:
            if self._loop is not None and not self._loop.is_closed():
                raise wrong_event_loop(f"a {self._driver.name} store")
            await self._release()
            self._loop, self._opening = loop, None
        if self._opening is None:
            self._opening = loop.create_task(self._open())
        opening = self._opening
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            return  # PERF: every call comes here
        try:
            await asyncio.shield(opening)
        except Exception as error:
            if self._opening is opening:
                self._opening = None
                await self._release()
            if isinstance(error, self._driver.failure):
                raise self._driver.to_store_error(error) from error
            raise

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._release()

    @abstractmethod
    async def _open(self) -> None:
        """Connect, and check the server."""

    @abstractmethod
    async def _release(self) -> None:
        """Close the connections that are open."""

    @abstractmethod
    async def _attempt(self, work: Callable[[C], Awaitable[T]]) -> T:
        """Execute `work` on a connection."""
