"""Changes of the definitions that rules read from the state of a run: windows, matches, fields and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from bobcat.ir.schema import Definition, IrNode, Measure, Profile, Source
from bobcat.testing.mutation.expressions import changed_matches
from bobcat.testing.mutation.operands import SECOND

_EXPRESSIONS = ("of", "where", "match")


def changed_definitions(definition: Definition, profile: Profile) -> Iterator[tuple[str, str, Any]]:
    """Yield the changes of a definition: the mutation, the change in words, and the definition."""
    yield from _variants(definition, profile)


def _variants(node: Any, profile: Profile) -> Iterator[tuple[str, str, Any]]:  # Any: a definition or a formula
    if isinstance(node, tuple):
        for index, item in enumerate(node):
            for mutation, change, new in _variants(item, profile):
                yield mutation, change, (*node[:index], new, *node[index + 1 :])
        return
    if not isinstance(node, IrNode):
        return
    for mutation, change, fields in _here(node):
        yield mutation, change, msgspec.structs.replace(node, **fields)
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if name in _EXPRESSIONS and value is not UNSET:
            for found in changed_matches(value, profile):
                yield found.mutation, found.change, msgspec.structs.replace(node, **{name: found.match})
        else:
            for mutation, change, new in _variants(value, profile):
                yield mutation, change, msgspec.structs.replace(node, **{name: new})


def _here(node: IrNode) -> Iterator[tuple[str, str, dict[str, Any]]]:  # Any: the fields that change
    within = getattr(node, "within", UNSET)
    if isinstance(within, int):
        seconds = f"within {within / SECOND:g} s"
        yield "window", f"{seconds} -> one second longer", {"within": within + SECOND}
        if within > SECOND:
            yield "window", f"{seconds} -> one second shorter", {"within": within - SECOND}
        yield "window", f"{seconds} -> without a window", {"within": UNSET}
    match node:
        case Source(where=where) if where is not UNSET:
            yield "drop-clause", "without `where`", {"where": UNSET}
        case Measure(by=by) if by is not UNSET:
            yield "scope", f"counted in the run, not by {by}", {"by": UNSET}
        case _:
            return
    if isinstance(node, Source):
        for index, name in enumerate(node.asked_with):
            kept = (*node.asked_with[:index], *node.asked_with[index + 1 :])
            yield "list", f"asked with any value, not one from {name}", {"asked_with": kept}
