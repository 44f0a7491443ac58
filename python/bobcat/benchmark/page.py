"""A report as one self-contained HTML page: no script, no network, all user text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from bobcat.benchmark.report import BenchmarkReport
from bobcat.text.display import safe_text

ROWS = 200
"""Maximum rules, and maximum clauses, on the page."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1f2328; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #d8dee4; vertical-align: top; }
th.n, td.n { text-align: right; white-space: nowrap; } code { font-size: .9em; overflow-wrap: anywhere; }
.bar { background: #b35900; height: .8em; display: block; min-width: 1px; }
.bad { color: #b3261e; font-weight: 600; } .good { color: #1a7f37; font-weight: 600; } .quiet { color: #59636e; }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; } th, td { border-color: #30363d; } .quiet { color: #9198a1; }
  .bar { background: #e0913f; } .bad { color: #ff7b72; } .good { color: #56d364; }
}
"""


def page(report: BenchmarkReport, title: str) -> str:
    """Return the whole page."""
    subject, figures, machine = report.subject, report.decisions, report.machine
    parts = [
        f"<h1>{_text(title)}</h1>",
        f"<p>{counted(subject.rules, 'rule')} ({_text(subject.profile)}), {counted(subject.requests, 'request')} "
        f"({_text(subject.source)}), {figures.rounds} rounds.<br>"
        f'<span class="quiet">policy <code>{_text(subject.policy)}</code><br>'
        f"Bobcat {_text(report.bobcat)}, {_text(machine.python)}, {_text(machine.processor)}, "
        f"{machine.cores} cores</span></p>",
        *_comparison(report),
        "<h2>One decision</h2>",
        _table(
            (
                ("mean", "n"),
                ("p50", "n"),
                ("p99", "n"),
                ("decisions per second", "n"),
                ("reference steps", "n"),
                ("spread", "n"),
            ),
            [
                (
                    nanoseconds(figures.mean),
                    nanoseconds(figures.p50),
                    nanoseconds(figures.p99),
                    f"{figures.per_second:,.0f}",
                    f"{figures.relative:.3f}",
                    f"{figures.spread:.1%}",
                )
            ],
        ),
        "<h2>Single calls</h2>",
        _histogram(report),
        "<h2>Rules</h2><p class=quiet>By the rule that decides a request. Alone: what the rule costs in a program "
        "without other rules.</p>",
        _table(
            (("rule", ""), ("requests", "n"), ("mean", "n"), ("share of the time", "n"), ("alone", "n")),
            [
                (
                    _code(cost.rule),
                    f"{cost.requests:,}",
                    nanoseconds(cost.mean),
                    f"{cost.share:.1%}",
                    "" if cost.alone is None else nanoseconds(cost.alone),
                )
                for cost in report.rules[:ROWS]
            ],
        ),
        "<h2>Clauses</h2><p class=quiet>What a clause adds to a program without rules. Rules of one policy share work, "
        "so the sum is more than the cost of a decision.</p>",
        _table(
            (("clause", ""), ("first rule", ""), ("place", ""), ("rules", "n"), ("cost", "n")),
            [
                (
                    _code(cost.clause),
                    _code(cost.rule),
                    _text(cost.place),
                    f"{cost.rules:,}",
                    nanoseconds(cost.cost),
                )
                for cost in report.clauses[:ROWS]
            ],
        ),
        f"<p class=quiet>{report.clauses_left_out:,} clauses were not measured.</p>" if report.clauses_left_out else "",
        "<h2>Slowest requests</h2>",
        _table(
            (("request", "n"), ("tool", ""), ("verdict", ""), ("decided by", ""), ("time", "n")),
            [
                (str(call.place), _code(call.tool), _text(call.verdict), _code(call.rule), nanoseconds(call.time))
                for call in report.slowest
            ],
        ),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def counted(number: int, what: str) -> str:
    """`1 rule`, `1,000 rules`."""
    return f"{number:,} {what if number == 1 else what + 's'}"


def nanoseconds(value: float) -> str:
    """Format a time in a suitable unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value:.0f} ns"


def _comparison(report: BenchmarkReport) -> Iterable[str]:
    found = report.comparison
    if found is None:
        return
    word, kind = ("slower than allowed", "bad") if found.regression else ("compared", "good")
    limit = "" if found.fail_over is None else f", allowed {found.fail_over:.2f}"
    yield (
        f'<p><span class="{kind}">{word}</span>: {report.decisions.relative:.3f} reference steps, baseline '
        f"{found.relative:.3f}, change {found.change:.2f}{limit}</p>"
    )
    for note in found.notes:
        yield f"<p class=quiet>{_text(note)}</p>"


def _histogram(report: BenchmarkReport) -> str:
    most = max(bucket.count for bucket in report.histogram)
    rows = [
        (
            nanoseconds(bucket.low),
            f"{bucket.count:,}",
            f'<span class="bar" style="width:{100 * bucket.count / most:.1f}%"></span>',
        )
        for bucket in report.histogram
    ]
    return _table((("from", "n"), ("calls", "n"), ("", "wide")), rows)


def _table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML cells; a column is a head and a class."""
    widths = {"wide": ' style="width:70%"'}
    head = "".join(f'<th class="{kind}"{widths.get(kind, "")}>{name}</th>' for name, kind in columns)
    body = "\n".join(
        "<tr>"
        + "".join(f'<td class="{kind}">{cell}</td>' for cell, (_, kind) in zip(row, columns, strict=True))
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _text(text: str) -> str:
    """Escape untrusted text for HTML."""
    return escape(safe_text(text))


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"
