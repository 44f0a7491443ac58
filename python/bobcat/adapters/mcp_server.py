"""A connection to an MCP server, by SDK 1.x or 2.x: a child process, or an endpoint of streamable HTTP."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, NamedTuple, Self

from bobcat.adapters.client_agent import sdk
from bobcat.adapters.mcp_content import field
from bobcat.adapters.mcp_pins import changed_parts, differs, pin_of
from bobcat.adapters.mcp_target import Target
from bobcat.errors import McpServerError
from bobcat.text.display import safe_text
from bobcat.text.json_text import format_exception

CONNECT_TIMEOUT_SECONDS = 60.0
"""Default time limit for a server to start and to list its tools."""

MAX_PAGES = 100
"""Maximum number of pages in a server's list of tools."""


# Any throughout: requests and results are the SDK's objects, of either generation.
class _Session(NamedTuple):
    call_tool: Callable[[str, dict[str, Any]], Awaitable[Any]]
    list_page: Callable[[str | None], Awaitable[Any]]


class McpServer:
    """A server: started and listed on entry, ended on exit.

    A task of its own holds the connection. The SDK's transports must be left by the task that entered them, and wrap
    exceptions raised inside them in exception groups: here neither reaches the caller.
    """

    def __init__(self, target: Target, *, connect_timeout_seconds: float) -> None:
        sdk("mcp", "mcp_tools")
        self._target = target
        self._timeout = connect_timeout_seconds
        self._leave = asyncio.Event()
        self._ready = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None
        self._session: _Session | None = None
        self.listed: list[Any] = []

    async def __aenter__(self) -> Self:
        self._holder = asyncio.create_task(self._hold())
        ready = asyncio.create_task(self._ready.wait())
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.wait([ready, self._holder], return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            await self._end(at_once=True)
            raise self._failure(f"did not answer within {self._timeout:g} s") from None
        except BaseException:
            await self._end(at_once=True)
            raise
        finally:
            ready.cancel()
        if self._holder.done():
            raise self._failure(f"does not work: {_reason(self._holder)}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end(at_once=False)

    @property
    def alive(self) -> bool:
        """True while the connection holds."""
        return self._session is not None and self._holder is not None and not self._holder.done()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool; return the SDK's result.

        Raises `McpServerError` when the server has exited or the tool's definition has changed since it was listed, and
        the SDK's exceptions.
        """
        session, holder = self._session, self._holder
        if session is None or holder is None or holder.done() or self._leave.is_set():
            raise self._failure("is gone")
        await self._check_definition(session, name)
        return await session.call_tool(name, arguments)

    async def _hold(self) -> None:
        async with AsyncExitStack() as stack:
            self._session = await _connect(stack, self._target)
            self.listed = await self._list(self._session)
            self._ready.set()
            await self._leave.wait()

    async def _check_definition(self, session: _Session, name: str) -> None:
        """Raise `McpServerError` unless the tool's definition is the same as when it was listed."""
        known = [pin_of(tool) for tool in self.listed if tool.name == name]
        found = [pin_of(tool) for tool in await self._list(session) if tool.name == name]
        if not found:
            raise self._failure(f"no longer lists tool `{safe_text(name)}`; it was not called")
        for pin in found:
            changed = changed_parts(known[0], pin) if known else ["definition"]
            if changed:
                raise self._failure(f"has changed: {differs(name, changed)}; it was not called")

    async def _list(self, session: _Session) -> list[Any]:
        listed: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await session.list_page(cursor)
            listed.extend(page.tools)
            cursor = field(page, "nextCursor", "next_cursor")
            if cursor is None:
                return listed
        raise self._failure(f"lists its tools in more than {MAX_PAGES} pages")

    async def _end(self, *, at_once: bool) -> None:
        """End the task that holds the connection. Errors while closing are ignored."""
        holder = self._holder
        if holder is None:
            return
        self._leave.set()
        if at_once:
            holder.cancel()
        interrupted: asyncio.CancelledError | None = None
        while not holder.done():
            try:
                await asyncio.wait([holder])
            except asyncio.CancelledError as error:
                interrupted = error
                holder.cancel()
        if not holder.cancelled():
            holder.exception()
        if interrupted is not None:
            raise interrupted

    def _failure(self, problem: str) -> McpServerError:
        return McpServerError(f"MCP server `{self._target.label}` {problem}")


async def _connect(stack: AsyncExitStack, target: Target) -> _Session:
    import mcp

    transport = _transport(target)
    second_generation = getattr(mcp, "Client", None)
    if second_generation is not None:
        client = await stack.enter_async_context(second_generation(transport))
        # A listing from the client's cache would hide a changed definition.
        fresh = {"cache_mode": "refresh"} if "cache_mode" in inspect.signature(client.list_tools).parameters else {}
        return _Session(client.call_tool, lambda cursor: client.list_tools(cursor=cursor, **fresh))
    from mcp.types import PaginatedRequestParams

    read, write, *_ = await stack.enter_async_context(transport)
    session = await stack.enter_async_context(mcp.ClientSession(read, write))
    await session.initialize()
    return _Session(session.call_tool, lambda cursor: session.list_tools(params=PaginatedRequestParams(cursor=cursor)))


def _transport(target: Target) -> Any:
    if target.url:
        from mcp.client import streamable_http

        connect = getattr(streamable_http, "streamable_http_client", None) or streamable_http.streamablehttp_client
        return connect(target.url)
    from mcp.client.stdio import StdioServerParameters, stdio_client

    env = None if target.env is None else dict(target.env)
    words = target.words
    return stdio_client(StdioServerParameters(command=words[0], args=list(words[1:]), env=env, cwd=target.cwd))


def _reason(holder: asyncio.Task[None]) -> str:
    """The reason why the connection ended, without the SDK's exception groups."""
    if holder.cancelled():
        return "the connection was cancelled"
    error = holder.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return format_exception(error) if error is not None else "the connection ended"
