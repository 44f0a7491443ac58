"""The proxy as an MCP server over streamable HTTP, at `/mcp`: one session, with servers of its own, for each client."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from bobcat.aio.signals import END_SIGNALS, on_signals
from bobcat.proxy.http_client import HttpClient
from bobcat.proxy.message import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, Message, MessageError, error
from bobcat.proxy.notes import note
from bobcat.proxy.session import Settings
from bobcat.proxy.upstream import UpstreamError
from bobcat.server.limits import Tokens

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Route

    from bobcat.server.serve import DRAIN_SECONDS, DrainingServer
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("`--listen` needs `pip install 'bobcat[proxy]'`", name=missing.name) from missing

PATH = "/mcp"
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_SESSIONS = 100
IDLE_SECONDS = 30 * 60.0
"""A session without a request for this long is ended."""
SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that have sessions."""
PRIMED_FROM = "2025-11-25"
UNSUPPORTED_VERSION = -32022
EVENTS = "text/event-stream"


async def serve_http(settings: Settings, host: str, port: int, tokens: Tokens | None) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code."""
    front = HttpFront(settings, host, tokens)
    server = DrainingServer(
        uvicorn.Config(
            front.app(),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            lifespan="off",
        )
    )

    async def end() -> None:
        await front.aclose()
        server.end()

    ending: list[asyncio.Task[None]] = []
    on_signals(END_SIGNALS, lambda _: ending.append(asyncio.create_task(end())))
    reaping = asyncio.create_task(front.reap())
    note(f"serving at http://{host}:{port}{PATH}")
    try:
        await server.serve()
    except SystemExit:  # uvicorn has said why it cannot listen
        return 1
    finally:
        reaping.cancel()
        await front.aclose()
    return 0


class HttpFront:
    """The application. Every request needs one of `tokens`, if there are any, and the host that it is served at."""

    def __init__(self, settings: Settings, host: str, tokens: Tokens | None) -> None:
        self._settings = settings
        self._tokens = tokens
        self._local = _is_loopback(host)
        self._clients: dict[str, HttpClient] = {}
        self._closing = False

    def app(self) -> Starlette:
        """The application."""
        routes = [Route(PATH, self._handle, methods=["POST", "GET", "DELETE"]), Route("/health", _health)]
        return Starlette(routes=routes)

    async def aclose(self) -> None:
        """End all sessions."""
        self._closing = True
        clients = list(self._clients.values())
        self._clients.clear()
        await asyncio.gather(*(client.aclose() for client in clients))

    async def reap(self) -> None:
        """End sessions that are idle or whose server has ended, as long as the proxy runs."""
        while True:
            await asyncio.sleep(min(IDLE_SECONDS, 60.0) / 4)
            for id, client in list(self._clients.items()):
                if client.over is not None or time.monotonic() - client.used > IDLE_SECONDS:
                    await self._drop(id)

    async def _handle(self, request: Request) -> Response:
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        if request.method == "POST":
            return await self._post(request)
        id, client = self._client_of(request)
        if client is None:
            return _no_session(id)
        if request.method == "DELETE":
            await self._drop(id)
            return Response(status_code=204)
        if EVENTS not in request.headers.get("accept", ""):
            return _error(406, INVALID_REQUEST, f"a GET must accept {EVENTS}")
        last = request.headers.get("last-event-id")
        if last is None:
            stream = client.standalone()
            if stream is None:
                return _error(409, INVALID_REQUEST, "the stream is read by another connection")
            return _streaming(client.events(stream, [], primed=False), id)
        found = client.continued(last)
        if found is None:
            return _error(400, INVALID_REQUEST, "no event has this id")
        return _streaming(client.events(found[1], found[0], primed=False), id)

    async def _post(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _error(415, INVALID_REQUEST, "the content type must be application/json")
        version = request.headers.get(VERSION)
        if version is not None and version not in VERSIONS:
            return _unsupported(version)
        try:
            body = await _body(request)
            if body is None:
                return _error(413, INVALID_REQUEST, f"the body has more than {MAX_BODY_BYTES} bytes")
        except ClientDisconnect:
            return Response(status_code=400)
        try:
            message = Message.parse(body)
        except MessageError as problem:
            code = INVALID_REQUEST if body.lstrip().startswith((b"{", b"[")) else PARSE_ERROR
            return _error(400, code, str(problem))
        if message.method == "initialize" and message.id is not None and SESSION not in request.headers:
            return await self._initialize(request, message)
        id, client = self._client_of(request)
        if client is None:
            return _no_session(id)
        if message.id is None or message.method is None:
            await client.session.receive(message)
            return Response(status_code=202)
        return await self._answer(request, id, client, message)

    async def _initialize(self, request: Request, message: Message) -> Response:
        if self._closing or len(self._clients) >= MAX_SESSIONS:
            return _error(503, INTERNAL_ERROR, "there are too many sessions" if not self._closing else "ending")
        client = HttpClient(self._settings, request.headers.get("authorization"))
        id = uuid4().hex
        self._clients[id] = client
        try:
            await client.session.start()
        except UpstreamError as problem:
            await self._drop(id)
            note(str(problem))
            return _json(error(message.id, INTERNAL_ERROR, str(problem)), 502)
        return await self._answer(request, id, client, message)

    async def _answer(self, request: Request, id: str, client: HttpClient, message: Message) -> Response:
        assert message.id is not None
        if client.expects(message.id):
            return _json(error(message.id, INVALID_REQUEST, "the id is in use"), 400)
        stream = client.open(message.id)
        await client.session.receive(message)
        if EVENTS not in request.headers.get("accept", ""):
            return _json(await client.answer(stream), 200, {SESSION: id})
        primed = (request.headers.get(VERSION) or "") >= PRIMED_FROM
        return _streaming(client.events(stream, [], primed=primed), id)

    def _client_of(self, request: Request) -> tuple[str, HttpClient | None]:
        id = request.headers.get(SESSION, "")
        client = self._clients.get(id)
        if client is None or client.owner != request.headers.get("authorization"):
            return id, None
        client.used = time.monotonic()
        return id, client

    async def _drop(self, id: str) -> None:
        client = self._clients.pop(id, None)
        if client is not None:
            await client.aclose()

    def _refusal(self, request: Request) -> Response | None:
        if self._local and not _is_loopback(_hostname("//" + request.headers.get("host", ""))):
            return _error(421, INVALID_REQUEST, "the proxy is not served at this host")
        origin = request.headers.get("origin")
        if origin is not None and self._local and not _is_loopback(_hostname(origin)):
            return _error(403, INVALID_REQUEST, "requests of this origin are refused")
        if self._tokens is not None and not self._tokens.accepts(request.headers.get("authorization")):
            return _error(401, INVALID_REQUEST, "a bearer token is required", {"WWW-Authenticate": "Bearer"})
        return None


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == "localhost"


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def _body(request: Request) -> bytes | None:
    """The body; None for one that is too large."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            return None
    return bytes(data)


async def _health(_: Request) -> Response:
    return PlainTextResponse("ok\n")


def _streaming(events: AsyncIterator[bytes], session: str) -> Response:
    headers = {SESSION: session, "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type=EVENTS, headers=headers)


def _json(message: Message, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(message.encode(), status, headers, media_type="application/json")


def _error(status: int, code: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return _json(error(None, code, text), status, headers)


def _no_session(id: str) -> Response:
    if not id:
        return _error(400, INVALID_REQUEST, f"the header `{SESSION}` is missing")
    return _error(404, INVALID_REQUEST, "there is no such session")


def _unsupported(version: str) -> Response:
    data: Any = {"supported": list(VERSIONS), "requested": version}
    body = {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data},
    }
    return JSONResponse(body, 400)
