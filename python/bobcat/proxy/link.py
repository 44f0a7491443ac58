"""One server within a session: its connection, its catalog, and the requests that it has not answered yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from bobcat.proxy.catalog import Catalog, Function, Rules
from bobcat.proxy.connect import connection_to
from bobcat.proxy.message import SERVER_ENDED, Id, Message, error
from bobcat.proxy.notes import note
from bobcat.proxy.upstream import Server, UpstreamError

FromServer = Callable[["Link", Message, "Id | None"], Awaitable[None]]
Ended = Callable[["Link", str], None]

LIST_CHANGED = "notifications/tools/list_changed"


class Link:
    """A started connection to one server.

    INVARIANT: every request that was sent gets one answer: the server's, or an error when the server has ended. An
    answer to no open request is dropped.
    """

    def __init__(
        self, server: Server, rules: Rules, function: Callable[[str], Function], from_server: FromServer, ended: Ended
    ) -> None:
        self.server = server
        self.catalog = Catalog(server, rules, self.ask, function)
        self.gone: str | None = None
        """The reason why the server has ended, if it has."""
        self._connection = connection_to(server)
        self._from_server = from_server
        self._ended = ended
        self._open: dict[Id, asyncio.Future[Message]] = {}
        self._tokens: dict[Id, Id] = {}
        """The progress tokens of open requests, with the ids of these."""

    async def start(self) -> None:
        """Connect. Raises `UpstreamError`."""
        await self._connection.start(self._receive, self._end)

    async def request(self, message: Message) -> Message:
        """Send a request; return its answer. Raises `UpstreamError` when it cannot be sent."""
        assert message.id is not None
        if self.gone is not None:
            raise UpstreamError(self.gone)
        answer = self._open[message.id] = asyncio.get_running_loop().create_future()
        token = _progress_token(message)
        if token is not None:
            self._tokens[token] = message.id
        try:
            await self._connection.send(message)
            found: Message = await answer
            return found
        finally:
            self._open.pop(message.id, None)
            if token is not None:
                self._tokens.pop(token, None)

    async def ask(self, method: str, params: dict[str, Any]) -> Message:  # Any: JSON
        """Send a request of the proxy's own; return its answer. Raises `UpstreamError`."""
        return await self.request(Message.of(id=f"bobcat-{uuid4().hex}", method=method, params=params))

    async def send(self, message: Message) -> None:
        """Send a notification or an answer. Raises `UpstreamError`."""
        if self.gone is not None:
            raise UpstreamError(self.gone)
        await self._connection.send(message)

    def has_open(self, id: object) -> bool:
        """Return true if the request was sent and has no answer yet."""
        return id in self._open

    async def aclose(self) -> None:
        """Disconnect."""
        await self._connection.aclose()

    async def _receive(self, message: Message, related: Id | None) -> None:
        if message.method is None:
            waiting = None if message.id is None else self._open.get(message.id)
            if waiting is None or waiting.done():
                note(f"the server `{self.server.name}` answered a request that is not open; the answer is dropped")
            else:
                waiting.set_result(message)
            return
        if message.method == LIST_CHANGED:
            self.catalog.expire()
        await self._from_server(self, message, related if related in self._open else self._related(message))

    def _related(self, message: Message) -> Id | None:
        """The request that a message of the server belongs to, where the transport does not say so."""
        if message.method == "notifications/progress":
            return self._tokens.get(message.value("params").get("progressToken"))
        return next((each for each in reversed(self._open) if not str(each).startswith("bobcat-")), None)

    def _end(self, reason: str) -> None:
        self.gone = reason
        for id, waiting in list(self._open.items()):
            if not waiting.done():
                waiting.set_result(error(id, SERVER_ENDED, reason))
        self._ended(self, reason)


def _progress_token(message: Message) -> Id | None:
    params = message.value("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, (str, int)) else None
