"""Facets for rules in Python: `url(request.args["link"]).host`.

Each function parses a text as the facet of that name does, and returns its parts as attributes; `links` returns a
list, `json` the document. A text without a certain meaning raises `Undecidable`. A compiled rule reads a part where it
calls the function. `occurs_in` searches whole values in texts.
"""

from __future__ import annotations

import json as _json
import math
from typing import Any

from bobcat._core import occurs_in as _occurs_in
from bobcat._core import parse_facet

__all__ = [
    "Parts", "Undecidable", "cidr", "email", "ip", "json", "links", "occurs_in", "path", "semver", "shell", "sql",
    "url",
]  # fmt: skip


class Undecidable(ValueError):
    """A text has no certain meaning: `code` and `detail` say why, `at` is the place in characters."""

    def __init__(self, code: str, at: int, detail: str) -> None:
        super().__init__(f"{code} at character {at}: {detail}")
        self.code = code
        self.at = at
        self.detail = detail

    def __reduce__(self) -> tuple[type[Undecidable], tuple[str, int, str]]:
        return type(self), (self.code, self.at, self.detail)


class Parts:
    """The parts of a parsed text, as attributes; a part that the text does not have is None."""

    __slots__ = ("_facet", "_parts")

    def __init__(self, facet: str, parts: dict[str, Any]) -> None:  # Any: JSON
        self._facet = facet
        self._parts = parts

    def __getattr__(self, name: str) -> Any:  # Any: JSON
        if name.startswith("_") or name not in NAMES[self._facet]:
            raise AttributeError(f"`{self._facet}` has no part `{name}`")
        return self._parts.get(name)

    def __repr__(self) -> str:
        return f"<{self._facet} {self._parts!r}>"


NAMES: dict[str, frozenset[str]] = {
    "url": frozenset("scheme host port path query_keys userinfo is_ip is_private".split()),
    "ip": frozenset("address version is_private is_loopback is_link_local is_metadata".split()),
    "cidr": frozenset("address prefix version is_private".split()),
    "path": frozenset("normal components name suffix is_absolute".split()),
    "email": frozenset("local domain".split()),
    "semver": frozenset("major minor patch prerelease".split()),
    "shell": frozenset(("programs",)),
    "sql": frozenset(
        (
            "kind kinds tables table_names reads writes functions function_names unknown_functions statements"
            " is_read_only"
        ).split()
    ),
}
"""The parts that a rule in Python reads."""


def _parsed(facet: str, text: str) -> Any:  # Any: JSON
    if not isinstance(text, str):
        raise TypeError(f"`{facet}` parses a text, not a value of type `{type(text).__name__}`")
    found, problem = parse_facet(facet, text)
    if found is None:
        raise Undecidable(*problem)  # type: ignore[misc]  # one of the two is there
    return _json.loads(found)


def url(text: str) -> Parts:
    """Parse an absolute URL: `scheme`, `host`, `port`, `path`, `query_keys`, `userinfo`, `is_ip`, `is_private`."""
    return Parts("url", _parsed("url", text))


def path(text: str) -> Parts:
    """Parse the path of a file: `normal`, `components`, `name`, `suffix`, `is_absolute`."""
    return Parts("path", _parsed("path", text))


def ip(text: str) -> Parts:
    """Parse an IP address: `address`, `version`, `is_private`, `is_loopback`, `is_link_local`, `is_metadata`."""
    return Parts("ip", _parsed("ip", text))


def cidr(text: str) -> Parts:
    """Parse a network of IP addresses: `address`, `prefix`, `version`, `is_private`."""
    return Parts("cidr", _parsed("cidr", text))


def email(text: str) -> Parts:
    """Parse one address of mail: `local`, `domain`."""
    return Parts("email", _parsed("email", text))


def semver(text: str) -> Parts:
    """Parse a semantic version: `major`, `minor`, `patch`, `prerelease`."""
    return Parts("semver", _parsed("semver", text))


def shell(text: str) -> Parts:
    """Parse a command line: `programs`, those of all commands in order."""
    return Parts("shell", {"programs": [command["program"] for command in _parsed("shell", text)]})


class _StatementParts(Parts):
    """The parts of a statement, each of which it has or leaves undecided."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:  # Any: JSON
        found = super().__getattr__(name)
        if found is None:
            raise Undecidable("sql_part", 0, f"the statement does not decide `{name}`")
        return found


def sql(text: str) -> Parts:
    """Parse a statement of SQL: `kind`, `kinds`, `tables`, `reads`, `writes`, `functions`, `is_read_only` and others.

    Reading a part that the statement leaves undecided raises `Undecidable`.
    """
    return _StatementParts("sql", _parsed("sql", text))


def links(text: str) -> list[str]:
    """Return the links in a text: everything that a reader could take for one, in order."""
    return list(_parsed("links", text))


def json(text: str) -> Any:  # Any: JSON
    """Return the value of a JSON document. A key that occurs twice raises `Undecidable`."""
    return _parsed("json", text)


def occurs_in(value: str | float, *texts: str | None, lower: bool = False) -> bool:
    """Return true if a text or a number stands in one of some texts as a whole, not as a part of something longer.

    A text that is None has no value: `occurs_in(request.args["to"], context.task)`. `lower` compares in lower case.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"`occurs_in` searches a text or a number, not a value of type `{type(value).__name__}`")
    places = [text for text in texts if text is not None]
    for text in places:
        if not isinstance(text, str):
            raise TypeError(f"`occurs_in` searches in texts, not in a value of type `{type(text).__name__}`")
    if isinstance(value, str):
        return _occurs_in(value, "", places, lower)
    return math.isfinite(value) and _occurs_in(None, _json.dumps(value), places, lower)
