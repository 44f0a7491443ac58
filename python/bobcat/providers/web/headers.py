"""Headers: those that a call may set, those of the provider, and those of an answer that a model gets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bobcat.providers.web.target import Origin, Target, blocked, target_of

MAX_REQUEST_HEADERS = 64
"""Maximum number of headers that a call sets."""
MAX_REQUEST_HEADER_CHARS = 16_384
"""Maximum length of the names and values that a call sets."""
MAX_RESPONSE_HEADERS = 128
"""Maximum number of headers of an answer."""
MAX_RESPONSE_HEADER_CHARS = 16_384
"""Maximum length of the headers that are returned; further ones are left out."""

Fields = tuple[tuple[str, str], ...]
"""Headers with lower-case names, in order."""

_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"(?:[!-~](?:[ -~\t]*[!-~])?)?")
_FRAMING = frozenset(
    "host content-length transfer-encoding connection keep-alive te trailer upgrade expect accept-encoding "
    "http2-settings via forwarded x-real-ip".split()
)
# What such a header says replaces the method, the path or the client that the policy has decided on.
_OVERRIDING = frozenset("x-http-method x-http-method-override x-method-override x-original-url x-rewrite-url".split())
_PREFIXES = ("proxy-", "x-forwarded-", ":")
_TRAVELLING = frozenset(
    "accept accept-language user-agent cache-control pragma range content-type content-language".split()
)
_OF_BODIES = frozenset("content-type content-language content-encoding content-location content-md5 digest".split())
_KEPT_BACK = frozenset(("set-cookie", "set-cookie2", "proxy-authenticate", "content-encoding", "content-length",
                        "transfer-encoding", "connection", "keep-alive"))  # fmt: skip
REDACTED = b"<redacted>"
_SHORTEST_SECRET = 8


def checked_headers(given: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a call. Raises `ToolError` for names and values that a call must not set."""
    if len(given) > MAX_REQUEST_HEADERS:
        raise blocked(f"more than {MAX_REQUEST_HEADERS} headers")
    if sum(len(name) + len(value) for name, value in given.items()) > MAX_REQUEST_HEADER_CHARS:
        raise blocked(f"the headers are longer than {MAX_REQUEST_HEADER_CHARS:,} characters")
    for name, value in given.items():
        if not _NAME.fullmatch(name):
            hint = f"; write `{name.lower()}`" if _NAME.fullmatch(name.lower()) else ""
            raise blocked(f"header names are lower-case letters, digits and `-`{hint}")
        if name in _FRAMING or name in _OVERRIDING or name.startswith(_PREFIXES):
            raise blocked(f"the header `{name}` cannot be set by a call")
        if not _VALUE.fullmatch(value):
            raise blocked(f"the value of the header `{name}` has characters that headers do not have")
    return dict(given)


def travelling(headers: Mapping[str, str], *, same_origin: bool, body: bool) -> dict[str, str]:
    """Return the headers that go along with a redirect: across origins only those that carry no secret."""
    return {
        name: value
        for name, value in headers.items()
        if (same_origin or name in _TRAVELLING) and (body or name not in _OF_BODIES)
    }


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """Headers that the provider adds to the requests of one origin. The model never sees them."""

    by_origin: Mapping[Origin, Mapping[str, str]]

    def fields(self, target: Target, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers to add. Raises `ToolError` if the call sets one of them."""
        found = dict(self.by_origin.get(target.origin, {}))
        taken = sorted(found.keys() & headers.keys())
        if taken:
            raise blocked(f"the header `{taken[0]}` is set by the provider")
        return found

    def redacted(self, content: bytes) -> bytes:
        """Replace the secrets that a server has sent back."""
        for secret in self._secrets():
            content = content.replace(secret, REDACTED)
        return content

    def _secrets(self) -> list[bytes]:
        values = [value for headers in self.by_origin.values() for value in headers.values()]
        words = [value.partition(" ")[2] for value in values]
        found = {each.encode() for each in (*values, *words) if len(each) >= _SHORTEST_SECRET}
        return sorted(found, key=lambda each: (-len(each), each))


def credentials_of(given: Mapping[str, Mapping[str, str]]) -> Credentials:
    """Read `headers` of the provider: headers by origin. Raises `ValueError`."""
    found: dict[Origin, dict[str, str]] = {}
    for text, headers in given.items():
        target = target_of(text)
        if target.path != "/":
            raise ValueError(f"headers: {text!r} is not an origin; write `{target.scheme}://{target.authority}`")
        if target.origin in found:
            raise ValueError(f"headers: the origin `{target.scheme}://{target.authority}` occurs twice")
        lower = {name.lower(): value for name, value in headers.items()}
        if len(lower) != len(headers):
            raise ValueError(f"headers: a header of {text!r} occurs twice")
        found[target.origin] = checked_headers(lower)
    return Credentials(found)


def returned(fields: Iterable[tuple[str, str]], credentials: Credentials) -> dict[str, str]:
    """Return the headers of an answer that a model gets, without cookies; those of one name are joined."""
    found: dict[str, str] = {}
    length = 0
    for name, value in fields:
        if name in _KEPT_BACK:
            continue
        shown = credentials.redacted(value.encode("latin-1", "replace")).decode("latin-1")
        length += len(name) + len(shown)
        if length > MAX_RESPONSE_HEADER_CHARS:
            break
        found[name] = f"{found[name]}, {shown}" if name in found else shown
    return found
