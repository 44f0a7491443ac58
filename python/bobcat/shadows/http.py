"""Preview of an HTTP request with its secrets replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

REDACTED = "<redacted>"
_SECRET_NAME = re.compile(
    r"auth|cookie|token|secret|passw|pwd|api[-_]?key|(?:^|[-_])(?:key|sig|signature|credential)", re.IGNORECASE
)
_MODIFYING = frozenset({"DELETE", "PUT", "PATCH"})


# Any: previews are JSON objects for people to read.
async def http_shadow(
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: str | bytes | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - an argument of the tool that is previewed
) -> dict[str, Any]:
    """Preview the request. Credentials in the URL, the query and the headers are replaced."""
    name = method.upper()
    shown, host, path, scheme, problem = _read_url(url)
    preview: dict[str, Any] = {
        "method": name,
        "url": shown,
        "host": host,
        "path": path,
        "scheme": scheme,
        "headers": {key: REDACTED if _SECRET_NAME.search(key) else value for key, value in (headers or {}).items()},
        "body_bytes": _length(body),
        "destructive": name in _MODIFYING,
        "timeout_seconds": timeout,
        "note": "preview only: nothing was sent",
    }
    return {**preview, "problem": problem} if problem else preview


def _read_url(url: str) -> tuple[str, str, str, str, str]:
    """Return the URL without its secrets, its host, path and scheme; and the problem if it is not a valid URL."""
    try:
        parts = urlsplit(url)
        host = _host(parts)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError as error:
        return REDACTED, "", "", "", f"not a URL: {error}"
    safe = [(key, REDACTED if _SECRET_NAME.search(key) else value) for key, value in pairs]
    query = urlencode(safe, safe="<>", quote_via=quote)
    return SplitResult(parts.scheme, host, parts.path, query, "").geturl(), host, parts.path, parts.scheme, ""


def _host(parts: SplitResult) -> str:
    """Return host and port, without the user and password before the `@`."""
    name = parts.hostname or ""
    bracketed = f"[{name}]" if ":" in name else name
    return bracketed if parts.port is None else f"{bracketed}:{parts.port}"


def _length(body: str | bytes | None) -> int:
    if body is None:
        return 0
    return len(body) if isinstance(body, bytes) else len(body.encode("utf-8", "surrogatepass"))
