"""Lattice of statically known types (kinds): a small set, limited to kinds that affect the lowering.

`any` is every value of a request or of the language. Object parts of a request have separate kinds, since only `.name`
may use them. `run` is the state of the run, `origin` a set of names of sources. `mixed` may or may not be such an
object, and no expression may use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Literal

InferredKind = Literal[
    "any", "num", "str", "bytes", "list", "tuple", "dict", "set", "view", "none", "decision", "datetime",
    "request", "context", "declared", "principal", "choice", "mixed", "run", "origin",
]  # fmt: skip

OBJECTS: frozenset[InferredKind] = frozenset(
    {"request", "context", "declared", "principal", "choice", "mixed", "run", "origin"}
)
NUMBERS = frozenset({"abs", "len", "int", "float", "round", "sum", "bool", "isinstance", "any", "all"})

FIELDS: dict[str, dict[str, InferredKind]] = {
    "request": {"tool": "str", "args": "dict", "declared": "declared", "context": "context"},
    "context": {
        "principal": "principal", "environment": "str", "workspace": "str", "correlation_id": "str",
        "step_seq": "num", "timestamp": "datetime", "extra": "dict", "task": "any",
    },
    "declared": {
        "cost": "str", "reversible": "num", "scope": "tuple", "blast_radius_hint": "any", "has_shadow": "num",
        "isolation": "any", "effect": "any",
    },
    "principal": {"kind": "str", "id": "str", "name": "any"},
}  # fmt: skip
"""The fields of the objects of a request."""

ORIGINS = frozenset({"origin", "origin_of"})
"""The methods of a request that return the names of the sources of a value."""
DATETIME_FIELDS = frozenset({"year", "month", "day", "hour", "minute", "second", "microsecond"})
DATETIME_METHODS = frozenset({"weekday", "isoweekday", "timestamp", "isoformat"})

METHOD_KINDS: dict[str, InferredKind] = {
    **dict.fromkeys(
        ("lower", "upper", "casefold", "title", "capitalize", "swapcase", "strip", "lstrip", "rstrip", "join",
         "replace", "removeprefix", "removesuffix", "zfill", "isoformat"), "str"),
    **dict.fromkeys(("split", "rsplit", "splitlines"), "list"),
    **dict.fromkeys(("partition", "rpartition", "groups", "span"), "tuple"),
    **dict.fromkeys(("keys", "values", "items"), "view"),
    **dict.fromkeys(("union", "intersection", "difference"), "set"),
    "groupdict": "dict",
    **dict.fromkeys(
        ("startswith", "endswith", "find", "rfind", "index", "rindex", "count", "isdigit", "isalpha", "isalnum",
         "isspace", "isupper", "islower", "isnumeric", "isdecimal", "isascii", "isidentifier", "isprintable",
         "istitle", "isdisjoint", "issubset", "issuperset", "start", "end", "weekday", "isoweekday", "timestamp"),
        "num"),
}  # fmt: skip


def join(one: InferredKind | None, other: InferredKind | None) -> InferredKind | None:
    """Join two kinds; None is a value that does not exist yet."""
    if one is None or one == other:
        return other
    if other is None:
        return one
    return "mixed" if one in OBJECTS or other in OBJECTS else "any"


def kind_of_value(value: object) -> InferredKind:
    """Return the kind of a constant."""
    if value is None:
        return "none"
    if isinstance(value, bool | int | float):
        return "num"
    for type_, kind in _TYPES:
        if isinstance(value, type_):
            return kind
    return "any"


_TYPES: tuple[tuple[type | tuple[type, ...], InferredKind], ...] = (
    (str, "str"),
    (bytes, "bytes"),
    (list, "list"),
    (tuple, "tuple"),
    ((dict, MappingProxyType, Mapping), "dict"),
    ((set, frozenset), "set"),
    (datetime, "datetime"),
)


def kind_of_sum(left: InferredKind, right: InferredKind) -> InferredKind:
    """Return the kind of `left + right`, if it has a value."""
    return "num" if "num" in (left, right) else kind_of_product(left, right)


def kind_of_product(left: InferredKind, right: InferredKind) -> InferredKind:
    """Return the kind of `left * right`, if it has a value."""
    if left == right == "num":
        return "num"
    for kind in ("str", "list", "tuple", "bytes"):
        if left == kind or right == kind:
            return kind
    return "any"
