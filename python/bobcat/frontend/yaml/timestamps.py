"""Exact conversion of RFC 3339 timestamps to microseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.(\d+))?(?:[Zz]|[-+](\d{2}):(\d{2}))", re.ASCII)
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
    if len((found[1] or "").rstrip("0")) > 6:
        raise ValueError("it is more precise than a microsecond")
    if int(found[2] or 0) > 23 or int(found[3] or 0) > 59:
        raise ValueError("its offset is invalid")
    if text[11:13] == "24":  # midnight, since Python 3.14
        raise ValueError("hour must be in 0..23")
    return (datetime.fromisoformat(text.upper()) - _EPOCH) // _MICROSECOND
