"""The pattern of a `matches`: through the gate, findings placed inside the scalar where its text allows."""

from __future__ import annotations

from yaml.nodes import ScalarNode

from bobcat.diagnostics import Span
from bobcat.frontend.patterns import check_pattern
from bobcat.frontend.report import Report


def check_pattern_operand(node: ScalarNode, pattern: str, report: Report) -> bool:
    """Whether the strict dialect accepts `pattern`; every reason why not is in `report`."""
    findings = check_pattern(pattern, "re2")
    for finding in findings:
        place = _within(node, pattern, (finding.start, finding.end), report)
        report.add("E0701", place, problem=f"{finding.message} ({finding.code})", help=finding.help)
    return not findings


def _within(node: ScalarNode, pattern: str, part: tuple[int, int], report: Report) -> Span:
    """The span of a part of a scalar; of all of it when its text is not what is written."""
    whole = report.span(node)
    start, end = part
    if whole.line == 0 or whole.line != whole.end_line or not 0 <= start <= end <= len(pattern):
        return whole
    match node.style:
        case "" | None:
            offset, lengths = whole.column, [1] * len(pattern)
        case "'":
            offset, lengths = whole.column + 1, [2 if char == "'" else 1 for char in pattern]
        case '"' if whole.end_column - whole.column == len(pattern) + 2:  # no escape in it
            offset, lengths = whole.column + 1, [1] * len(pattern)
        case _:
            return whole
    first = offset + sum(lengths[:start])
    last = offset + sum(lengths[:end])
    return Span(whole.file, whole.line, first, whole.line, max(last, first + 1))
