"""A report as one self-contained HTML page: no script, no network, all user text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bobcat.benchmark.report import BenchmarkReport
from bobcat.pages.html import cell, code, document, table, text

ROWS = 200
"""Maximum rules, and maximum clauses, on the page."""


def page(report: BenchmarkReport, title: str) -> str:
    """Return the whole page."""
    subject, figures, machine = report.subject, report.decisions, report.machine
    parts = [
        f"<p>{counted(subject.rules, 'rule')} ({text(subject.profile)}), {counted(subject.requests, 'request')} "
        f"({text(subject.source)}), {figures.rounds} rounds.<br>"
        f"<span class=quiet>policy <code>{text(subject.policy)}</code><br>"
        f"Bobcat {text(report.bobcat)}, {text(machine.python)}, {text(machine.processor)}, "
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
                    code(cost.rule),
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
                    code(cost.clause),
                    code(cost.rule),
                    text(cost.place),
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
                (str(call.place), code(call.tool), text(call.verdict), code(call.rule), nanoseconds(call.time))
                for call in report.slowest
            ],
        ),
    ]
    return document(title, parts, styled=True)


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
        yield f"<p class=quiet>{text(note)}</p>"


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
    kinds = [kind for _, kind in columns]
    return table(columns, (f"<tr>{''.join(map(cell, row, kinds))}</tr>" for row in rows))
