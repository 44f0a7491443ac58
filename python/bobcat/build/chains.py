"""Chains of a path in the builder: operators that derive a value, facets, and the parts of what they parse.

A part is an entry that begins with a dot or a bracket.
"""

from __future__ import annotations

from collections.abc import Iterable

from bobcat.frontend.strict.key_syntax import segment_text
from bobcat.language.facets import ELEMENTS, FACETS, IR_OPERATORS, kind_at
from bobcat.language.kinds import OperandKind
from bobcat.language.operators import OPERATORS


def part_text(name: str) -> str:
    """Return a part as an entry of a chain."""
    plain = name.isidentifier() and name not in IR_OPERATORS
    return f".{name}" if plain else segment_text(name)


def method(name: str) -> str:
    """Return the name of an operator's method."""
    return OPERATORS[name].method if name in OPERATORS else name


def chain_text(chain: Iterable[str]) -> str:
    """Return a chain as Python has it: `.url().host`."""
    return "".join(name if name[0] in ".[" else f".{method(name)}()" for name in chain)


def key_text(chain: Iterable[str]) -> str:
    """Return a chain as a key has it: `url.host.in`."""
    return "".join(name if name[0] in ".[" else f".{name}" for name in chain).removeprefix(".")


def derived_kind(chain: Iterable[str]) -> OperandKind | None:
    """Return the type of the value that a chain derives; None if it depends on the request."""
    kind: OperandKind | None = None
    for name in chain:
        if name in FACETS:
            kind = FACETS[name].kind
        elif name[0] in ".[":
            kind = kind_at(kind, (name[1:],)) if kind is not None else None
        elif OPERATORS[name].elements:
            kind = ELEMENTS.get(kind, kind) if kind is not None else None
        else:
            kind = OPERATORS[name].derived
    return kind
