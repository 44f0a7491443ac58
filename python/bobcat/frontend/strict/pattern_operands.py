"""Patterns of `matches`: validation, with diagnostics positioned inside the scalar where possible."""

from __future__ import annotations

from yaml.nodes import ScalarNode

from bobcat.diagnostics.model import Span
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.strict.patterns import check_pattern


def check_pattern_operand(node: ScalarNode, pattern: str, report: DiagnosticCollector) -> bool:
    """Return true if the strict dialect accepts `pattern`; otherwise `report` has every reason."""
    findings = check_pattern(pattern, "re2")
    for finding in findings:
        place = _within(node, pattern, (finding.start, finding.end), report)
        report.add("E0701", place, problem=f"{finding.message} ({finding.code})", help=finding.help)
    return not findings


def _within(node: ScalarNode, pattern: str, part: tuple[int, int], report: DiagnosticCollector) -> Span:
    """Return the span of a part of a scalar; the whole scalar if its text differs from its value."""
    whole = report.span(node)
    start, end = part
    if whole.line == 0 or whole.line != whole.end_line or not 0 <= start <= end <= len(pattern):
        return whole
    match node.style:
        case "" | None:
            offset, lengths = whole.column, [1] * len(pattern)
        case "'":
            offset, lengths = whole.column + 1, [2 if char == "'" else 1 for char in pattern]
        case '"' if whole.end_column - whole.column == len(pattern) + 2:  # no escape in the scalar
            offset, lengths = whole.column + 1, [1] * len(pattern)
        case _:
            return whole
    first = offset + sum(lengths[:start])
    last = offset + sum(lengths[:end])
    return Span(whole.file, whole.line, first, whole.line, max(last, first + 1))
