"""`bobcat can`: a call with a verdict, or the proof that no such call exists."""

from __future__ import annotations

import click

from bobcat.cli.analysis_options import (
    VERDICTS,
    analysis_progress,
    answer_code,
    budget_option,
    exits_unreadable,
    note_unnamed_tool,
    tool_name,
)
from bobcat.cli.exit_codes import USAGE
from bobcat.cli.failures import report_failure
from bobcat.cli.inputs import PolicySource, policy_command
from bobcat.cli.output import echo_line, write_json

PROVED = 1


@policy_command(
    "can",
    click.option("--tool", callback=tool_name, metavar="NAME", help="Calls of this tool only."),
    click.option("--when", metavar="MATCH", help="Calls that match, in YAML: `args.path.starts_with: /etc`."),
    click.option(
        "--verdict",
        "verdicts",
        multiple=True,
        type=click.Choice(VERDICTS),
        default=("allow",),
        show_default=True,
        help="The verdict; repeatable for one of several.",
    ),
    budget_option,
)
@exits_unreadable
def can(
    source: PolicySource,
    *,
    tool: str | None,
    when: str | None,
    verdicts: tuple[str, ...],
    budget: float | None,
    output_format: str,
) -> int:
    """Find a call that POLICY gives a verdict, or prove that no such call exists.

    Exits with 0 for a call, with 1 for a proof, with 5 if the answer is unknown, with 2 for a mistake in the command
    line or in MATCH, and with 3 if POLICY cannot be read.

    \b
    Example: bobcat can policy.yaml --tool delete --when 'context.environment: prod'
    """
    from bobcat.analysis import Proof, Witness
    from bobcat.analysis import can as ask
    from bobcat.analysis.calls import call_text
    from bobcat.analysis.summary import decision_text, reason_text
    from bobcat.errors import PolicyCompileError

    policy = source.open(shown_only=True)
    note_unnamed_tool(policy, tool)
    try:
        with analysis_progress() as progress:
            answer = ask(policy, tool=tool, when=when, verdict=verdicts, budget=budget, progress=progress)
    except PolicyCompileError as error:
        report_failure(error)
        return USAGE
    if output_format == "json":
        write_json(answer.to_json())
        return answer_code(answer, witness=0, proof=PROVED)
    match answer:
        case Witness():
            echo_line(f"yes: {call_text(answer.request)}")
            echo_line(decision_text(policy, answer.decision))
        case Proof():
            echo_line(f"no: proved, no call gets {' or '.join(verdicts)}")
        case _:
            echo_line("unknown")
            for reason in answer.reasons:
                echo_line(f"  {reason_text(reason)}")
    return answer_code(answer, witness=0, proof=PROVED)
