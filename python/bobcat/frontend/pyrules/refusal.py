"""Why a function cannot be lowered: the exact expression, the reason, and what to write instead."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from bobcat.diagnostics import Span

RefusalKind = Literal["shape", "impure"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """One finding. `impure` is for what reads a clock, a file, the environment, chance, or a global that changes."""

    kind: RefusalKind
    span: Span | None
    problem: str
    instead: str


class CannotLower(Exception):
    """Ends the lowering of one statement."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.problem)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Place:
    """A source text that nodes of one tree stand in. Columns of `ast` count bytes of UTF-8, ours count code points."""

    file: str
    lines: tuple[str, ...]

    def span(self, node: ast.AST) -> Span:
        """Where a node stands."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column + 1)
        return Span(self.file, line, self._column(line, column), end, self._column(end, end_column))

    def cannot(self, node: ast.AST, problem: str, instead: str, *, kind: RefusalKind = "shape") -> CannotLower:
        """The refusal of a node, to be raised."""
        return CannotLower(Refusal(kind, self.span(node), problem, instead))

    def _column(self, line: int, column: int) -> int:
        if not 0 < line <= len(self.lines):
            return column + 1
        return len(self.lines[line - 1].encode("utf-8")[:column].decode("utf-8", "replace")) + 1
