"""`bobcat dead`: rules that decide no call, and clauses that change no decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.analysis_options import analysis_progress, budget_option, exits_unreadable
from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.inputs import open_policy
from bobcat.cli.options import bundle_options, format_option_of, policy_argument, profile_option, python_rule_option
from bobcat.cli.output import echo_json, echo_line, write_json
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.analysis import DeadParts


@click.command()
@policy_argument
@click.option("--no-clauses", is_flag=True, help="Rules only, without the clauses that change no decision.")
@budget_option
@profile_option
@python_rule_option
@bundle_options
@format_option_of("text", "json", "sarif")
@exits_unreadable
def dead(
    policy: str,
    *,
    no_clauses: bool,
    budget: float | None,
    profile: Any,  # Any: one of the choices
    python_rules: tuple[str, ...],
    output_format: str,
) -> int:
    """List the rules of POLICY that decide no call, each with the rules that take its calls, and other dead parts.

    What is listed is proved. Exits with 1 if something is listed, with 3 if POLICY cannot be read, else with 0.

    \b
    Example: bobcat dead policy.yaml --format sarif
    """
    from bobcat.analysis import dead as ask
    from bobcat.analysis.findings import dead_sarif

    subject = open_policy(policy, profile, python_rules, shown_only=True)
    with analysis_progress() as progress:
        found = ask(subject, clauses=not no_clauses, budget=budget, progress=progress)
    match output_format:
        case "json":
            write_json({"policy": policy, **found.to_json()})
        case "sarif":
            echo_json(dead_sarif(found, policy))
        case _:
            for line in _lines(policy, found):
                echo_line(line)
    return FINDINGS if found.found else 0


def _lines(policy: str, found: DeadParts) -> Iterator[str]:
    from bobcat.analysis.findings import dead_findings
    from bobcat.analysis.summary import reason_text, rule_text
    from bobcat.diagnostics.render import place

    unknown = f", {len(found.unknown)} unknown" if found.unknown else ""
    yield f"{safe_text(policy)}: {found.found or 'no'} dead part{'s' * (found.found != 1)}{unknown}"
    for item in dead_findings(found):
        where = "" if item.span is None else f"   {safe_text(place(item.span))}"
        yield f"  {safe_text(item.message)}{where}"
    for undecided in found.unknown:
        yield f"  unknown: {rule_text(undecided.rule)}"
        yield from (f"    {reason_text(reason)}" for reason in undecided.reasons)
