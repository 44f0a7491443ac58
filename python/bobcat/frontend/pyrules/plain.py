"""Members of enumerations that are texts or integers, as those: that is what they are where they are compared."""

from __future__ import annotations

import enum
from typing import Any


def has_value(member: object) -> bool:
    """Whether an object is a member of an enumeration that compares as its value."""
    return isinstance(member, enum.Enum) and isinstance(member, str | int) and _compares(type(member))


def plain(value: object) -> object:
    """The value of such a member; any other object itself."""
    if not has_value(value):
        return value
    text: Any = value  # Any: a text or an integer, just above
    return "".join(str.__iter__(text)) if isinstance(value, str) else int(text)


def is_scalar(value: object) -> bool:
    """Whether an object is a text, a number, a bool or None itself."""
    return value is None or type(value) in (bool, int, float, str)


def _compares(kind: type) -> bool:
    base = vars(str if issubclass(kind, str) else int)
    return all(getattr(kind, name) is base[name] for name in ("__eq__", "__hash__"))
