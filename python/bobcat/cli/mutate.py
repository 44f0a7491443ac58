"""`bobcat mutate`: change policies a little, and show the changes that their tests do not notice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from bobcat.cli.exit_codes import FINDINGS, USAGE
from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.options import FiniteRange, format_option
from bobcat.cli.output import write_json
from bobcat.cli.test import NOTHING_COLLECTED
from bobcat.cli.test_report import show_errors

if TYPE_CHECKING:
    from bobcat.testing.mutation.campaign import Campaign, CampaignResult
    from bobcat.testing.suites.session import Selected


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option("-k", "rule", metavar="RULE", help="Change only the rule with this id.")
@click.option(
    "--policy", metavar="POLICY", type=click.Path(), help="Change this policy in place of that of each suite."
)
@click.option("--fail-under", type=FiniteRange(0, 100), metavar="N", help="Exit with 1 below a score of N percent.")
@click.option("--max-seconds", type=FiniteRange(0), metavar="S", help="End after S seconds; the rest is not run.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Use N processes (default: one for each core).")
@click.option("-v", "--verbose", is_flag=True, help="Show every change, with the case that noticed it.")
@format_option
def mutate(
    paths: tuple[str, ...],
    *,
    rule: str | None,
    policy: str | None,
    fail_under: float | None,
    max_seconds: float | None,
    jobs: int | None,
    verbose: bool,
    output_format: str,
) -> int:
    """Change policies a little, one change at a time, and run their suites: a change that no case notices survives.

    A survivor is shown with the test case that is missing. The score is the share of the changes that a case noticed,
    of all that a call can tell from the policy.

    Exits with 0 if no change survives, with 1 if one does or a case fails, with 2 if a suite, a policy or the command
    line has an error, and with 5 without a case. With `--fail-under`, a score of N is enough for 0.

    Example: bobcat mutate payments.policytest.yaml -k large-payments
    """
    from bobcat.testing.mutation.campaign import Campaign, WorkerKilled
    from bobcat.testing.mutation.report import campaign_json
    from bobcat.testing.suites.session import collect, select

    try:
        collected = collect(paths or (".",), policy=policy)
    except OSError as error:
        raise click.UsageError(f"cannot read `{error.filename}`: {reason_of(error)}") from error
    if collected.errors:
        show_errors(collected, output_format)
        return USAGE
    selected = select(collected)
    if not selected.cases:
        click.echo("no test found", err=True)
        return NOTHING_COLLECTED
    if rule is not None:
        _check_rule(selected, rule)
    campaign = Campaign(selected, rule)
    if campaign.failed:
        _refuse(campaign)
        return FINDINGS
    with _progress(campaign.total) as progress:
        try:
            result = campaign.run(jobs=jobs, max_seconds=max_seconds, progress=progress)
        except WorkerKilled as error:
            InputError(f"{error}; use fewer processes with `--jobs`").show()
            return USAGE
    if output_format == "json":
        write_json(campaign_json(result))
    else:
        _show(result, verbose=verbose)
    if fail_under is None:
        return FINDINGS if result.count("survived") else 0
    if result.score < fail_under:
        click.echo(f"score {result.score:g}% is below {fail_under:g}%", err=True)
        return FINDINGS
    return 0


def _check_rule(selected: Selected, rule: str) -> None:
    from bobcat.frontend.suggest import closest
    from bobcat.testing.mutation.mutants import name_of

    names = {name_of(item) for suite, _ in selected.cases for item in suite.subject.policy.ir.rules}
    if rule not in names:
        near = closest(rule, sorted(names))
        raise click.UsageError(f"`-k`: no policy has the rule `{rule}`" + (f"; did you mean `{near}`?" if near else ""))


def _refuse(campaign: Campaign) -> None:
    from bobcat.testing.suites.failures import place_of
    from bobcat.text.display import safe_text

    for item in campaign.failed[:10]:
        click.echo(f"FAILED  {safe_text(place_of(item))}  {safe_text(item.case.name)}", err=True)
    count = len(campaign.failed)
    click.echo(f"{count:,} case{'s' * (count != 1)} failed without a change; `bobcat test` shows why", err=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None] | None]:
    if not sys.stderr.isatty() or not total:
        yield None
        return
    with click.progressbar(length=total, label="mutants", file=sys.stderr) as bar:
        yield bar.update


def _show(result: CampaignResult, *, verbose: bool) -> None:
    from bobcat.cli.output import wants_colour
    from bobcat.testing.mutation.report import missing_cases, mutant_line, summary
    from bobcat.text.display import safe_text

    colour = wants_colour()
    for item in result.results if verbose else ():
        if item.outcome.kind != "survived":
            click.echo(mutant_line(item))
    for missing, survivors in missing_cases(result):
        for item in survivors:
            click.secho(mutant_line(item), fg="red", color=colour)
        click.echo(f"add to the cases of {safe_text(missing.file)}:")
        for line in missing.text.splitlines():
            click.echo(safe_text(line))
        click.echo()
    if result.callables:
        click.echo(f"not changed, only dropped: {', '.join(result.callables)} (Python callables)")
    click.secho(summary(result), fg="red" if result.count("survived") else "green", color=colour)
