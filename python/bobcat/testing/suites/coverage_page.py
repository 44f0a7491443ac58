"""Coverage of policies as one self-contained HTML page: no script, no network, all user text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bobcat.diagnostics.render import lines_of
from bobcat.pages.html import document, table, text
from bobcat.testing.suites.coverage import OUTCOMES, ClauseCoverage, PolicyCoverage, RuleCoverage, percent
from bobcat.testing.suites.coverage_reports import total_percent

MAX_LINES = 20_000
"""Source lines of one policy on the page."""


def coverage_page(policies: Sequence[PolicyCoverage]) -> str:
    """Return the whole page."""
    return document(f"Policy coverage: {total_percent(policies):g}%", coverage_parts(policies))


def coverage_parts(policies: Sequence[PolicyCoverage], level: int = 2) -> Iterator[str]:
    """Yield the parts of a page about coverage: the legend, and a table for each policy with its sources.

    `level` is that of their headings.
    """
    yield _legend()
    for policy in policies:
        yield from _policy(policy, level)


def _legend() -> str:
    return (
        "<p class=quiet>The number of decisions in which each rule and clause was true, false, absent or in error. A "
        "rule that is true fires. Covered: the rule fired; each clause was true once, and false or absent once.</p>"
    )


def _policy(policy: PolicyCoverage, level: int) -> Iterator[str]:
    share = percent(policy.covered, policy.total)
    yield f"<h{level}>{text(policy.file)}: {share:g}%</h{level}>"
    defaults = ", ".join(f"<code>{text(name)}</code> {count:,}" for name, count in sorted(policy.defaults.items()))
    yield (
        f"<p class=quiet>{policy.decisions:,} decisions{f'; without a rule: {defaults}' if defaults else ''}<br>"
        f"policy <code>{text(policy.id)}</code></p>"
    )
    columns = (("rule", ""), *((outcome, "n") for outcome in OUTCOMES), ("missing", ""))
    yield table(
        columns, (row for rule in policy.rules for row in _rows(rule, policy.file)), label="Coverage by rule and clause"
    )
    for file, source in sorted(policy.sources.items()):
        yield _source(file, source, policy.rules, level + 1)


def _rows(rule: RuleCoverage, own: str) -> Iterator[str]:
    style = _style(rule)
    verdict = text(rule.verdict or rule.kind)
    file = "" if rule.span is None or rule.span.file == own else f"{text(rule.span.file)}, "
    place = "" if rule.span is None or not rule.span.line else f" <span class=quiet>{file}line {rule.span.line}</span>"
    counts = "".join(f'<td class="n">{rule.outcomes[outcome]:,}</td>' for outcome in OUTCOMES)
    gap = "" if rule.fired else "never fired"
    yield (
        f'<tr class="rule"><th scope="row"><span class="{style}">{text(rule.id)}</span> ({verdict}){place}</th>{counts}'
        f'<td class="bad">{gap}</td></tr>'
    )
    for clause in rule.clauses:
        yield _clause(clause)


def _clause(clause: ClauseCoverage) -> str:
    counts = "".join(f'<td class="n">{clause.outcomes[outcome]:,}</td>' for outcome in OUTCOMES)
    gap = " and ".join(clause.missing)
    return f'<tr class="clause"><td><code>{text(clause.text)}</code></td>{counts}<td class="part">{gap}</td></tr>'


def _style(rule: RuleCoverage) -> str:
    return "bad" if not rule.fired else "good" if rule.covered == rule.total else "part"


def _source(file: str, source: str, rules: Iterable[RuleCoverage], level: int) -> str:
    styles: dict[int, str] = {}
    for rule in rules:
        if rule.span is not None and rule.span.file == file and rule.span.line:
            end = rule.span.end_line + (rule.span.end_column > 1 or rule.span.end_line == rule.span.line)
            styles.update(dict.fromkeys(range(rule.span.line, end), _style(rule)))
    lines = lines_of(source)
    width = len(str(len(lines)))
    shown = [
        f'<span class="{styles.get(number, "")}">{number:>{width}}  {text(line)}</span>'
        for number, line in enumerate(lines[:MAX_LINES], 1)
    ]
    rest = f"<p class=quiet>{len(lines) - MAX_LINES:,} more lines</p>" if len(lines) > MAX_LINES else ""
    return f"<h{level}>{text(file)}</h{level}><pre>{''.join(shown)}</pre>{rest}"
