"""Coverage of policies as one self-contained HTML page: no script, no network, all user text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from bobcat.diagnostics.render import lines_of
from bobcat.testing.suites.coverage import OUTCOMES, ClauseCoverage, PolicyCoverage, RuleCoverage, percent
from bobcat.testing.suites.coverage_reports import total_percent
from bobcat.text.display import safe_text

MAX_LINES = 20_000
"""Source lines of one policy on the page."""

_STYLE = """
:root { color-scheme: light dark; --good: #1a7f37; --bad: #b3261e; --part: #9a6700; --quiet: #59636e; --line: #d8dee4; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #1f2328; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .75rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.n { text-align: right; } code { font-size: .9em; overflow-wrap: anywhere; }
.rule td { font-weight: 600; padding-top: .7rem; } .clause td:first-child { padding-left: 1.25rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .part { color: var(--part); } .quiet { color: var(--quiet); }
pre { font-size: .85em; line-height: 1.45; overflow-x: auto; border: 1px solid var(--line); padding: .5rem 0; }
pre span { display: block; padding: 0 .75rem; border-left: .3rem solid transparent; }
pre .good { border-color: var(--good); color: inherit; } pre .bad { border-color: var(--bad); color: inherit; }
pre .part { border-color: var(--part); color: inherit; }
@media (prefers-color-scheme: dark) {
  :root { --good: #56d364; --bad: #ff7b72; --part: #d29922; --quiet: #9198a1; --line: #30363d; }
  body { color: #e6edf3; background: #0d1117; } }
@media print { body { max-width: none; } pre { white-space: pre-wrap; } }
"""


def coverage_page(policies: Sequence[PolicyCoverage]) -> str:
    """Return the whole page."""
    parts = [f"<h1>Policy coverage: {total_percent(policies):g}%</h1>", _legend()]
    for policy in policies:
        parts.extend(_policy(policy))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Policy coverage</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _legend() -> str:
    return (
        "<p class=quiet>The number of decisions in which each rule and clause was true, false, absent or in error. A "
        "rule that is true fires. Covered: the rule fired; each clause was true once, and false or absent once.</p>"
    )


def _policy(policy: PolicyCoverage) -> Iterator[str]:
    share = percent(policy.covered, policy.total)
    yield f"<h2>{_text(policy.file)}: {share:g}%</h2>"
    defaults = ", ".join(f"<code>{_text(name)}</code> {count:,}" for name, count in sorted(policy.defaults.items()))
    yield (
        f"<p class=quiet>{policy.decisions:,} decisions{f'; without a rule: {defaults}' if defaults else ''}<br>"
        f"policy <code>{_text(policy.id)}</code></p>"
    )
    head = "".join(f'<th class="n">{name}</th>' for name in OUTCOMES)
    rows = "\n".join(row for rule in policy.rules for row in _rows(rule))
    yield f"<table><thead><tr><th>rule</th>{head}<th>missing</th></tr></thead><tbody>\n{rows}\n</tbody></table>"
    for file, text in sorted(policy.sources.items()):
        yield _source(file, text, policy.rules)


def _rows(rule: RuleCoverage) -> Iterator[str]:
    style = _style(rule)
    verdict = _text(rule.verdict or rule.kind)
    place = "" if rule.span is None or not rule.span.line else f" <span class=quiet>line {rule.span.line}</span>"
    counts = "".join(f'<td class="n">{rule.outcomes[outcome]:,}</td>' for outcome in OUTCOMES)
    gap = "" if rule.fired else "never fired"
    yield (
        f'<tr class="rule"><td><span class="{style}">{_text(rule.id)}</span> ({verdict}){place}</td>{counts}'
        f'<td class="bad">{gap}</td></tr>'
    )
    for clause in rule.clauses:
        yield _clause(clause)


def _clause(clause: ClauseCoverage) -> str:
    counts = "".join(f'<td class="n">{clause.outcomes[outcome]:,}</td>' for outcome in OUTCOMES)
    gap = " and ".join(clause.missing)
    return f'<tr class="clause"><td><code>{_text(clause.text)}</code></td>{counts}<td class="part">{gap}</td></tr>'


def _style(rule: RuleCoverage) -> str:
    return "bad" if not rule.fired else "good" if rule.covered == rule.total else "part"


def _source(file: str, text: str, rules: Iterable[RuleCoverage]) -> str:
    styles: dict[int, str] = {}
    for rule in rules:
        if rule.span is not None and rule.span.file == file and rule.span.line:
            end = rule.span.end_line + (rule.span.end_column > 1 or rule.span.end_line == rule.span.line)
            styles.update(dict.fromkeys(range(rule.span.line, end), _style(rule)))
    lines = lines_of(text)
    width = len(str(len(lines)))
    shown = [
        f'<span class="{styles.get(number, "")}">{number:>{width}}  {_text(line)}</span>'
        for number, line in enumerate(lines[:MAX_LINES], 1)
    ]
    rest = f"<p class=quiet>{len(lines) - MAX_LINES:,} more lines</p>" if len(lines) > MAX_LINES else ""
    return f"<h3>{_text(file)}</h3><pre>{''.join(shown)}</pre>{rest}"


def _text(text: str) -> str:
    """Escape untrusted text for HTML."""
    return escape(safe_text(text))
