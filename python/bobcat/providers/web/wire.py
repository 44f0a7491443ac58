"""One request on one connection to a checked address, and its answer within the limits.

The connection layer of httpx, without its client: that would parse the URL again, and follow proxies and redirects by
rules of its own. A connection serves one request, so that no state is shared between calls.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

try:
    import httpcore
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("requests need `pip install 'bobcat[http]'`", name=error.name) from error

from bobcat.providers.web.addresses import same_address
from bobcat.providers.web.body import Body
from bobcat.providers.web.headers import MAX_RESPONSE_HEADERS
from bobcat.providers.web.target import Target, blocked, unreachable

CONNECT_SECONDS = 10.0
"""Time limit for a connection to one of several addresses."""

Connected = Callable[[str], None]
"""Called with the address of a connection before anything is sent on it."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request as it is sent: headers with lower-case names, without `host` and those of the framing."""

    method: str
    target: Target
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: its headers in order, and its body, `truncated` at the limit."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    truncated: bool

    def header(self, name: str) -> list[str]:
        """The values of a header."""
        return [value for known, value in self.headers if known == name]


async def send(
    message: Message,
    addresses: Sequence[str],
    *,
    max_bytes: int,
    verify: ssl.SSLContext | None,
    connected: Connected,
) -> Answer:
    """Send a request to the first address that accepts a connection; return the answer.

    Raises `ToolError` for a failed connection, one that leads to another address, and an answer that is not one.
    """
    target = message.target
    scheme, host = target.scheme.encode(), target.host.encode()
    request = httpcore.Request(
        message.method,
        httpcore.URL(scheme=scheme, host=host, port=target.port, target=target.path.encode("ascii")),
        headers=_fields(message),
        content=message.body,
    )
    connection = httpcore.AsyncHTTPConnection(
        httpcore.Origin(scheme, host, target.port),
        ssl_context=verify,
        network_backend=_Pinned(tuple(addresses), connected),
    )
    try:
        async with aclosing(connection):
            response = await connection.handle_async_request(request)
            return await _answer(response, max_bytes)
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, ssl.SSLError) as error:
        raise unreachable(f"`{target.authority}` cannot be asked: {str(error) or type(error).__name__}") from error


def _fields(message: Message) -> list[tuple[bytes, bytes]]:
    fields = {
        "host": message.target.authority,
        "accept": "*/*",
        "user-agent": "bobcat",
        **message.headers,
        "accept-encoding": "gzip",
        "connection": "close",
    }
    if message.body or message.method not in ("GET", "HEAD", "OPTIONS", "DELETE"):
        fields["content-length"] = str(len(message.body))
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in fields.items()]


async def _answer(response: httpcore.Response, max_bytes: int) -> Answer:
    if len(response.headers) > MAX_RESPONSE_HEADERS:
        raise unreachable(f"the answer has more than {MAX_RESPONSE_HEADERS} headers")
    headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers)
    coding = ", ".join(value for name, value in headers if name == "content-encoding")
    body = Body(coding, max_bytes)
    stream = response.stream
    assert not isinstance(stream, Iterable)
    async with aclosing(cast("AsyncGenerator[bytes]", aiter(stream))) as received:
        async for data in received:
            if not body.add(data):
                break
    return Answer(response.status, headers, body.content(), body.truncated)


class _Pinned(httpcore.AsyncNetworkBackend):
    """Connects to the checked addresses, whatever the name of the request."""

    def __init__(self, addresses: tuple[str, ...], connected: Connected) -> None:
        self._addresses = addresses
        self._connected = connected
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that accepts a connection."""
        limit = CONNECT_SECONDS if len(self._addresses) > 1 else timeout
        problem: Exception = httpcore.ConnectError("no address")
        for address in self._addresses:
            try:
                stream = await self._backend.connect_tcp(address, port, limit, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
                continue
            peer = stream.get_extra_info("server_addr")
            if not peer or not same_address(str(peer[0]), address) or peer[1] != port:
                await stream.aclose()
                raise blocked(f"the connection to `{host}` leads to another address")
            self._connected(address)
            return stream
        raise problem

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no URL names a socket."""
        raise blocked("sockets of this machine are not connected to")

    async def sleep(self, seconds: float) -> None:
        """Wait between attempts."""
        await self._backend.sleep(seconds)
