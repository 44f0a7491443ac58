"""Bindings of the names in a function that is being lowered."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from bobcat.ir.code import Root


@dataclass(frozen=True, slots=True)
class SlotBinding:
    """A name bound to a local variable."""

    slot: int


@dataclass(frozen=True, slots=True)
class Static:
    """A name bound to an object known at compile time."""

    value: Any  # Any: every object


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the rule itself: the request or the context."""

    code: Root


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for an expression with an invariant value; the expression may replace every read of the name."""

    node: ast.expr


@dataclass(frozen=True, slots=True)
class DispatchedObject:
    """A name for one of several objects; the slot holds the object's number, counted from one, or None where
    allowed.
    """

    slot: int
    objects: tuple[Any, ...]  # Any: every object
    or_none: bool


class _Missing:
    """Sentinel: no object is known."""


MISSING = _Missing()
