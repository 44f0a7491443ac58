"""Exact conversion of RFC 3339 timestamps to microseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_RFC_3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([-+])(\d{2}):(\d{2}))",
    re.ASCII,
)
_NO_OFFSET = re.compile(r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(text: str) -> int:
    """Return the microseconds between 1970-01-01T00:00:00Z and `text`. Raises ValueError with the problem."""
    found = _RFC_3339.fullmatch(text)
    if found is None:
        if _NO_OFFSET.fullmatch(text):
            raise ValueError("it has no time of day with an offset")
        raise ValueError("it is not in RFC 3339 format")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction = found[7] or ""
    if len(fraction.rstrip("0")) > 6:
        raise ValueError("it is more precise than a microsecond")
    offset = timedelta(hours=int(found[9] or 0), minutes=int(found[10] or 0))
    if int(found[9] or 0) > 23 or int(found[10] or 0) > 59:
        raise ValueError("its offset is invalid")
    try:
        moment = datetime(year, month, day, hour, minute, second, int(fraction[:6].ljust(6, "0")), tzinfo=UTC)
    except ValueError as error:
        raise ValueError(str(error)) from None
    return (moment - _EPOCH) // _MICROSECOND - (-1 if found[8] == "-" else 1) * (offset // _MICROSECOND)
