"""`bobcat surface`: the verdicts that calls of each tool can get, and permissions that no recorded call uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from bobcat.cli.analysis_options import analysis_progress, budget_option, exits_unreadable
from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.inputs import PolicySource, policy_command
from bobcat.cli.output import echo_json, echo_line, write_json
from bobcat.text.display import safe_name

if TYPE_CHECKING:
    from bobcat.analysis import Permission, Surface


@policy_command(
    "surface",
    click.option("--unused", is_flag=True, help="Only permissions that no call of --traffic uses."),
    click.option(
        "--traffic",
        metavar="LOG",
        multiple=True,
        type=click.Path(),
        help="Count recorded calls: a log as for `replay`, or requests, one on each line; repeatable.",
    ),
    budget_option,
    formats=("text", "json", "sarif"),
)
@exits_unreadable
def surface(
    source: PolicySource, *, unused: bool, traffic: tuple[str, ...], budget: float | None, output_format: str
) -> int:
    """Show the verdicts that calls of each tool can get under POLICY, each with a call and the rules that give it.

    A verdict that is not listed is proved impossible. Exits with 0; with --unused, with 1 if something is listed.
    SARIF is about --unused.

    \b
    Example: bobcat surface policy.yaml
             bobcat surface policy.yaml --unused --traffic decisions.jsonl
    """
    from bobcat.analysis import surface as ask
    from bobcat.analysis.findings import unused_sarif
    from bobcat.cli.recorded_changes import recorded_requests

    if unused and not traffic:
        raise click.UsageError("`--unused` needs `--traffic`")
    if output_format == "sarif" and not unused:
        raise click.UsageError("`--format sarif` needs `--unused`: what a policy permits is no finding")
    policy = source.open(shown_only=True)
    calls = recorded_requests(traffic) if traffic else None
    with analysis_progress() as progress:
        found = ask(policy, traffic=calls, budget=budget, progress=progress)
    rows = found.unused if unused else found.rows
    match output_format:
        case "json":
            write_json({"policy": source.path, **replace(found, rows=rows).to_json()})
        case "sarif":
            echo_json(unused_sarif(found, source.path))
        case _:
            for line in (*_lines(rows, unused=unused), *_unknown(found)):
                echo_line(line)
    return FINDINGS if unused and (rows or found.reasons) else 0


def _unknown(found: Surface) -> Iterator[str]:
    """Yield the reasons for which tools are not listed."""
    from bobcat.analysis.summary import reason_text

    if found.reasons:
        yield "unknown"
        yield from (f"  {reason_text(reason)}" for reason in found.reasons)


def _lines(rows: Sequence[Permission], *, unused: bool) -> Iterator[str]:
    from bobcat.analysis import Witness
    from bobcat.analysis.calls import call_text
    from bobcat.analysis.summary import giver_text, reason_text

    if unused:
        yield f"{len(rows) or 'no'} permission{'s' * (len(rows) != 1)} that no recorded call uses"
    tools: dict[str | None, list[Permission]] = {}
    for row in rows:
        tools.setdefault(row.tool, []).append(row)
    for tool, own in tools.items():
        yield "any other tool" if tool is None else safe_name(tool)
        for row in own:
            maybe = ", ".join(giver_text(row, rule) for rule in row.unknown_rules)
            rules = ", ".join(giver_text(row, rule) for rule in row.rules) + (
                f", perhaps by {maybe}" if row.rules and maybe else ""
            )
            recorded = "" if row.recorded is None else f"   {row.recorded:,} recorded"
            if isinstance(row.answer, Witness):
                yield f"  {row.verdict:<16} by {rules}{recorded}"
                if row.permits:
                    yield f"    call  {call_text(row.answer.request)}"
            else:
                yield f"  {row.verdict:<16} unknown, perhaps by {maybe or rules or 'other rules'}{recorded}"
                yield from (f"    {reason_text(reason)}" for reason in row.answer.reasons)
