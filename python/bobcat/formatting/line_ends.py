"""Line ends: work is done on lines that end with LF, and the first line decides what is written."""

from __future__ import annotations

import re

_LINE_END = re.compile("\r\n|\r|\n")


def with_lf(text: str) -> str:
    """Return a text without a byte order mark, whose lines end with LF."""
    return _LINE_END.sub("\n", text.removeprefix("\ufeff"))


def as_in(text: str, result: str) -> str:
    """Return a result whose lines end with LF with the line ends of the first line of a text."""
    found = _LINE_END.search(text)
    return result.replace("\n", "\r\n") if found is not None and found[0] == "\r\n" else result
