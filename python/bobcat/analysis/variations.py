"""Calls that resemble another one: the values that a tool may take for the same, and a rule may not.

Each kind is a spelling that has passed real blocklists: another case, blanks around the text, quotes, steps through
`..`, a default port, a missing argument, another type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from bobcat.analysis.paths import ABSENT

Kind: TypeAlias = Literal[
    "case", "blanks", "quotes", "dot_segments", "default_port", "absent", "wrong_type", "null", "list_of_one"
]
KINDS: tuple[Kind, ...] = (
    "case", "blanks", "quotes", "dot_segments", "default_port", "absent", "wrong_type", "null", "list_of_one",
)  # fmt: skip
Varied: TypeAlias = tuple[Kind, Any]  # Any: JSON, or ABSENT
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ssh": 22}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)


def variations(value: Any) -> Iterator[Varied]:  # Any: JSON, or ABSENT
    """Yield the variations of the value at one path, those with the same type first."""
    if isinstance(value, str):
        yield from _of_text(value)
    if value is not ABSENT:
        yield "absent", ABSENT
        yield from (("wrong_type", other) for other in _other_types(value))
    if value is not None:
        yield "null", None
    if value is not ABSENT and not isinstance(value, list):
        yield "list_of_one", [value]


def _of_text(text: str) -> Iterator[Varied]:
    seen = {text}
    for kind, other in (*_cases(text), *_blanks(text), *_quotes(text), *_segments(text), *_ports(text)):
        if other not in seen:
            seen.add(other)
            yield kind, other


def _cases(text: str) -> Iterator[tuple[Kind, str]]:
    for other in (text.upper(), text.lower(), text.capitalize(), text.swapcase()):
        yield "case", other


def _blanks(text: str) -> Iterator[tuple[Kind, str]]:
    for other in (f" {text}", f"{text} ", f"\t{text}", f"{text}\n", text.replace(" ", "  ")):
        yield "blanks", other


def _quotes(text: str) -> Iterator[tuple[Kind, str]]:
    first, blank, rest = text.partition(" ")
    for mark in ('"', "'"):
        yield "quotes", f"{mark}{text}{mark}"
        if first:
            yield "quotes", f"{mark}{first}{mark}{blank}{rest}"
            yield "quotes", f"{first[0]}{mark}{mark}{first[1:]}{blank}{rest}"


def _segments(text: str) -> Iterator[tuple[Kind, str]]:
    head, slash, tail = text.rpartition("/")
    if not slash:
        yield from (("dot_segments", f"{start}{text}") for start in ("./", "x/../"))
        return
    root, first = ("", text.lstrip("/")) if text.startswith("/") else (text.partition("/")[0], text.partition("/")[2])
    for other in (
        f"{root}/./{first}", f"{root}/x/../{first}", f"{root}//{first}", f"{head}/./{tail}", f"{head}/x/../{tail}",
        f"{text}/.", f"{text}/",
    ):  # fmt: skip
        yield "dot_segments", other


def _ports(text: str) -> Iterator[tuple[Kind, str]]:
    found = _URL.fullmatch(text)
    if found is None or found[1].lower() not in _PORTS:
        return
    scheme, host, rest = found.groups()
    port = f":{_PORTS[scheme.lower()]}"
    other = host.removesuffix(port) if host.endswith(port) else f"{host}{port}"
    yield "default_port", f"{scheme}://{other}{rest}"
    yield "default_port", f"{scheme}://{host}.{rest}"


def _other_types(value: Any) -> Iterator[Any]:  # Any: JSON
    match value:
        case bool():
            yield from (str(value).lower(), int(value))
        case int() | float():
            yield from (str(value), bool(value))
        case str():
            yield from (True, 0, {"value": value})
            if re.fullmatch(r"-?[0-9]{1,15}", value):
                yield int(value)
        case list():
            yield from value[:1]
            yield {str(item): True for item in value}
        case None:
            yield ""
        case _:
            yield [value]
