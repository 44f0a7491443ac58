"""`bobcat holes`: calls that a restricting rule just misses, and that the policy permits more."""

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
    from bobcat.analysis import Holes


@click.command()
@policy_argument
@click.argument("rule", metavar="[RULE]", required=False)
@budget_option
@profile_option
@python_rule_option
@bundle_options
@format_option_of("text", "json", "sarif")
@exits_unreadable
def holes(
    policy: str,
    rule: str | None,
    *,
    budget: float | None,
    profile: Any,  # Any: one of the choices
    python_rules: tuple[str, ...],
    output_format: str,
) -> int:
    """Show calls that the restricting rules of POLICY just miss: another case, blanks, quotes, `..`, a default port,
    a missing value, null, another type, or a list of one.

    Each call was decided. Without one, this is no proof: `bobcat prove` gives proofs. Exits with 1 if a call is shown,
    with 3 if POLICY cannot be read, else with 0.

    \b
    Example: bobcat holes policy.yaml no-secrets
    """
    from bobcat.analysis import holes as ask
    from bobcat.analysis.findings import holes_sarif

    subject = open_policy(policy, profile, python_rules, shown_only=True)
    try:
        with analysis_progress() as progress:
            found = ask(subject, rule, budget=budget, progress=progress)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    match output_format:
        case "json":
            write_json({"policy": policy, **found.to_json()})
        case "sarif":
            echo_json(holes_sarif(found, policy))
        case _:
            for line in _lines(policy, found):
                echo_line(line)
    return FINDINGS if found.holes else 0


def _lines(policy: str, found: Holes) -> Iterator[str]:
    from bobcat.analysis.calls import call_text
    from bobcat.analysis.summary import reason_text, rule_text
    from bobcat.diagnostics.render import place

    count = len(found.holes)
    unknown = f", {len(found.unknown)} unknown" if found.unknown else ""
    yield f"{safe_text(policy)}: {count or 'no'} near miss{'es' * (count != 1)}{unknown}"
    shown = None
    for hole in found.holes:
        if (hole.rule, hole.taken) != shown:
            shown = hole.rule, hole.taken
            where = "" if hole.rule.span is None else f"   {safe_text(place(hole.rule.span))}"
            yield f"{rule_text(hole.rule)} takes {call_text(hole.taken.request)}{where}"
        kind = hole.kind.replace("_", " ")
        verdict = hole.missed.decision.verdict
        yield f"  {kind} at {safe_text(hole.path)}: {verdict} {call_text(hole.missed.request)}"
    for rule, reasons in found.unknown:
        yield f"unknown: {rule_text(rule)}"
        yield from (f"  {reason_text(reason)}" for reason in reasons)
