"""Coverage of policies as a table of text, and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from bobcat.diagnostics.model import Span
from bobcat.testing.suites.coverage import OUTCOMES, ClauseCoverage, PolicyCoverage, RuleCoverage, percent
from bobcat.text.display import safe_name, safe_text

HEAD = ("rule", "verdict", "line", "fired", *OUTCOMES, "cover", "missing")
_RIGHT = frozenset(range(2, 9))


def total_percent(policies: Iterable[PolicyCoverage]) -> float:
    """Return the coverage of all policies together, in percent."""
    found = list(policies)
    return percent(sum(item.covered for item in found), sum(item.total for item in found))


def coverage_text(policies: Sequence[PolicyCoverage]) -> str:
    """Return a table for each policy, in safe lines."""
    return "\n\n".join(_table(policy) for policy in policies) + "\n"


def _table(policy: PolicyCoverage) -> str:
    rows = [HEAD, *(_row(rule, _elsewhere(rule.span, policy)) for rule in policy.rules), _total(policy)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD) - 1)]
    lines = [f"coverage of {safe_text(policy.file)}, {policy.decisions:,} decision{'s' * (policy.decisions != 1)}", ""]
    for number, row in enumerate(rows):
        cells = [
            f"{cell:>{width}}" if column in _RIGHT else f"{cell:<{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
        if number in (0, len(rows) - 2):
            lines.append("-" * (sum(widths) + 2 * len(widths) + len(HEAD[-1])))
    return "\n".join(lines)


def _elsewhere(span: Span | None, policy: PolicyCoverage) -> str:
    """Return the start of places in an included file; empty in a policy of one file, and in a bundle of one."""
    files = {rule.span.file for rule in policy.rules if rule.span is not None and rule.span.line}
    several = len(files) > 1 or policy.file.endswith((".yaml", ".yml", ".json"))
    return "" if span is None or not several or span.file == policy.file else f"{safe_text(span.file)}:"


def _row(rule: RuleCoverage, file: str) -> tuple[str, ...]:
    counts = (_seen(rule.clauses, outcome) for outcome in OUTCOMES)
    line = f"{file}{rule.span.line}" if rule.span is not None and rule.span.line else ""
    cover = _percent(percent(rule.covered, rule.total))
    gaps = missing(rule, file)
    return (safe_name(rule.id), rule.verdict or rule.kind, line, f"{rule.fired:,}", *counts, cover, gaps)


def _seen(clauses: Sequence[ClauseCoverage], outcome: str) -> str:
    return f"{sum(clause.outcomes[outcome] > 0 for clause in clauses)}/{len(clauses)}"


def _total(policy: PolicyCoverage) -> tuple[str, ...]:
    clauses = [clause for rule in policy.rules for clause in rule.clauses]
    fired = f"{sum(rule.fired > 0 for rule in policy.rules)}/{len(policy.rules)}"
    counts = (_seen(clauses, outcome) for outcome in OUTCOMES)
    by_file: dict[str, list[RuleCoverage]] = defaultdict(list)
    for rule in policy.rules:
        by_file[_elsewhere(rule.span, policy)].append(rule)
    lines = ", ".join(f"{file}{never_fired(rules)}" for file, rules in by_file.items() if never_fired(rules))
    return ("total", "", "", fired, *counts, _percent(percent(policy.covered, policy.total)), lines)


def _percent(value: float) -> str:
    return f"{value:.0f}%" if value == int(value) else f"{value:.1f}%"


def missing(rule: RuleCoverage, file: str = "") -> str:
    """Return the lines of a rule that never fired, or the places of its clauses with the outcomes they never had."""
    if not rule.fired and rule.span is not None and rule.span.line:
        return f"{file}{line_ranges(_lines(rule.span))}"
    if not rule.fired and rule.span is None:
        return "never fired"
    return ", ".join(
        f"{_place(clause.span, rule.span, file)}{' and '.join(clause.missing)}"
        for clause in rule.clauses
        if clause.missing
    )


def _place(span: Span | None, rule: Span | None, file: str) -> str:
    if span is None or not span.line:
        return ""
    file = file if rule is None or rule.file == span.file else f"{safe_text(span.file)}:"
    return f"{file}{span.line}:{span.column} "


def never_fired(rules: Iterable[RuleCoverage]) -> str:
    """Return the lines of all rules that never fired, as ranges."""
    spans = [rule.span for rule in rules if not rule.fired and rule.span is not None and rule.span.line]
    return line_ranges({line for span in spans for line in _lines(span)})


def _lines(span: Span) -> range:
    return range(span.line, span.end_line + (span.end_column > 1 or span.end_line == span.line))


def line_ranges(lines: Iterable[int]) -> str:
    """Format line numbers as ranges: `3, 7-9`."""
    parts = []
    for _, group in groupby(enumerate(sorted(lines)), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in group]
        parts.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}")
    return ", ".join(parts)


def coverage_json(policies: Sequence[PolicyCoverage]) -> dict[str, Any]:  # Any: JSON data, here and below
    """Return the coverage as plain JSON data."""
    return {"version": 1, "percent": total_percent(policies), "policies": [_policy_json(item) for item in policies]}


def _policy_json(policy: PolicyCoverage) -> dict[str, Any]:
    return {
        "file": policy.file,
        "bundle": policy.id,
        "decisions": policy.decisions,
        "percent": percent(policy.covered, policy.total),
        "covered": policy.covered,
        "total": policy.total,
        "never_fired": [rule.id for rule in policy.rules if not rule.fired],
        "defaults": dict(policy.defaults),
        "rules": [_rule_json(rule) for rule in policy.rules],
    }


def _rule_json(rule: RuleCoverage) -> dict[str, Any]:
    clauses = [
        {"text": item.text, **_span(item.span), "outcomes": dict(item.outcomes), "missing": list(item.missing)}
        for item in rule.clauses
    ]
    head = {"id": rule.id, "kind": rule.kind, "verdict": rule.verdict, **_span(rule.span), "fired": rule.fired}
    return {**head, "outcomes": dict(rule.outcomes), "percent": percent(rule.covered, rule.total), "clauses": clauses}


def _span(span: Span | None) -> dict[str, Any]:
    if span is None or not span.line:
        return {"file": None if span is None else span.file, "line": None, "column": None}
    return {"file": span.file, "line": span.line, "column": span.column}
