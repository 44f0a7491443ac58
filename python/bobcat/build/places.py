"""Where in the user's Python something was written: what the nearest frame outside of this package is evaluating."""

from __future__ import annotations

import linecache
import sys
from dataclasses import dataclass
from types import CodeType

from bobcat.bundle.source_map import Position

_PACKAGE = "bobcat.build"
_Found = tuple[int | None, int | None, int | None, int | None]
"""Line, end line, column, end column."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An instruction of some code. Its position is worked out when somebody asks: building asks for none."""

    code: CodeType
    instruction: int

    @property
    def file(self) -> str:
        """The name of the file, as the code knows it."""
        return self.code.co_filename


class Positions:
    """Works out positions; keeps what it has read of each code for as long as it lives."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[CodeType, list[_Found]]] = {}  # PERF: hashing a code takes as long as reading it

    def of(self, place: Place) -> Position:
        """Line and column, from 1, of the start and the end of the expression; a line where no more is known."""
        code = place.code
        known = self._read.get(id(code))
        if known is None:
            known = self._read[id(code)] = code, list(code.co_positions())
        index = place.instruction // 2
        found = known[1][index] if 0 <= index < len(known[1]) else (None, None, None, None)
        line, end_line, column, end_column = found
        if line is None:
            return code.co_firstlineno, 1, code.co_firstlineno, 2
        if end_line is None or column is None or end_column is None:
            return line, 1, line, 2
        start, end = _characters(place.file, line, column), _characters(place.file, end_line, end_column)
        return line, start + 1, end_line, max(end, start + 1 if end_line == line else 0) + 1


def _characters(file: str, line: int, column: int) -> int:
    """A column in code points; Python counts the bytes of UTF-8."""
    text = linecache.getline(file, line)
    return len(text.encode()[:column].decode(errors="ignore")) if text else column


def here() -> Place:
    """The place of the call that led into this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(_PACKAGE):
        frame = frame.f_back
    return Place(frame.f_code, frame.f_lasti)
