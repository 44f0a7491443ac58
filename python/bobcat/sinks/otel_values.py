"""Values of event bodies as OpenTelemetry takes them. Total: a value of another type than expected is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

Body: TypeAlias = Mapping[str, Any]  # Any: the values of an event's body
Value: TypeAlias = str | bool | int | float | Sequence[str]

MAX_TEXT: Final = 1024
"""Characters of one text in an attribute; texts of models and tools can be of any length."""
MAX_TEXTS: Final = 100
"""Elements of one list in an attribute."""
_LARGEST: Final = 2**63 - 1


def text(body: Body, key: str) -> str:
    """The text under `key`, or an empty one."""
    value = body.get(key)
    return clean(value) if isinstance(value, str) else ""


def texts(body: Body, key: str) -> tuple[str, ...]:
    """The texts in the list under `key`."""
    value = body.get(key)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(clean(each) for each in value[:MAX_TEXTS] if isinstance(each, str))


def number(body: Body, key: str) -> int:
    """The non-negative integer under `key`, or 0."""
    value = body.get(key)
    return value if isinstance(value, int) and 0 <= value <= _LARGEST else 0


def attribute(value: object) -> Value | None:
    """The value as an attribute, or None if it cannot be one."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return value if -_LARGEST <= value <= _LARGEST else None
    if isinstance(value, list | tuple):
        return tuple(clean(each) for each in value[:MAX_TEXTS] if isinstance(each, str))
    return value if isinstance(value, float) else None


def clean(value: str, limit: int | None = MAX_TEXT) -> str:
    """The text, shortened and without lone surrogates: an exporter could not encode them, and would lose the batch."""
    return value[:limit].encode("utf-8", "backslashreplace").decode("utf-8")


def nanoseconds(time: datetime) -> int:
    """The time in nanoseconds since the epoch; 0 for a time before it."""
    try:
        return max(round(time.timestamp() * 1_000_000) * 1000, 0)
    except (OSError, OverflowError, ValueError):  # a naive time at the edge of the calendar
        return 0
