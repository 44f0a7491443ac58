"""The target of a request: the parts that the facet `url` reads, which the policy decides on and the connection uses.

No other parser reads the URL: scheme, host and port are those of the facet, and the path and query are sent as written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urljoin

from bobcat import facets
from bobcat.errors import ToolError

Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host and port."""
PORTS = {"http": 80, "https": 443}
"""The schemes that can be sent, and their ports."""

_LOCATION = re.compile(r"[!-~]+")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


@dataclass(frozen=True, slots=True)
class Target:
    """One URL to request: `host` is a name or an address without brackets, `path` includes the query."""

    scheme: str
    host: str
    port: int
    is_ip: bool
    path: str

    @property
    def origin(self) -> Origin:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The value of the header `host`."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """The URL in its canonical form, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"


def target_of(text: str) -> Target:
    """Parse a URL. Raises `ToolError` for one that is undecidable, has credentials or another scheme."""
    try:
        found = facets.url(text)
    except facets.Undecidable as error:
        raise blocked(f"the URL is undecidable: {error}") from error
    if found.userinfo is not None:
        raise blocked("the URL has credentials in front of its host; give them to the provider as `headers`")
    if found.scheme not in PORTS or found.host is None or found.port is None:
        raise blocked(f"the scheme `{found.scheme}` is not one of http and https")
    _, mark, query = text.partition("#")[0].partition("?")
    return Target(found.scheme, found.host, found.port, bool(found.is_ip), found.path + mark + query)


def redirected(base: Target, location: str) -> Target:
    """Return the target of a redirect. Raises `ToolError` for one that programs could read differently."""
    if not _LOCATION.fullmatch(location) or "\\" in location:
        raise blocked("the server redirects to a URL with characters that URLs do not have")
    if _ABSOLUTE.match(location):
        return target_of(location)
    try:
        return target_of(urljoin(base.url, location))
    except ValueError as error:
        raise blocked(f"the server redirects to a URL that cannot be read: {error}") from error


def blocked(reason: str) -> ToolError:
    """The error for a request that the provider refuses."""
    return ToolError(reason, "refused")


def unreachable(reason: str) -> ToolError:
    """The error for a server that cannot be asked, and for an answer that cannot be used."""
    return ToolError(reason, "unreachable")
