"""The tools that a server lists, for a command that looks at them without a client."""

from __future__ import annotations

import asyncio
from typing import Any

from bobcat.proxy.catalog import MAX_PAGES
from bobcat.proxy.connect import connection_to
from bobcat.proxy.message import INVALID_REQUEST, Id, Message, error
from bobcat.proxy.upstream import Server, UpstreamError

VERSION = "2025-11-25"
START_SECONDS = 60.0
_HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "bobcat", "version": "1"},
}


async def list_definitions(server: Server) -> list[dict[str, Any]]:  # Any: JSON
    """Start a server, list its tools, and end it. Raises `UpstreamError` and `MessageError`."""
    connection = connection_to(server)
    answers: asyncio.Queue[Message | str] = asyncio.Queue()

    async def receive(message: Message, _: Id | None) -> None:
        if message.is_request:
            await connection.send(error(message.id, INVALID_REQUEST, "this client only lists tools"))
        elif message.method is None:
            answers.put_nowait(message)

    async def ask(id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        await connection.send(Message.of(id=id, method=method, params=params))
        while True:
            answer = await answers.get()
            if isinstance(answer, str):
                raise UpstreamError(answer)
            if answer.id != id:
                continue
            if not answer.has("result"):
                problem = answer.mapping("error").get("message", "")
                raise UpstreamError(f"the server `{server.name}` refused `{method}`: {problem}")
            return answer.mapping("result")

    async def definitions() -> list[dict[str, Any]]:
        await connection.start(receive, answers.put_nowait)
        await ask(0, "initialize", _HELLO)
        await connection.send(Message.of(method="notifications/initialized"))
        found: list[dict[str, Any]] = []
        cursor: Any = None
        for page in range(1, MAX_PAGES + 1):
            result = await ask(page, "tools/list", {} if cursor is None else {"cursor": cursor})
            found += [entry for entry in result.get("tools") or [] if _is_tool(entry)]
            cursor = result.get("nextCursor")
            if cursor is None:
                return found
        raise UpstreamError(f"the server `{server.name}` lists its tools in more than {MAX_PAGES} pages")

    try:
        async with asyncio.timeout(START_SECONDS):
            return await definitions()
    except TimeoutError:
        raise UpstreamError(f"the server `{server.name}` did not answer within {START_SECONDS:g} s") from None
    finally:
        await connection.aclose()


def _is_tool(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("name"), str)
