"""Values of enumeration members that are strings or integers: such members compare as their values."""

from __future__ import annotations

import enum
from typing import Any


def is_value_enum(member: object) -> bool:
    """Return true if an object is a member of an enumeration that compares as its value."""
    return isinstance(member, enum.Enum) and isinstance(member, str | int) and _compares(type(member))


def enum_value(value: object) -> object:
    """Return the value of such a member; any other object unchanged."""
    if not is_value_enum(value):
        return value
    text: Any = value  # Any: a text or an integer, just above
    return "".join(str.__iter__(text)) if isinstance(value, str) else int(text)


def is_scalar(value: object) -> bool:
    """Return true if an object is exactly a string, a number, a bool or None."""
    return value is None or type(value) in (bool, int, float, str)


def _compares(kind: type) -> bool:
    base = vars(str if issubclass(kind, str) else int)
    return all(getattr(kind, name) is base[name] for name in ("__eq__", "__hash__"))
