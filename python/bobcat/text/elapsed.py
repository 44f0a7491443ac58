"""Time spans for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))


def since(moment: datetime, now: datetime) -> str:
    """Format the time since or until a moment in the largest sufficient unit."""
    seconds = abs((now - moment).total_seconds())
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
