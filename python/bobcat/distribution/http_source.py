"""Bundles over HTTP: conditional requests with entity tags, size and time limits, redirects to HTTPS only."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from bobcat.errors import SourceError

MAX_DOWNLOAD_BYTES = 64 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
TIMEOUT_SECONDS = 10.0
"""Longest silence of the server, and longest time of a whole answer in tens of it."""
WHOLE_ANSWER = 10
CHUNK_BYTES = 256 * 1024
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class HttpSource:
    """The bundle at a URL.

    `token` is sent as a bearer token, over HTTPS or to this machine only. `ca` is a file of certificates that sign the
    server's, in place of the system's. Raises `ValueError` for another URL, `OSError` for a `ca` that cannot be read.
    """

    remote = True

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        ca: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        max_bytes: int = MAX_DOWNLOAD_BYTES,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not the URL of a bundle: {url!r}; write https://HOST/bundles/NAME")
        if parts.username is not None or parts.password is not None:
            raise ValueError("a URL of a bundle has no user name or password; pass a token")
        if token is not None and parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise ValueError("a token is not sent over http://, where others could read it; use https://")
        if token is not None and (not token.isascii() or not token.isprintable() or not token.strip()):
            raise ValueError("a token consists of printable ASCII characters")
        if not 0 < timeout_seconds < float("inf") or max_bytes < 1:
            raise ValueError("timeout_seconds and max_bytes must be positive")
        self.name = url
        self._token, self._seconds, self._most = token, timeout_seconds, max_bytes
        context = ssl.create_default_context(cafile=ca)
        secure = urllib.request.HTTPSHandler(context=context)
        self._reader = urllib.request.build_opener(secure, _Redirects())
        self._writer = urllib.request.build_opener(secure, _NoRedirects())

    def fetch(self, tag: str | None) -> tuple[bytes, str | None] | None:
        """Return the bytes and their entity tag; None for 304. Raises `SourceError`."""
        headers = {"Accept-Encoding": "identity"}
        if tag is not None:
            headers["If-None-Match"] = tag
        status, found, body = self._ask("GET", None, headers)
        if status == 304 and tag is not None:
            return None
        if status != 200:
            raise self._refused(status, body)
        return body, found.get("ETag")

    def put(self, data: bytes) -> dict[str, Any]:  # Any: JSON
        """Upload a bundle; return the server's answer. Raises `SourceError`, with the server's code if it has one."""
        status, _, body = self._ask("PUT", data, {"Content-Type": "application/octet-stream"})
        if status not in (200, 201):
            raise self._refused(status, body)
        answer = _json(body)
        if answer is None:
            raise SourceError("unreachable", f"`{self.name}` is not a bundle server: its answer is not JSON")
        return answer

    def _ask(self, method: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, Any, bytes]:
        request = urllib.request.Request(self.name, data, headers, method=method)
        if self._token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        opener = self._reader if data is None else self._writer
        try:
            try:
                answer = opener.open(request, timeout=self._seconds)
            except urllib.error.HTTPError as error:  # every status but 2xx
                answer = error
            with answer:
                good = 200 <= answer.status < 300
                return answer.status, answer.headers, self._body(answer, self._most if good else MAX_ERROR_BYTES)
        except SourceError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason: object = getattr(error, "reason", None) or error
            raise SourceError("unreachable", f"cannot reach `{self.name}`: {reason or type(error).__name__}") from error

    def _body(self, answer: Any, most: int) -> bytes:  # Any: HTTPResponse or HTTPError
        until = time.monotonic() + self._seconds * WHOLE_ANSWER
        chunks, size = [], 0
        while chunk := answer.read1(CHUNK_BYTES):
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                raise SourceError("too_large", f"`{self.name}` sends more than {most} bytes")
            if time.monotonic() > until:
                raise SourceError("unreachable", f"`{self.name}` takes too long")
        declared = answer.headers.get("Content-Length")
        if declared is not None and declared.isdigit() and answer.status == 200 and int(declared) != size:
            raise SourceError("unreachable", f"`{self.name}` sent {size} of {declared} bytes")
        return b"".join(chunks)

    def _refused(self, status: int, body: bytes) -> SourceError:
        problem = (_json(body) or {}).get("error")
        if isinstance(problem, dict) and isinstance(problem.get("code"), str):
            return SourceError(problem["code"], f"`{self.name}` answers {status}: {problem.get('message')}")
        return SourceError("unreachable", f"`{self.name}` answers {status}")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to HTTPS only. A bearer token is never sent to the target."""

    max_redirections = 5

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """The request to the target. Any: those of urllib."""
        if urlsplit(newurl).scheme != "https":
            raise SourceError("unreachable", f"`{req.full_url}` redirects to `{newurl}`, which is not https://")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Refuse. Any: those of urllib."""
        raise SourceError("unreachable", f"`{req.full_url}` redirects to `{newurl}`; push to that address")


def _json(body: bytes) -> dict[str, Any] | None:  # Any: JSON
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
