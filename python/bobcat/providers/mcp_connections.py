"""Connections to MCP servers: started by the first call, kept while they are used, ended when they idle.

A connection belongs to the event loop that started it, and ends with it at the latest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from bobcat.adapters.mcp_server import McpServer
from bobcat.adapters.mcp_target import Target
from bobcat.errors import ArgumentError, McpToolError, ToolError


class _Held:
    """One server of one event loop, while it runs and between its runs."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.server: McpServer | None = None
        self.users = 0
        self.timer: asyncio.TimerHandle | None = None
        self.ending: asyncio.Task[None] | None = None


class Connections:
    """The servers of a provider by name."""

    def __init__(self, targets: Mapping[str, Target], *, connect_timeout_seconds: float, idle_seconds: float) -> None:
        self._targets = targets
        self._connect_timeout_seconds = connect_timeout_seconds
        self._idle_seconds = idle_seconds
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Held]] = WeakKeyDictionary()

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[McpServer]:
        """Yield the running server of that name. Raises `McpServerError` if it does not start.

        A server whose call is cancelled or fails is ended: it may still work on the call, or be gone. Refusals, and
        failures that the tool itself reports, keep it.
        """
        held = self._loops.setdefault(asyncio.get_running_loop(), {}).setdefault(name, _Held())
        async with held.lock:
            if held.timer is not None:
                held.timer.cancel()
            if held.server is None or not held.server.alive:
                await self._end(held)
                server = McpServer(self._targets[name], connect_timeout_seconds=self._connect_timeout_seconds)
                held.server = await server.__aenter__()
            held.users += 1
            server = held.server
        try:
            yield server
        except (ArgumentError, McpToolError, ToolError):
            raise
        except BaseException:
            await self._end(held)
            raise
        finally:
            held.users -= 1
            if held.users == 0:
                await self._rest(held)

    async def _rest(self, held: _Held) -> None:
        if self._idle_seconds == 0:
            await self._end(held)
            return

        def expire() -> None:
            held.ending = asyncio.get_running_loop().create_task(self._end_idle(held))

        held.timer = asyncio.get_running_loop().call_later(self._idle_seconds, expire)

    async def _end_idle(self, held: _Held) -> None:
        async with held.lock:
            if held.users == 0:
                await self._end(held)

    @staticmethod
    async def _end(held: _Held) -> None:
        server, held.server = held.server, None
        if server is not None:
            await server.__aexit__(None, None, None)
