"""Source positions of built rules: the expression that the nearest frame outside the builder is evaluating."""

from __future__ import annotations

import linecache
import sys
from dataclasses import dataclass
from types import CodeType

from bobcat.bundle.source_map import Position

_PACKAGES = ("bobcat.build", "bobcat.language")
"""The builder, and the methods of operators that its paths inherit."""
_Found = tuple[int | None, int | None, int | None, int | None]
"""Line, end line, column, end column."""


@dataclass(frozen=True, slots=True, eq=False)
class SourcePosition:
    """An instruction of a code object. Its position is computed on demand, not while building."""

    code: CodeType
    instruction: int

    @property
    def file(self) -> str:
        """Return the file name in the code object."""
        return self.code.co_filename


class Positions:
    """Computation of positions, with a cache per code object for its own lifetime."""

    def __init__(self) -> None:
        # PERF: by id, because hashing a code object takes as long as reading it
        self._read: dict[int, tuple[CodeType, list[_Found]]] = {}

    def of(self, place: SourcePosition) -> Position:
        """Return line and column, from 1, of the start and the end of the expression; only a line if no more is
        known.
        """
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
    """Convert a column of UTF-8 bytes, as in Python, to code points."""
    text = linecache.getline(file, line)
    return len(text.encode()[:column].decode(errors="ignore")) if text else column


def here() -> SourcePosition:
    """Return the position of the call that entered the builder."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(_PACKAGES):
        frame = frame.f_back
    return SourcePosition(frame.f_code, frame.f_lasti)
