"""Preview of an HTTP request: what would be sent, without its secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

REDACTED = "<redacted>"
_SECRET_NAME = re.compile(
    r"auth|cookie|token|secret|passw|pwd|api[-_]?key|(?:^|[-_])(?:key|sig|signature|credential)", re.IGNORECASE
)
_CHANGES_THINGS = frozenset({"DELETE", "PUT", "PATCH"})


# Any: previews are JSON objects for people to read.
async def http_shadow(
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: str | bytes | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - an argument of the tool that is previewed
) -> dict[str, Any]:
    """What the request would be. Credentials in the URL, the query and the headers are replaced."""
    name = method.upper()
    common = {
        "method": name,
        "headers": {key: REDACTED if _SECRET_NAME.search(key) else value for key, value in (headers or {}).items()},
        "body_bytes": _length(body),
        "destructive": name in _CHANGES_THINGS,
        "timeout_seconds": timeout,
        "note": "preview only: nothing was sent",
    }
    try:
        parts = urlsplit(url)
        host = _host(parts)
    except ValueError as error:
        return {**common, "url": REDACTED, "host": "", "path": "", "scheme": "", "problem": f"not a URL: {error}"}
    query = urlencode(
        [(key, REDACTED if _SECRET_NAME.search(key) else value) for key, value in parse_qsl(parts.query, True)],
        safe="<>",
        quote_via=quote,
    )
    shown = SplitResult(parts.scheme, host, parts.path, query, "").geturl()
    return {**common, "url": shown, "host": host, "path": parts.path, "scheme": parts.scheme}


def _host(parts: SplitResult) -> str:
    """Host and port, without the user and password before the `@`."""
    name = parts.hostname or ""
    bracketed = f"[{name}]" if ":" in name else name
    return bracketed if parts.port is None else f"{bracketed}:{parts.port}"


def _length(body: str | bytes | None) -> int:
    if body is None:
        return 0
    return len(body) if isinstance(body, bytes) else len(body.encode("utf-8", "surrogatepass"))
