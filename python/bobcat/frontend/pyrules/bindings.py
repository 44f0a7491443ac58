"""What a name of a function under lowering can stand for."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules.source import FunctionNode
from bobcat.ir.code import Root

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function


@dataclass(frozen=True, slots=True)
class Slot:
    """A name that is a local."""

    slot: int


@dataclass(frozen=True, slots=True)
class Static:
    """A name that stands for an object when the rule is compiled."""

    value: Any  # Any: every object


@dataclass(frozen=True, slots=True)
class Nested:
    """A name that stands for a function defined inside of a function."""

    node: FunctionNode
    owner: Function


@dataclass(frozen=True, slots=True)
class Parameter:
    """The request or the context of the rule itself."""

    code: Root


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for an expression that has one value all the time and may stand wherever the name is read."""

    node: ast.expr


@dataclass(frozen=True, slots=True)
class Chosen:
    """A name for one of several objects; the slot has its number, from one on, or None where that may be."""

    slot: int
    objects: tuple[Any, ...]  # Any: every object
    or_none: bool


Binding = Slot | Static | Nested | Parameter | Alias | Chosen


class _Missing:
    """What stands for no object."""


MISSING = _Missing()
