"""Facets in keys: `url.host.in` in `args.link.url.host.in`.

The name of a facet is one only before one of its own parts or operators. Elsewhere, and quoted, it names an entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from bobcat.frontend.strict.key_syntax import Segment
from bobcat.language.facets import ELEMENTS, FACETS, PARTS, RANGE, SPELLINGS, kind_at
from bobcat.language.kinds import OperandKind
from bobcat.language.operators import LEADING, NESTING, OPERATORS


class PartStep(NamedTuple):
    """A step from a derived value to one of its parts."""

    path: tuple[str, ...]


Step: TypeAlias = str | PartStep
"""An operator that derives a value, or a step to a part of it."""


class FacetTail(NamedTuple):
    """The end of a key from its first facet on: the steps, and the last operator; `bare`: none is written.

    `unknown` is the segment that is neither a part nor an operator.
    """

    steps: tuple[Step, ...]
    op: str
    bare: bool
    unknown: str = ""


def is_facet(segments: Sequence[Segment]) -> bool:
    """Return true if the first segment names a facet, and one of its own parts or operators follows."""
    if len(segments) < 2 or segments[0].quoted or segments[0].text not in FACETS:
        return False
    facet, after = FACETS[segments[0].text], segments[1:]
    if facet.kind is OperandKind.DOCUMENT:
        return _keys_of_document(after) > 0
    name = SPELLINGS.get(after[0].text, after[0].text)
    own = name in facet.operators and (len(after) == 1 or name in NESTING)
    return not after[0].quoted and (own or name in PARTS.get(facet.kind, {}))


def first_facet(segments: Sequence[Segment], least: int) -> int | None:
    """Return the index of the first facet of a key, from the segment `least` on."""
    return next((index for index in range(least, len(segments)) if is_facet(segments[index:])), None)


def facet_tail(segments: Sequence[Segment]) -> FacetTail:
    """Parse the segments from a facet on."""
    return tail(None, segments)


def tail(kind: OperandKind | None, segments: Sequence[Segment]) -> FacetTail:
    """Parse the segments behind a value of a type; without a type, from a facet on."""
    steps: list[Step] = []
    index, stepped = 0, False
    while index < len(segments):
        rest = segments[index:]
        name = rest[0].text
        taken = 0 if stepped else _part(kind, rest)
        if taken and kind is not None:
            path = tuple(segment.text for segment in rest[:taken])
            steps.append(PartStep(path))
            kind, stepped, index = kind_at(kind, path), True, index + taken
            continue
        if kind in PARTS and not stepped and name not in (RANGE, *OPERATORS, *SPELLINGS):
            return FacetTail(tuple(steps), "eq", True, name)
        if is_facet(rest):
            steps.append(name)
            kind, stepped, index = FACETS[name].kind, False, index + 1
            continue
        if kind is OperandKind.VERSION:
            name = SPELLINGS.get(name, name)
        if rest[0].quoted or (name not in OPERATORS and name != RANGE):
            return FacetTail(tuple(steps), "eq", True, name)
        if len(rest) == 1:
            return FacetTail(tuple(steps), name, False)
        if name not in NESTING:
            return FacetTail(tuple(steps), "eq", True, rest[1].text)
        steps.append(name)
        kind, stepped, index = _element(kind, name), False, index + 1
    return FacetTail(tuple(steps), "eq", True)


def _part(kind: OperandKind | None, rest: Sequence[Segment]) -> int:
    """Return the number of segments that lead to a part."""
    if kind is OperandKind.DOCUMENT:
        return _keys_of_document(rest)
    return int(kind in PARTS and not rest[0].quoted and rest[0].text in PARTS[kind])


def _keys_of_document(rest: Sequence[Segment]) -> int:
    """Return the number of segments that are keys of a document, before the operators at the end."""
    for index, segment in enumerate(rest):
        if segment.quoted:
            continue
        after = rest[index:]
        if index and is_facet(after):
            return index
        if segment.text not in OPERATORS:
            continue
        derives = all(not step.quoted and step.text in NESTING for step in after[:-1])
        ends = not after[-1].quoted and after[-1].text in OPERATORS and after[-1].text not in LEADING
        if (derives and ends) or (index and OPERATORS[segment.text].elements and segment.text not in LEADING):
            return index
    return len(rest)


def _element(kind: OperandKind | None, name: str) -> OperandKind | None:
    """Return the type of what an operator derives from a value of a type."""
    row = OPERATORS[name]
    if not row.elements:
        return row.derived
    return ELEMENTS.get(kind, kind) if kind is not None else None
