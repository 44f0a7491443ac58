"""Python evaluation of comparisons, to choose among candidate values before the core is called.

A second implementation of `docs/reference/semantics.md`, never authoritative: the core verifies every result. Each
function returns None if the comparison cannot be evaluated.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

Value: TypeAlias = Any
"""JSON, or a point in time."""
Test: TypeAlias = Callable[[Value], bool | None]


def any_true(answers: Iterable[bool | None]) -> bool | None:
    """Return the disjunction: true if one is true, else None if one is None."""
    found = list(answers)
    return True if True in found else None if None in found else False


def all_true(answers: Iterable[bool | None]) -> bool | None:
    """Return the conjunction: false if one is false, else None if one is None."""
    found = list(answers)
    return False if False in found else None if None in found else True


def negated(answer: bool | None) -> bool | None:
    """Return the negation."""
    return None if answer is None else not answer


def equals(value: Value, operand: Value) -> bool | None:
    """Compare with `eq`: a bool compares with bools only, a list or a mapping with its own type."""
    if isinstance(operand, bool) and isinstance(value, int | float | str) and not isinstance(value, bool):
        return None
    return _equal(value, operand)


def is_one_of(value: Value, operand: Value) -> bool | None:
    """Compare with each item of a list."""
    return any_true(equals(value, item) for item in operand)


def contains(value: Value, operand: Value) -> bool | None:
    """Search a text, a list or the keys of a mapping."""
    if isinstance(value, list):
        return any_true(False if isinstance(item, list | dict) else _equal(item, operand) for item in value)
    if isinstance(value, str | dict) and isinstance(operand, str):
        return operand in value
    return None


def contains_any(value: Value, operand: Value) -> bool | None:
    """Search for one of some items."""
    return any_true(contains(value, item) for item in operand)


def contains_all(value: Value, operand: Value) -> bool | None:
    """Search for all of some items."""
    return all_true(contains(value, item) for item in operand)


def ordered(compare: Callable[[Value, Value], bool]) -> Callable[[Value, Value], bool | None]:
    """Return the comparison of two numbers or two texts."""

    def holds(value: Value, bound: Value) -> bool | None:
        numbers = all(isinstance(item, int | float) and not isinstance(item, bool) for item in (value, bound))
        return compare(value, bound) if numbers or (isinstance(value, str) and isinstance(bound, str)) else None

    return holds


def between(value: Value, bounds: Value) -> bool | None:
    """Compare with two bounds, both within."""
    return all_true((ordered(operator.ge)(value, bounds[0]), ordered(operator.le)(value, bounds[1])))


def affix(at: Callable[[str, tuple[str, ...]], bool]) -> Callable[[Value, Value], bool | None]:
    """Return the comparison of a text with one or more texts at an end."""
    return lambda value, ends: (
        at(value, tuple(ends) if isinstance(ends, list) else (ends,)) if isinstance(value, str) else None
    )


def matches(value: Value, pattern: str) -> bool | None:
    """Search a text for a pattern."""
    return _searcher(pattern)(value) if isinstance(value, str) else None


def of_length(value: Value, test: Test) -> bool | None:
    """Test the length of a text, a list or a mapping."""
    return test(len(value)) if isinstance(value, str | list | dict) else None


def of_lower(value: Value, test: Test) -> bool | None:
    """Test a text in lower case."""
    return test(value.lower()) if isinstance(value, str) else None


def some(value: Value, test: Test) -> bool | None:
    """Test that an element passes."""
    return any_true(map(test, value)) if isinstance(value, list) else None


def every(value: Value, test: Test) -> bool | None:
    """Test that every element passes."""
    return all_true(map(test, value)) if isinstance(value, list) else None


@lru_cache(maxsize=1_024)
def _searcher(text: str) -> Callable[[str], bool]:
    from bobcat._core import Pattern

    return Pattern(text, "re2").search


def _equal(value: Value, other: Value) -> bool | None:
    if isinstance(other, list | dict) or isinstance(value, list | dict):
        return value == other if type(value) is type(other) else None
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    return bool(value == other)
