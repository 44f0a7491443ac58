"""`bobcat bench`: time a policy's decisions, and detect regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError
from bobcat.cli.inputs import STDIN, PolicySource, asking, policy_command, read_bytes
from bobcat.cli.options import FiniteRange
from bobcat.cli.output import console, wants_colour, write_file, write_json
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from rich.console import Console

    from bobcat.benchmark import BenchmarkReport, Calls
    from bobcat.bundle.model import Policy

TOP = 10
BAR = 40


@policy_command(
    "bench",
    click.option(
        "--requests",
        "requests_file",
        metavar="FILE",
        type=click.Path(allow_dash=True),
        help="The requests to decide, as JSON Lines; `-` is standard input. By default they are generated from the "
        "policy.",
    ),
    click.option("--baseline", metavar="FILE", type=click.Path(), help="A result that --save wrote, to compare with."),
    click.option(
        "--fail-over",
        metavar="RATIO",
        type=FiniteRange(min=0, min_open=True),
        help="Exit with 1 when decisions take more than RATIO times the baseline's reference steps (1.10).",
    ),
    click.option(
        "--save", metavar="FILE", type=click.Path(), help="Write the result to this file, unless it is a regression."
    ),
    click.option(
        "--html", metavar="FILE", type=click.Path(), help="Write a report to this file, as one self-contained page."
    ),
    click.option(
        "--seconds",
        metavar="S",
        type=FiniteRange(min=0.1, max=3600),
        default=2.0,
        show_default=True,
        help="Approximate duration of the measurement.",
    ),
)
def bench(
    source: PolicySource,
    *,
    requests_file: str | None,
    baseline: str | None,
    fail_over: float | None,
    save: str | None,
    html: str | None,
    seconds: float,
    output_format: str,
) -> int:
    """Time the decisions of POLICY, a source or a bundle, against a reference loop in the same run.

    Exits with 1 if decisions have become slower than --fail-over allows. Results are compared in steps of the loop,
    not in seconds, so that a slow or busy machine has no effect.
    """
    from bobcat.benchmark import as_json, read_baseline
    from bobcat.benchmark import bench as measure
    from bobcat.benchmark.baseline import BaselineError
    from bobcat.benchmark.page import page

    if source.path == STDIN and requests_file == STDIN:
        raise click.UsageError("standard input can be the policy or the requests, not both")
    if fail_over is not None and baseline is None:
        raise click.UsageError("`--fail-over` needs `--baseline`")
    before = None
    if baseline is not None:
        try:
            before = read_baseline(*read_bytes(baseline))
        except BaselineError as error:
            raise InputError(str(error)) from error
    bundle = source.open()
    with asking():
        calls = _calls(bundle, requests_file)

    def progress(text: str) -> None:
        click.echo(f"{safe_text(text)} ...", err=True)

    with asking():
        report = measure(bundle, calls, seconds=seconds, baseline=before, fail_over=fail_over, progress=progress)
    failed = report.comparison is not None and report.comparison.regression
    if html is not None:
        write_file(html, page(report, f"bobcat bench: {source.path}"))
    if save is not None and not failed:
        write_file(save, as_json(report))
    if output_format == "json":
        write_json(report.to_json())
    else:
        _show(report)
    if report.comparison is not None:
        for note in report.comparison.notes:
            click.echo(f"note: {safe_text(note)}", err=True)
    if save is not None and failed:
        click.echo(f"note: `{safe_text(save)}` is not written: the result is a regression", err=True)
    return FINDINGS if failed else 0


def _calls(bundle: Policy, requests_file: str | None) -> Calls:
    from bobcat.benchmark import directed_calls, read_calls

    return directed_calls(bundle) if requests_file is None else read_calls(*read_bytes(requests_file))


def _show(report: BenchmarkReport) -> None:
    from bobcat.benchmark.page import counted, nanoseconds

    out, figures, subject = console(), report.decisions, report.subject
    requests, rules = counted(subject.requests, "request"), counted(subject.rules, "rule")
    out.print(f"{requests} ({safe_text(subject.source)}), {rules}, {figures.rounds} rounds\n")
    out.print(f"  mean  {nanoseconds(figures.mean):>10}   {figures.per_second:,.0f} decisions per second")
    out.print(f"  p50   {nanoseconds(figures.p50):>10}")
    out.print(f"  p99   {nanoseconds(figures.p99):>10}")
    out.print(f"  {figures.relative:.3f} steps of the reference loop, spread {figures.spread:.1%}\n")
    _show_histogram(out, report)
    _show_costs(out, report)
    _show_comparison(report)


def _show_histogram(out: Console, report: BenchmarkReport) -> None:
    from bobcat.benchmark.page import nanoseconds

    most = max(bucket.count for bucket in report.histogram)
    # A single outlier, such as an interrupt, would fill a screen with empty lines.
    shown = [bucket for bucket in report.histogram if bucket.count * 1_000 >= most]
    rest = sum(bucket.count for bucket in report.histogram) - sum(bucket.count for bucket in shown)
    width = max(1, min(BAR, out.width - len(f"  {'':>10}    {most:,}")))
    for bucket in shown:
        bar = "█" * max(1, round(width * bucket.count / most))
        out.print(f"  {nanoseconds(bucket.low):>10}  {bar:<{width}}  {bucket.count:,}")
    if rest:
        out.print(f"  {'elsewhere':>10}  {'':<{width}}  {rest:,}")
    out.print()


def _show_costs(out: Console, report: BenchmarkReport) -> None:
    from rich.table import Table
    from rich.text import Text

    from bobcat.benchmark.page import nanoseconds

    def table(*columns: str) -> Table:
        made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for column in columns:
            figure = column in ("requests", "mean", "share", "alone", "cost")
            made.add_column(column, justify="right" if figure else "left", no_wrap=figure, overflow="fold")
        return made

    rules = table("decided by", "requests", "mean", "share", "alone")
    for cost in report.rules[:TOP]:
        alone = "" if cost.alone is None else nanoseconds(cost.alone)
        rules.add_row(
            Text(safe_text(cost.rule)), f"{cost.requests:,}", nanoseconds(cost.mean), f"{cost.share:.1%}", alone
        )
    out.print(rules)
    _more(out, len(report.rules) - TOP, "more")
    out.print()
    clauses = table("clause", "cost", "place")
    for part in report.clauses[:TOP]:
        place = part.place or part.rule
        clauses.add_row(Text(safe_text(part.clause)), nanoseconds(part.cost), Text(safe_text(place), style="dim"))
    if report.clauses:
        out.print(clauses)
        _more(out, len(report.clauses) - TOP, "cheaper")
        _more(out, report.clauses_left_out, "not measured: out of time; see --seconds")
        out.print()
    slowest = table("slowest request", "tool", "decided by", "mean")
    for call in report.slowest[:TOP]:
        slowest.add_row(str(call.place), Text(safe_name(call.tool)), Text(safe_text(call.rule)), nanoseconds(call.time))
    out.print(slowest)


def _more(out: Console, count: int, what: str) -> None:
    if count > 0:
        out.print(f"{count:,} {what}", style="dim")


def _show_comparison(report: BenchmarkReport) -> None:
    found = report.comparison
    if found is None:
        return
    limit = "" if found.fail_over is None else f" (allowed {found.fail_over:.2f})"
    word = "slower than allowed" if found.regression else "compared with the baseline"
    click.echo()
    click.secho(
        f"{word}: {found.change:.2f} times its {found.relative:.3f} steps{limit}",
        fg="red" if found.regression else "green",
        color=wants_colour(),
    )
