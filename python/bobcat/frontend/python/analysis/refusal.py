"""Reasons that a function cannot be lowered: the exact expression, the problem, and the suggested replacement."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from bobcat.diagnostics.model import Span

RefusalKind = Literal["shape", "impure"]


@dataclass(frozen=True, slots=True)
class LoweringProblem:
    """One finding. `impure` marks reads of a clock, a file, the environment, randomness, or a global that changes."""

    kind: RefusalKind
    span: Span | None
    problem: str
    instead: str


class CannotLower(Exception):
    """End the lowering of one statement."""

    def __init__(self, refusal: LoweringProblem) -> None:
        super().__init__(refusal.problem)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class SourceFragment:
    """The source text of one syntax tree. Columns of `ast` count UTF-8 bytes; columns here count code points."""

    file: str
    lines: tuple[str, ...]

    def span(self, node: ast.AST) -> Span:
        """Return the span of a node."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column + 1)
        return Span(self.file, line, self._column(line, column), end, self._column(end, end_column))

    def error_at(self, node: ast.AST, problem: str, instead: str, *, kind: RefusalKind = "shape") -> CannotLower:
        """Return the error to raise for a node."""
        return CannotLower(LoweringProblem(kind, self.span(node), problem, instead))

    def _column(self, line: int, column: int) -> int:
        if not 0 < line <= len(self.lines):
            return column + 1
        return len(self.lines[line - 1].encode("utf-8")[:column].decode("utf-8", "replace")) + 1
