"""A server behind streamable HTTP: one POST a message, answers and further messages as JSON or server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from bobcat.proxy.message import INTERNAL_ERROR, MAX_BYTES, Id, Message, MessageError, error, items
from bobcat.proxy.notes import note
from bobcat.proxy.sse import read_events
from bobcat.proxy.upstream import Ended, Receive, UpstreamError
from bobcat.text.json_text import format_exception

try:
    import httpx
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "a server behind a URL needs `pip install 'bobcat[proxy]'`", name=missing.name
    ) from missing

CONNECT_SECONDS = 30.0
CLOSE_SECONDS = 5.0
RETRY_SECONDS = 1.0
"""Seconds before a stream is continued, unless the server says otherwise."""
MAX_RETRY_SECONDS = 60.0
MAX_RESUMPTIONS = 5
"""Connections in a row that may bring nothing before a stream is given up."""
SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
EVENTS = "text/event-stream"


class HttpUpstream:
    """A session at a server. Nothing is connected before the first message.

    The client's own credentials are never passed on: `headers` are those of the proxy.
    """

    def __init__(self, name: str, url: str, headers: tuple[tuple[str, str], ...]) -> None:
        self._name = name
        self._url = url
        timeout = httpx.Timeout(CONNECT_SECONDS, read=None)
        limits = httpx.Limits(max_connections=None)
        self._client = httpx.AsyncClient(headers=list(headers), timeout=timeout, limits=limits)
        self._session: dict[str, str] = {}
        """The headers of the session: its id and its protocol version."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._receive: Receive = _ignore
        self._ended: Ended = note

    async def start(self, receive: Receive, ended: Ended) -> None:
        """Keep the callbacks."""
        self._receive, self._ended = receive, ended

    async def send(self, message: Message) -> None:
        """Post a message. The answer to a request is received later, in any case."""
        if message.is_request:
            self._spawn(self._request(message))
            return
        try:
            response = await self._client.post(self._url, content=message.encode(), headers=self._headers())
        except httpx.HTTPError as problem:
            raise self._failure(problem) from problem
        if response.status_code >= 400:
            self._check_session(response)
            raise UpstreamError(f"the server `{self._name}` refused a message with HTTP status {response.status_code}")
        if message.method == "notifications/initialized":
            self._spawn(self._listen())

    async def aclose(self) -> None:
        """End the session."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if SESSION in self._session:
            with contextlib.suppress(httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._client.delete(self._url, headers=self._session)
        await self._client.aclose()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _headers(self) -> dict[str, str]:
        return {"content-type": "application/json", "accept": f"application/json, {EVENTS}", **self._session}

    async def _request(self, message: Message) -> None:
        """Post a request and receive what comes until its answer; an error takes the place of an answer."""
        id = message.id
        stream = _Stream(self, message)
        try:
            async with self._client.stream(
                "POST", self._url, content=message.encode(), headers=self._headers()
            ) as response:
                if message.method == "initialize" and SESSION in response.headers:
                    self._session[SESSION] = response.headers[SESSION]
                await stream.take(response)
            await stream.resume()
            problem = None if stream.answered else f"the server `{self._name}` ended the stream without an answer"
        except (httpx.HTTPError, MessageError, ValueError) as failure:
            problem = str(self._failure(failure))
        except UpstreamError as failure:
            problem = str(failure)
        if problem is not None and not stream.answered:
            await self._receive(error(id, INTERNAL_ERROR, problem), id)

    async def _listen(self) -> None:
        """Receive the messages that belong to no request, as long as the session lasts."""
        stream = _Stream(self, None)
        with contextlib.suppress(httpx.HTTPError, MessageError, ValueError, UpstreamError):
            while True:
                async with self._client.stream("GET", self._url, headers=stream.headers()) as response:
                    if response.status_code != 200:
                        return  # a server without this stream
                    await stream.take(response)
                await asyncio.sleep(stream.wait)

    def _check_session(self, response: httpx.Response) -> None:
        if response.status_code == 404 and SESSION in self._session:
            self._session.clear()
            self._ended(f"the server `{self._name}` has ended the session")

    def _failure(self, problem: Exception) -> UpstreamError:
        return UpstreamError(f"the server `{self._name}` cannot be reached: {format_exception(problem)}")

    async def received(self, message: Message, related: Id | None) -> None:
        """Hand a message on; keep what later requests of the session must have."""
        await self._receive(message, related)

    def negotiated(self, version: object) -> None:
        """Keep the protocol version of the session."""
        if isinstance(version, str) and version.isascii() and version.isprintable():
            self._session[VERSION] = version

    def check(self, response: httpx.Response) -> None:
        """Raise `UpstreamError` for a response with an error status."""
        if response.status_code >= 300:
            self._check_session(response)
            raise UpstreamError(f"the server `{self._name}` answered with HTTP status {response.status_code}")

    async def reconnected(self, stream: _Stream) -> None:
        """Continue a stream from its last event."""
        async with self._client.stream("GET", self._url, headers=stream.headers()) as response:
            await stream.take(response)

    def session_headers(self) -> dict[str, str]:
        """The headers of the session."""
        return dict(self._session)


class _Stream:
    """The messages that answer one request, over one connection or several."""

    def __init__(self, upstream: HttpUpstream, request: Message | None) -> None:
        self._upstream = upstream
        self._request = request
        self._last = ""
        self.wait = RETRY_SECONDS
        self.answered = False
        self._silent = 0

    def headers(self) -> dict[str, str]:
        """The headers of a connection that continues the stream."""
        last = {"last-event-id": self._last} if self._last else {}
        return {"accept": EVENTS, **self._upstream.session_headers(), **last}

    async def resume(self) -> None:
        """Continue a stream that has ended before the answer, if its events have ids."""
        while not self.answered and self._last and self._silent < MAX_RESUMPTIONS:
            self._silent += 1
            await asyncio.sleep(self.wait)
            with contextlib.suppress(httpx.TransportError):
                await self._upstream.reconnected(self)

    async def take(self, response: httpx.Response) -> None:
        """Receive the messages of a response."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            await self._take_json(response)
        self._upstream.check(response)
        if kind != EVENTS:
            return
        try:
            async for found in read_events(response.aiter_bytes()):
                self._last = found.id or self._last
                if found.retry is not None:
                    self.wait = min(found.retry / 1000, MAX_RETRY_SECONDS)
                if found.data:
                    self._silent = 0
                    await self._message(Message.parse(found.data))
                if self.answered:
                    return
        except httpx.RemoteProtocolError:
            return  # the connection broke; the stream can be continued

    async def _take_json(self, response: httpx.Response) -> None:
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_BYTES:
                raise MessageError(f"the answer has more than {MAX_BYTES} bytes")
        entries = items(bytes(data)) if data.lstrip().startswith(b"[") else [bytes(data)]
        for entry in entries:
            try:
                message = Message.parse(bytes(entry))
            except MessageError:
                if response.status_code < 300:
                    raise
                return  # an error page of something else
            if message.method is None and message.id is None and response.status_code >= 300:
                message = message.replaced(id=None if self._request is None else self._request.id)
            await self._message(message)

    async def _message(self, message: Message) -> None:
        request = self._request
        if request is not None and message.method is None and message.id == request.id:
            self.answered = True
            if request.method == "initialize" and message.has("result"):
                self._upstream.negotiated(message.mapping("result").get("protocolVersion"))
        await self._upstream.received(message, None if request is None else request.id)


async def _ignore(_: Message, __: Id | None) -> None:
    return
