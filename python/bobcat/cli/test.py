"""`bobcat test`: run the tests of policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import click

from bobcat.cli.exit_codes import FINDINGS, USAGE
from bobcat.cli.failures import reason_of
from bobcat.cli.options import FiniteRange, format_option_of
from bobcat.cli.test_report import Report, show_case, show_errors
from bobcat.cli.test_update import update

if TYPE_CHECKING:
    from bobcat.testing.suites.coverage import CoverageRecorder
    from bobcat.testing.suites.session import Collected, Selected

NOTHING_COLLECTED = 5
COVERAGE_FORMATS = ("text", "html", "json")
_ARGUMENTS = "bobcat.test.arguments"


class _TestCommand(click.Command):
    """A command whose option `--coverage` may stand without a value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given: list[str] = []
        for index, word in enumerate(args):
            given.append(word)
            if word == "--coverage" and args[index + 1 : index + 2] not in ([kind] for kind in COVERAGE_FORMATS):
                given.append("text")
        ctx.meta[_ARGUMENTS] = [word for word in given if word != "--watch"]
        return super().parse_args(ctx, given)


@dataclass(frozen=True, slots=True)
class Selection:
    """The options that choose suites and cases."""

    paths: tuple[str, ...]
    expression: str | None
    tags: tuple[str, ...]
    policy: str | None


@click.command("test", cls=_TestCommand)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option("-k", "expression", metavar="EXPR", help="Run the cases whose names match: words, `and`, `or`, `not`.")
@click.option("-t", "--tag", "tags", metavar="TAG", multiple=True, help="Run the cases with this tag; repeatable.")
@click.option("-x", "--exitfirst", "first_failure", is_flag=True, help="End at the first failure.")
@click.option("--policy", metavar="POLICY", type=click.Path(), help="Test this policy in place of that of each suite.")
@click.option("--update", "updates", is_flag=True, help="Write expectations into cases that have none; asks first.")
@click.option("--yes", is_flag=True, help="With --update: write without the question.")
@click.option("--watch", "watching", is_flag=True, help="Run again whenever a file changes.")
@click.option(
    "--coverage",
    metavar="[text|html|json]",
    type=click.Choice(COVERAGE_FORMATS),
    help="Report the rules and clauses that the cases reach.",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="The file of the coverage.")
@click.option("--fail-under", type=FiniteRange(0, 100), metavar="N", help="Exit with 1 below N percent coverage.")
@click.option("--junit", "junit_file", metavar="FILE", type=click.Path(dir_okay=False), help="Write JUnit XML.")
@click.option("-v", "--verbose", is_flag=True, help="Show a line for each case.")
@format_option_of("text", "json", "github")
def test(
    paths: tuple[str, ...],
    *,
    expression: str | None,
    tags: tuple[str, ...],
    first_failure: bool,
    policy: str | None,
    updates: bool,
    yes: bool,
    watching: bool,
    coverage: str | None,
    output: str | None,
    fail_under: float | None,
    junit_file: str | None,
    verbose: bool,
    output_format: str,
) -> int:
    """Run the tests of policies: `*.policytest.yaml` files, and those below directories (default: this one).

    Exits with 0 if all cases pass, with 1 if one fails, with 2 if a suite, a policy or the command line has an error,
    and with 5 without a case.

    Example: bobcat test -k payments -x
    """
    from bobcat.testing.suites.session import run

    _check_options(updates=updates, yes=yes, watching=watching, coverage=coverage, output=output, fail_under=fail_under)
    selection = Selection(paths or (".",), expression, tags, policy)
    if watching:
        from bobcat.cli.watch import watch

        watch(click.get_current_context().meta[_ARGUMENTS], selection.paths, policy)
    collected = _collected(selection)
    if collected.errors:
        show_errors(collected, output_format)
        return USAGE
    selected = _selected(collected, selection)
    recorder = _recorder(selected) if coverage is not None or fail_under is not None else None
    progress = show_case if verbose and output_format == "text" else None
    result = run(selected, first_failure=first_failure and not updates, observe=recorder, progress=progress)
    if updates:
        result = update(collected, result, yes=yes)
    report = Report(result, [] if recorder is None else recorder.reports(), coverage or "text", output)
    report.show(output_format, junit_file)
    if not selected.cases:
        return NOTHING_COLLECTED
    return FINDINGS if result.failed or (fail_under is not None and not report.covers(fail_under)) else 0


def _check_options(
    *, updates: bool, yes: bool, watching: bool, coverage: str | None, output: str | None, fail_under: float | None
) -> None:
    if yes and not updates:
        _usage("`--yes` needs `--update`")
    if watching and updates:
        _usage("`--watch` and `--update` do not go together")
    if output is not None and coverage is None and fail_under is None:
        _usage("`-o` is the file of the coverage; it needs `--coverage`")


def _collected(selection: Selection) -> Collected:
    from bobcat.testing.suites.session import collect

    try:
        return collect(selection.paths, policy=selection.policy)
    except OSError as error:
        _usage(f"cannot read `{error.filename}`: {reason_of(error)}")


def _selected(collected: Collected, selection: Selection) -> Selected:
    from bobcat.testing.suites.select import BadExpression, selector
    from bobcat.testing.suites.session import select

    try:
        expression = None if selection.expression is None else selector(selection.expression)
    except BadExpression as error:
        _usage(f"`-k`: {error}")
    return select(collected, expression, selection.tags)


def _recorder(selected: Selected) -> CoverageRecorder:
    """Return the recorder of coverage for the policies of the selected cases."""
    from bobcat.testing.suites.coverage import CoverageRecorder
    from bobcat.testing.suites.subjects import policy_path

    recorder = CoverageRecorder()
    for suite, _ in selected.cases:
        recorder.add(suite.subject.policy, policy_path(suite.suite))
    return recorder


def _usage(message: str) -> NoReturn:
    raise click.UsageError(message)
