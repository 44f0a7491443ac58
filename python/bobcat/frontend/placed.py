"""Plain data with places in Python, read as a rule of a file is: what `bobcat.build` lowers its rules with.

A built rule goes through the front end of YAML: it means the same, is refused for the same reasons, and has the same
digest. Its places are those of the Python that built it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yaml.nodes import Node

from bobcat.bundle.source_map import Position
from bobcat.diagnostics import Span
from bobcat.frontend.matches import Matches
from bobcat.frontend.pyrules.built import NOWHERE, BuiltRule
from bobcat.frontend.report import Report
from bobcat.frontend.rules import Rules
from bobcat.frontend.source import MAX_DEPTH, PastCap, PlainCopy


@dataclass(frozen=True, slots=True)
class Placed:
    """Plain data, and where it was written; None: where what holds it was."""

    data: Any  # plain data, with `Placed` in it
    position: Position | None


def lower_built(surface: Placed, file: str, index: int | None) -> BuiltRule:
    """The rule that a surface describes. `index` names a rule that has no id; without one the rule needs an id."""
    report = Report(file)
    position = surface.position or NOWHERE
    span = Span(file, *position)
    if index is None and "id" not in surface.data:
        report.add("E0820", span)
    lowered = None
    try:
        node = _PlacedCopy(report, position).node(surface, "$", 1)
        if not report.has_errors() or index is None:
            lowered = Rules(report, Matches(report)).rule(node, index or 0)
    except PastCap as cap:
        report.add(cap.code, span, limit=cap.limit)
    if lowered is None or report.has_errors():
        return BuiltRule(None, file, position, findings=report.sorted())
    rule, source = lowered
    return BuiltRule(rule, file, position, source.leaves, source.description, report.sorted())


class _Mark:
    """The mark of a node in a text."""

    __slots__ = ("column", "index", "line")

    def __init__(self, line: int, column: int) -> None:
        self.line = line - 1
        self.column = column - 1
        self.index = 0


class _PlacedCopy(PlainCopy):
    """Copies plain data into nodes that stand where the nearest `Placed` around them does."""

    def __init__(self, report: Report, position: Position) -> None:
        super().__init__(report)
        self._position = position

    def node(self, value: Any, path: str, depth: int) -> Node:  # Any: plain data
        """The node of a value."""
        if not isinstance(value, Placed):
            return super().node(value, path, depth)
        if depth > MAX_DEPTH:
            raise PastCap("E0108", MAX_DEPTH)
        outside, self._position = self._position, value.position or self._position
        made = super().node(value.data, path, depth)
        self._position = outside
        return made

    def marks(self, path: str) -> tuple[Any, Any]:
        """Where a node starts and ends."""
        line, column, end_line, end_column = self._position
        return _Mark(line, column), _Mark(end_line, end_column)

    def span(self, path: str) -> Span:
        """Where a finding about a value is."""
        return Span(self.report.file, *self._position)
