"""Candidate values of operators: values that probably pass, and values that probably do not.

The rows of operators name these functions; `bobcat.doctor` calls them with the operand of a clause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

MAX_ITEMS = 4
"""Number of items of a list operand that are tried."""

Values: TypeAlias = list[Any]
"""JSON, or whatever an author wrote."""
Candidates: TypeAlias = tuple[Values, Values]
"""Values that probably pass, and values that probably do not."""

_LONGEST = 1_000


def equal(operand: Any) -> Candidates:  # Any: whatever an author wrote, here and below
    """Return the operand, and another value."""
    return [operand], [other(operand)]


def one_of(operand: Any) -> Candidates:
    """Return the items, and another value."""
    return items(operand), [other(operand)]


def containing(operand: Any) -> Candidates:
    """Return lists and texts with and without the operand."""
    inside = [operand, f"a {operand} b"] if isinstance(operand, str) else []
    return [*inside, [operand]], [[other(operand)], "-"]


def occurring(operand: Any) -> Candidates:
    """Return the texts, whole, and another value."""
    return [item for item in items(operand) if isinstance(item, str)], ["-", other("-")]


def containing_each(number: int | None) -> Callable[[Any], Candidates]:
    """Return the candidates of a test for the first `number` items, or for all."""

    def candidates(operand: Any) -> Candidates:
        wanted = items(operand)[:number]
        text = [" ".join(map(str, wanted))] if wanted and all(isinstance(item, str) for item in wanted) else []
        return [wanted, *text], [[other(operand)], "-"]

    return candidates


def ordered(*, up: bool, within: bool) -> Callable[[Any], Candidates]:
    """Return the candidates of a bound: values above (`up`) or below pass, the bound itself does if `within`."""

    def candidates(operand: Any) -> Candidates:
        below, above = around(operand)
        at, not_at = ([operand], []) if within else ([], [operand])
        return [*([above] if up else [below]), *at], [*([below] if up else [above]), *not_at]

    return candidates


def affix(*, start: bool) -> Callable[[Any], Candidates]:
    """Return the candidates of texts at an end."""

    def candidates(operand: Any) -> Candidates:
        texts = operand[:MAX_ITEMS] if isinstance(operand, list) else [operand]
        return [*texts, *(f"{text}x" if start else f"x{text}" for text in texts)], ["-"]

    return candidates


def between(operand: Any) -> Candidates:
    """Return the bounds, and values outside."""
    bounds = items(operand)
    return bounds, [around(bounds[0])[0], around(bounds[-1])[1]] if bounds else []


def swapped(candidates: Callable[[Any], Candidates]) -> Callable[[Any], Candidates]:
    """Return the candidates of the negation."""
    return lambda operand: candidates(operand)[::-1]


def of_length(candidates: Candidates) -> Candidates:
    """Return texts and lists of some lengths."""
    true, false = (
        [length for length in lengths if isinstance(length, int) and 0 <= length <= _LONGEST] for lengths in candidates
    )
    sized = [[value for length in fitting for value in ("x" * length, ["x"] * length)] for fitting in (true, false)]
    return sized[0], sized[1]


def of_lower(candidates: Candidates) -> Candidates:
    """Return texts in upper case, then the texts."""
    true, false = ([*(value.upper() for value in values if isinstance(value, str)), *values] for values in candidates)
    return true, false


def some(candidates: Candidates) -> Candidates:
    """Return lists with and without an element that passes."""
    true, false = candidates
    return [[value] for value in true], [[], *([value] for value in false)]


def every(candidates: Candidates) -> Candidates:
    """Return lists with and without an element that does not pass."""
    true, false = candidates
    return [*([value] for value in true), []], [[*true[:1], value] for value in false]


def no_one(candidates: Candidates) -> Candidates:
    """Return lists without and with an element that passes."""
    true, false = candidates
    return [*([value] for value in false), []], [[value] for value in true]


def items(operand: Any) -> Values:
    """Return the first items of an operand, or the operand itself."""
    return list(operand)[:MAX_ITEMS] if isinstance(operand, Iterable) else [operand]


def other(operand: Any) -> Any:
    """Return a value of the same type that is neither the operand nor one of its items."""
    sample = next(iter(items(operand)), "x") if not isinstance(operand, str | bytes) else operand
    match sample:
        case bool():
            return not sample
        case int() | float():
            return max([item for item in items(operand) if _is_number(item)], default=0) + 1
        case _:
            return "other"


def around(bound: Any) -> tuple[Any, Any]:
    """Return a value below and one above."""
    if _is_number(bound):
        return bound - 1, bound + 1
    if isinstance(bound, str):
        return "", bound + "a"
    return 0, 1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
