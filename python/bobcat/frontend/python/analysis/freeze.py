"""Conversion of Python values of modules and closures to IR constants, as they are at compile time."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from bobcat.ir.canonical import EncodingError, encode_value
from bobcat.ir.constants import to_const
from bobcat.ir.schema import Const
from bobcat.model.frozen import FrozenDict, FrozenList

MAX_DEPTH = 16
"""Levels of a constant."""
MAX_VALUES = 100_000
"""Values in one constant, keys counted."""

_SCALARS = (bool, int, str, float, bytes)
_LISTS = (list, FrozenList)
_DICTS = (dict, FrozenDict, MappingProxyType)
MUTABLE = (list, dict, set)


class NotConstant(Exception):
    """A value cannot be a constant of a policy; the message gives the reason."""


def freeze(value: Any) -> Const:  # Any: whatever a module holds
    """Convert a value to a constant. Raises `NotConstant`."""
    const = _ConstantFreezer().const(value, 0)
    try:
        encode_value(const)
    except EncodingError as error:
        raise NotConstant(str(error)) from error
    return const


class _ConstantFreezer:
    def __init__(self) -> None:
        self._left = MAX_VALUES

    def const(self, value: Any, depth: int) -> Const:  # Any: see freeze
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise NotConstant(f"it has more than {MAX_VALUES} values, or more than {MAX_DEPTH} levels")
        kind = type(value)
        if value is None or kind in _SCALARS or (kind is datetime and value.tzinfo is not None):
            return to_const(value, "lynx")
        if kind in _LISTS:
            return [self.const(item, depth + 1) for item in value]
        if kind is tuple:
            return {"tuple": [self.const(item, depth + 1) for item in value]}
        if kind in (set, frozenset):
            return {"set": sorted((self.const(item, depth + 1) for item in value), key=encode_value)}
        if kind in _DICTS:
            return {"pairs": [[self.const(key, depth + 1), self.const(item, depth + 1)] for key, item in value.items()]}
        raise NotConstant(f"{described(value)} cannot be a constant")


def described(value: object) -> str:
    """Describe a value: `a `Logger``."""
    if isinstance(value, enum.Enum):
        return f"the member `{value.name}` of an enumeration"
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    if callable(value):
        return f"the function `{getattr(value, '__name__', type(value).__name__)}`"
    if isinstance(value, Mapping):
        return f"a mapping of type `{type(value).__name__}`"
    return f"a value of type `{type(value).__name__}`"
