"""Lowering of rules built in Python (`bobcat.build`): plain data with Python source positions.

A built rule goes through the YAML front end: it has the same meaning, the same errors and the same digest as the rule
in a file. Its positions are those of the Python code that built it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bobcat._core import Mark, Node
from bobcat.bundle.source_map import Position, RuleSource
from bobcat.diagnostics.model import Span
from bobcat.frontend.builder.rules import NOWHERE, BuiltRule
from bobcat.frontend.observation import Finding
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.strict.capabilities import Capabilities
from bobcat.frontend.strict.matches import MatchLowering
from bobcat.frontend.strict.resources import Resources
from bobcat.frontend.strict.rules import Rules
from bobcat.frontend.strict.sources import Sources
from bobcat.frontend.yaml.source import MAX_DEPTH, PastCap, PlainCopy
from bobcat.ir.schema import Definition, Expr, IrRule


@dataclass(frozen=True, slots=True)
class Located:
    """Plain data and the position where it was written; None takes the position of the enclosing data."""

    data: Any  # plain data, with `Located` in it
    position: Position | None


class PolicyNames(NamedTuple):
    """The resources and sources of a policy."""

    resources: Resources
    sources: Sources

    def matches(self, report: DiagnosticCollector) -> tuple[MatchLowering, Resources]:
        """Return the lowering of matches with these names, and the resources, whose errors `report` records."""
        resources = self.resources.reporting_to(report)
        return MatchLowering(report, resources, self.sources.reporting_to(report)), resources


def lower_built(surface: Located, file: str, index: int | None, names: PolicyNames | None = None) -> BuiltRule:
    """Lower the rule that a surface describes. `index` names a rule without an id; if `index` is None, the rule needs
    an id. `names` are those of its policy.
    """
    report = DiagnosticCollector(file)
    position = surface.position or NOWHERE
    span = Span(file, *position)
    if index is None and "id" not in surface.data:
        report.add("E0820", span)
    lowered = None
    memory: Mapping[str, Definition] = {}
    try:
        node = _LocatedCopy(report, position).node(surface, "$", 1)
        if not report.has_errors() or index is None:
            matches = MatchLowering(report) if names is None else names.matches(report)[0]
            lowered = Rules(report, matches).rule(node, index or 0, index or 0)
            memory = matches.definitions
    except PastCap as cap:
        report.add(cap.code, span, limit=cap.limit)
    if lowered is None or report.has_errors():
        return BuiltRule(None, file, position, findings=report.sorted())
    rule, source = lowered
    return BuiltRule(rule, file, position, source.leaves, source.description, report.sorted(), memory)


def lower_capability(surface: Located, file: str, index: int, names: PolicyNames) -> tuple[BuiltRule, ...]:
    """Lower the capability that a surface describes; `index` is its index in its policy."""
    report = DiagnosticCollector(file)
    position = surface.position or NOWHERE
    made: list[tuple[IrRule, RuleSource]] = []
    memory: Mapping[str, Definition] = {}
    try:
        node = _LocatedCopy(report, position).node(surface, "$", 1)
        matches, own = names.matches(report)
        if not report.has_errors():
            made = list(Capabilities(report, Rules(report, matches), own).lower(node, index, index))
            memory = matches.definitions
    except PastCap as cap:
        report.add(cap.code, Span(file, *position), limit=cap.limit)
    if report.has_errors() or not made:
        return (BuiltRule(None, file, position, findings=report.sorted()),)
    findings = [report.sorted(), *[()] * (len(made) - 1)]
    return tuple(
        BuiltRule(rule, file, position, source.leaves, source.description, found, memory)
        for (rule, source), found in zip(made, findings, strict=True)
    )


def lower_match(surface: Located, file: str) -> tuple[Expr | None, Mapping[str, Definition], tuple[Finding, ...]]:
    """Lower a match that names no resources and sources; return it with the definitions that it reads, and the
    findings. The match is None if one of these is an error.
    """
    report = DiagnosticCollector(file)
    position = surface.position or NOWHERE
    matches, expr = MatchLowering(report), None
    try:
        node = _LocatedCopy(report, position).node(surface, "$", 1)
        if not report.has_errors():
            expr = matches.match(node, "the condition")
    except PastCap as cap:
        report.add(cap.code, Span(file, *position), limit=cap.limit)
    return None if report.has_errors() else expr, matches.definitions, report.sorted()


def lower_names(resources: Located, sources: Located, file: str) -> tuple[PolicyNames, tuple[BuiltRule, ...]]:
    """Lower the resources and sources that surfaces describe; the second value has the findings about them."""
    report = DiagnosticCollector(file)
    position = resources.position or NOWHERE
    found = PolicyNames(Resources(report), Sources(report))
    try:
        copy = _LocatedCopy(report, position)
        nodes = copy.node(resources, "$", 1), copy.node(sources, "$", 1)
        if not report.has_errors():
            found.resources.define(nodes[0])
            found.sources.define(nodes[1], MatchLowering(report, found.resources, found.sources))
            found.sources.lower()
    except PastCap as cap:
        report.add(cap.code, Span(file, *position), limit=cap.limit)
    findings = report.sorted()
    return found, (BuiltRule(None, file, position, findings=findings),) if findings else ()


class _LocatedCopy(PlainCopy):
    """Copy of plain data as nodes; each node has the position of the nearest enclosing `Located`."""

    def __init__(self, report: DiagnosticCollector, position: Position) -> None:
        super().__init__(report)
        self._position = position

    def node(self, value: Any, path: str, depth: int) -> Node:  # Any: plain data
        """Return the node of a value."""
        if not isinstance(value, Located):
            return super().node(value, path, depth)
        if depth > MAX_DEPTH:
            raise PastCap("E0108", MAX_DEPTH)
        outside, self._position = self._position, value.position or self._position
        node = super().node(value.data, path, depth)
        self._position = outside
        return node

    def marks(self, path: str) -> tuple[Any, Any]:
        """Return the start and end marks of a node."""
        line, column, end_line, end_column = self._position
        return Mark(line - 1, column - 1), Mark(end_line - 1, end_column - 1)

    def span(self, path: str) -> Span:
        """Return the span of a diagnostic about a value."""
        return Span(self.report.file, *self._position)
