"""The checks on every request, and the headers of every response."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

try:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("a server needs `pip install 'bobcat[serve]'`", name=error.name) from error

MAX_FORM_BYTES = 64 * 1024
MAX_FIELDS = 20
FORM = "application/x-www-form-urlencoded"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):
    """A request that is not answered: the status, and the reason for the person."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Origins:
    """The `Host` headers under which the server is reached, such as `localhost:8080`, and its scheme."""

    hosts: Collection[str]
    scheme: str = "http"

    def check_host(self, host: str | None) -> None:
        """Refuse another name: a page whose name leads here must not read what this server knows."""
        if (host or "").lower() not in self.hosts:
            raise Refused(421, "this server is not reached under that name; `--allow-host` permits one")

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse a form that another site has sent, or that does not say which."""
        origin = headers.get("origin", "")
        if origin.lower() not in {f"{self.scheme}://{host}" for host in self.hosts}:
            raise Refused(403, "the form was sent from another site")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Refused(403, "the form was sent from another site")


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form, of which each occurs once."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refused(415, "a form is required")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_FORM_BYTES:
            raise Refused(413, f"the form is larger than {MAX_FORM_BYTES} bytes")
    try:
        pairs = parse_qsl(data.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError as error:
        raise Refused(400, "the form cannot be read") from error
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Refused(400, "a field of the form occurs twice")
    return fields


class SafeHeaders:
    """Put the headers on every response, errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given: list[Any] = [pair for pair in message.get("headers", []) if pair[0] not in dict(self._headers)]
                message = {**message, "headers": [*given, *self._headers]}
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)
