"""Python evaluation of one comparison, to choose among candidate values before the core is called.

A second implementation of `docs/reference/semantics.md`, never authoritative: the core verifies every result.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from bobcat._core import Pattern
from bobcat.ir.constants import from_const
from bobcat.ir.schema import Const


def holds(op: str, operand: Const, value: Any) -> bool | None:  # Any: JSON
    """Return true if a value passes a test; None if the test cannot be evaluated."""
    match op:
        case "exists":
            return operand is True
        case "eq":
            return _compared(value, operand)
        case "in":
            return _any(_compared(value, item) for item in operand)
        case "matches":
            return _pattern(operand).search(value) if isinstance(value, str) else None
        case "contains":
            return _contains(value, operand)
        case "contains_any":
            return _any(_contains(value, item) for item in operand)
        case "contains_all":
            return _all(_contains(value, item) for item in operand)
        case "starts_with" | "ends_with":
            ends = operand if isinstance(operand, list) else [operand]
            at = str.startswith if op == "starts_with" else str.endswith
            return at(value, tuple(ends)) if isinstance(value, str) else None
        case "gt" | "ge" | "lt" | "le":
            return _ordered(op, value, operand)
        case "between":
            return _all((_ordered("ge", value, operand[0]), _ordered("le", value, operand[1])))
        case "not_between":
            return _not(_all((_ordered("ge", value, operand[0]), _ordered("le", value, operand[1]))))
        case "length":
            return _tests(operand, len(value)) if isinstance(value, str | list | dict) else None
        case "lower":
            return _tests(operand, value.lower()) if isinstance(value, str) else None
        case "any":
            return _any(_tests(operand, item) for item in value) if isinstance(value, list) else None
        case "all":
            return _all(_tests(operand, item) for item in value) if isinstance(value, list) else None
        case "none":
            return _not(_any(_tests(operand, item) for item in value)) if isinstance(value, list) else None
        case _:
            return None


@lru_cache(maxsize=1_024)
def _pattern(text: str) -> Pattern:
    return Pattern(text, "re2")


def _tests(operand: Const, value: Any) -> bool | None:  # Any: JSON
    return _all(holds(item["op"], item["operand"], value) for item in operand["tests"])


def _compared(value: Any, operand: Const) -> bool | None:  # Any: JSON
    if isinstance(operand, bool) and isinstance(value, int | float | str) and not isinstance(value, bool):
        return None
    return _equal(value, operand)


def _equal(value: Any, operand: Const) -> bool | None:  # Any: JSON
    other = from_const(operand)
    if isinstance(other, list | dict) or isinstance(value, list | dict):
        return value == other if type(value) is type(other) else None
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    return bool(value == other)


def _contains(value: Any, operand: Const) -> bool | None:  # Any: JSON
    if isinstance(value, list):
        return _any(False if isinstance(item, list | dict) else _equal(item, operand) for item in value)
    if isinstance(value, str | dict) and isinstance(operand, str):
        return operand in value
    return None


def _ordered(op: str, value: Any, bound: Const) -> bool | None:  # Any: JSON
    numbers = all(isinstance(item, int | float) and not isinstance(item, bool) for item in (value, bound))
    if not numbers and not (isinstance(value, str) and isinstance(bound, str)):
        return None
    match op:
        case "gt":
            return bool(value > bound)
        case "ge":
            return bool(value >= bound)
        case "lt":
            return bool(value < bound)
        case _:
            return bool(value <= bound)


def _any(found: Any) -> bool | None:  # Any: an iterable of answers
    answers = list(found)
    return True if True in answers else None if None in answers else False


def _all(found: Any) -> bool | None:  # Any: as above
    answers = list(found)
    return False if False in answers else None if None in answers else True


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
