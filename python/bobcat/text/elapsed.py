"""Time spans for people."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))
_SECONDS = {**dict(_UNITS), "w": 604_800, "m": 60, "s": 1}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]+)", re.ASCII)


def since(moment: datetime, now: datetime) -> str:
    """Format the time since or until a moment in the largest sufficient unit."""
    seconds = abs((now - moment).total_seconds())
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def span_of(text: str) -> timedelta:
    """Parse a time span, such as `30d`, `12h`, `5min` or `90s`. Raises `ValueError`."""
    found = _SPAN.fullmatch(text.strip())
    if found is None or found[2] not in _SECONDS:
        raise ValueError(f"`{text}` is not a time span: write a number and `s`, `min`, `h`, `d` or `w`, such as `30d`")
    try:
        return timedelta(seconds=float(found[1]) * _SECONDS[found[2]])
    except OverflowError as error:
        raise ValueError(f"`{text}` is too long") from error
