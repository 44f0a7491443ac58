"""`bobcat diff`: the calls that two policies decide differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.analysis_options import analysis_progress, budget_option, exits_unreadable
from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.inputs import Profile, include_root, open_policy, variables
from bobcat.cli.options import bundle_checks, bundle_options, format_option_of, profile_option, python_rule_option
from bobcat.cli.output import echo_json, echo_line, write_json
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.analysis import Diff
    from bobcat.analysis.engine import Effort
    from bobcat.bundle import Policy
    from bobcat.cli.recorded_changes import RecordedCalls

FAIL_ON = ("loosening", "any")


@dataclass(frozen=True, slots=True)
class Compared:
    """Two policies by the names that are shown, their difference, and the file of findings without a place."""

    old: str
    new: str
    found: Diff
    file: str


@click.command()
@click.argument("policies", metavar="OLD NEW | --git A...B [PATH]...", nargs=-1, type=click.Path())
@click.option(
    "--git",
    "revisions",
    metavar="A...B",
    help="Compare the policies that differ between two revisions, from their merge base; `A..B`: from A.",
)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="Exit with 1 if a call may be permitted more, or if any may be decided differently.",
)
@click.option(
    "--traffic",
    "traffic",
    metavar="LOG",
    multiple=True,
    type=click.Path(),
    help="Count recorded calls: a log as for `replay`, or requests, one on each line; repeatable.",
)
@budget_option
@profile_option
@python_rule_option
@bundle_options
@format_option_of("text", "json", "markdown", "sarif")
@exits_unreadable
def diff(
    policies: tuple[str, ...],
    *,
    revisions: str | None,
    fail_on: str | None,
    traffic: tuple[str, ...],
    budget: float | None,
    profile: Any,  # Any: one of the choices
    python_rules: tuple[str, ...],
    output_format: str,
) -> int:
    """Show the calls that OLD and NEW decide differently, those that become permitted first, with one call each.

    "decide every call alike" is a proof. Exits with 0; with --fail-on, with 1 if such a call was found or could not be
    excluded. A policy that cannot be read exits with 3.

    \b
    Example: bobcat diff old.yaml new.yaml --fail-on loosening
             bobcat diff --git main...HEAD policies --format markdown
    """
    from bobcat.analysis.engine import Effort
    from bobcat.cli.recorded_changes import RecordedCalls

    calls = RecordedCalls(traffic) if traffic else None
    effort = Effort.within(budget)
    if revisions is not None:
        _refuse_with_revisions(python_rules)
        compared = _of_revisions(revisions, policies, profile, calls, effort)
    else:
        if len(policies) != 2:
            raise click.UsageError("give two policies, OLD and NEW, or `--git A...B`")
        old, new = (open_policy(path, profile, python_rules, shown_only=True) for path in policies)
        compared = [Compared(*policies, _compare(old, new, calls, effort), policies[1])]
    _show(compared, output_format)
    return FINDINGS if fail_on is not None and any(_fails(item.found, fail_on) for item in compared) else 0


def _of_revisions(
    revisions: str, paths: Sequence[str], profile: Profile, calls: RecordedCalls | None, effort: Effort
) -> list[Compared]:
    from bobcat.analysis import Diff, Reason
    from bobcat.cli.git_policies import Compilation, changed_modules, changed_policies, revisions_of

    given = revisions_of(revisions)
    options = Compilation(profile, variables(profile))
    compared = []
    with changed_policies(given, paths) as changed:
        for item in changed:
            old, new = item.load((given.old_name, given.new_name), options)
            names = [
                f"{name}:{path}" if path is not None else f"{name} (no such file, which permits nothing)"
                for name, path in ((given.old_name, item.old), (given.new_name, item.new))
            ]
            found = _compare(old, new, calls, effort)
            compared.append(Compared(names[0], names[1], found, item.new or item.old or ""))
    for path in changed_modules(given, paths):
        reason = Reason("module", "a module of rules is code, which is not run for a revision; compare two checkouts")
        names = [f"{name}:{path}" for name in (given.old_name, given.new_name)]
        compared.append(Compared(names[0], names[1], Diff((), (reason,), False), path))
    return compared


def _refuse_with_revisions(python_rules: Sequence[str]) -> None:
    """Refuse options that would have no effect on the policies of two revisions."""
    given = {"--python-rule": bool(python_rules), "--include-root": include_root() is not None}
    ignored = next((name for name, is_given in given.items() if is_given), bundle_checks().given())
    if ignored is not None:
        raise click.UsageError(f"`{ignored}` and `--git` exclude each other")


def _compare(old: Policy, new: Policy, calls: RecordedCalls | None, effort: Effort) -> Diff:
    from bobcat.analysis import diff as compare
    from bobcat.analysis.difference import counted

    with analysis_progress() as progress:
        found = compare(old, new, budget=effort.left, progress=progress)
    return found if calls is None else counted(found, *calls.count(old, new))


def _fails(found: Diff, fail_on: str) -> bool:
    return found.may_loosen if fail_on == "loosening" else found.may_differ


def _show(compared: Sequence[Compared], output_format: str) -> None:
    from bobcat.analysis.findings import difference_sarif
    from bobcat.analysis.summary import markdown_lines

    match output_format:
        case "json":
            write_json([{"old": item.old, "new": item.new, **item.found.to_json()} for item in compared])
        case "sarif":
            echo_json(difference_sarif((item.found, item.file) for item in compared))
        case "markdown":
            for item in compared:
                for line in markdown_lines(item.found, item.old, item.new):
                    click.echo(line)
                click.echo()
            if not compared:
                click.echo("No policy differs.")
        case _:
            _show_text(compared)


def _show_text(compared: Sequence[Compared]) -> None:
    from bobcat.analysis.summary import SAME, counts_line, region_lines

    for number, item in enumerate(compared):
        if number:
            click.echo()
        echo_line(f"{safe_text(item.old)} -> {safe_text(item.new)}")
        echo_line(SAME if item.found.same else counts_line(item.found))
        for line in region_lines(item.found):
            echo_line(line)
        if item.found.traffic is not None:
            traffic = item.found.traffic
            echo_line(f"{traffic.changed:,} of {traffic.calls:,} recorded calls are decided differently")
    if not compared:
        click.echo("no policy differs")
