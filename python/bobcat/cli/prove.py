"""`bobcat prove`: invariants of a policy, each proved or violated by a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.analysis_options import UNKNOWN, analysis_progress, budget_option, exits_unreadable
from bobcat.cli.exit_codes import FINDINGS, USAGE
from bobcat.cli.inputs import open_policy, read_bytes
from bobcat.cli.options import bundle_options, format_option_of, profile_option, python_rule_option
from bobcat.cli.output import echo_json, echo_line, show_diagnostics, write_json
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from bobcat.analysis import Invariants, Proved
    from bobcat.bundle import Policy


@click.command()
@click.argument("paths", metavar="POLICY INVARIANTS | --child SUB --parent MAIN", nargs=-1, type=click.Path())
@click.option("--child", metavar="SUB", type=click.Path(), help="Prove that this policy permits no call more ...")
@click.option("--parent", metavar="MAIN", type=click.Path(), help="... than this one.")
@budget_option
@profile_option
@python_rule_option
@bundle_options
@format_option_of("text", "json", "sarif")
@exits_unreadable
def prove(
    paths: tuple[str, ...],
    *,
    child: str | None,
    parent: str | None,
    budget: float | None,
    profile: Any,  # Any: one of the choices
    python_rules: tuple[str, ...],
    output_format: str,
) -> int:
    """Prove the invariants in the file INVARIANTS of POLICY, or show a call that violates each one.

    Exits with 0 if all are proved, with 1 if one is violated, with 5 if one is unknown and no other is violated, with
    2 for a mistake in INVARIANTS, and with 3 if POLICY cannot be read.

    \b
    Example: bobcat prove policy.yaml invariants.yaml
             bobcat prove --child helper.yaml --parent policy.yaml
    """
    from bobcat.analysis import prove as ask
    from bobcat.analysis.invariants import within

    if (child is None) != (parent is None) or (child is not None and paths) or (child is None and len(paths) != 2):
        raise click.UsageError("give POLICY and INVARIANTS, or `--child SUB --parent MAIN`")
    subject, other = (paths[0], paths[1]) if child is None or parent is None else (child, parent)
    policy = open_policy(subject, profile, python_rules, shown_only=True)
    if parent is None:
        invariants = _read(other)
        if invariants is None:
            return USAGE
    else:
        invariants = within(open_policy(parent, profile, python_rules, shown_only=True), parent)
    with analysis_progress() as progress:
        found = ask(policy, invariants, budget=budget, progress=progress)
    _show(found, subject, policy, output_format)
    states = [_state(item) for item in found]
    return FINDINGS if "violated" in states else UNKNOWN if "unknown" in states else 0


def _read(path: str) -> Invariants | None:
    """Read the invariants; their errors are shown, and give None."""
    from bobcat.analysis import read_invariants
    from bobcat.cli.options import wants_json
    from bobcat.diagnostics.render import render_json
    from bobcat.frontend.yaml.encoding import decode

    data, name = read_bytes(path)
    text, bad = decode(data, name)
    found = read_invariants(text, name)
    diagnostics = found.diagnostics if bad is None else (bad,)
    if diagnostics and wants_json():
        echo_json(render_json(diagnostics))
    elif diagnostics:
        show_diagnostics(diagnostics, {name: text}, err=True)
    return None if bad is not None else found.invariants


def _state(item: Proved) -> str:
    from bobcat.analysis import Proof, Witness

    match item.answer:
        case Proof():
            return "proved"
        case Witness():
            return "violated"
        case _:
            return "unknown"


def _show(found: Sequence[Proved], name: str, policy: Policy, output_format: str) -> None:
    from bobcat.analysis.findings import proof_sarif

    match output_format:
        case "json":
            write_json({"policy": name, "invariants": [item.to_json() for item in found]})
        case "sarif":
            echo_json(proof_sarif(found, policy, name))
        case _:
            states = [_state(item) for item in found]
            counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
            echo_line(f"{safe_text(name)}: {counts or 'no invariants'}")
            for item, state in zip(found, states, strict=True):
                for line in _lines(item, state, policy):
                    echo_line(line)


def _lines(item: Proved, state: str, policy: Policy) -> Iterator[str]:
    from bobcat.analysis import Unknown, Witness
    from bobcat.analysis.calls import call_text
    from bobcat.analysis.invariants import Within
    from bobcat.analysis.summary import decision_text, reason_text
    from bobcat.analysis.terms import looser_text
    from bobcat.diagnostics.render import place

    invariant = item.invariant
    reason = f": {safe_text(invariant.reason)}" if invariant.reason and state != "proved" else ""
    where = f"   {safe_text(place(invariant.span))}" if invariant.span is not None and state != "proved" else ""
    yield f"{state:<9} {safe_name(invariant.id)}{reason}{where}"
    match item.answer:
        case Witness(request, decisions):
            yield f"    call  {call_text(request)}"
            yield f"    {decision_text(policy, decisions[0])}"
            if isinstance(invariant.claim, Within):
                yield f"    {safe_text(invariant.claim.name)}: {decision_text(invariant.claim.envelope, decisions[1])}"
                if decisions[0].verdict is decisions[1].verdict:
                    yield f"    {safe_text(looser_text(decisions[1], decisions[0]))}"
        case Unknown(reasons):
            yield from (f"    {reason_text(reason)}" for reason in reasons)
        case _:
            pass
