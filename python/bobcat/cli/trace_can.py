"""`bobcat trace-can`: a sequence of calls of a run, or the proof that no such sequence exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bobcat.cli.analysis_options import (
    UNKNOWN,
    VERDICTS,
    analysis_progress,
    budget_option,
    exits_unreadable,
    note_unnamed_tool,
    tool_name,
)
from bobcat.cli.can import PROVED
from bobcat.cli.exit_codes import USAGE
from bobcat.cli.failures import report_failure
from bobcat.cli.inputs import PolicySource, policy_command
from bobcat.cli.output import echo_line, write_json

if TYPE_CHECKING:
    from bobcat.analysis import Sequence
    from bobcat.bundle import Policy

DEFAULT_STEPS = 4
MOST_STEPS = 50


@policy_command(
    "trace-can",
    click.option("--tool", callback=tool_name, metavar="NAME", help="The last call is one of this tool."),
    click.option("--when", metavar="MATCH", help="The last call matches, in YAML: `run.count.pay.ge: 3`."),
    click.option("--after", metavar="MATCH", multiple=True, help="An earlier call matches, in YAML; repeatable."),
    click.option(
        "--verdict",
        "verdicts",
        multiple=True,
        type=click.Choice(VERDICTS),
        default=("allow",),
        show_default=True,
        help="The verdict of the last call; repeatable for one of several.",
    ),
    click.option(
        "--steps",
        type=click.IntRange(0, MOST_STEPS),
        default=DEFAULT_STEPS,
        show_default=True,
        metavar="N",
        help="Calls before the last one, at most.",
    ),
    click.option("--unattended", is_flag=True, help="No person approves a call."),
    budget_option,
)
@exits_unreadable
def trace_can(
    source: PolicySource,
    *,
    tool: str | None,
    when: str | None,
    after: tuple[str, ...],
    verdicts: tuple[str, ...],
    steps: int,
    unattended: bool,
    budget: float | None,
    output_format: str,
) -> int:
    """Find a sequence of calls of one run, the last of which POLICY gives a verdict, or prove that none exists.

    Each call before the last one is permitted in the state that the run has then. Exits with 0 for a sequence, with 1
    for a proof, with 5 if the answer is unknown, with 2 for a mistake in the command line or in MATCH, and with 3 if
    POLICY cannot be read.

    \b
    Example: bobcat trace-can policy.yaml --tool send --after 'tool: read_secret'
    """
    from bobcat.analysis import NoSequence, Sequence
    from bobcat.analysis import trace_can as ask
    from bobcat.analysis.summary import reason_text
    from bobcat.errors import PolicyCompileError

    policy = source.open(shown_only=True)
    note_unnamed_tool(policy, tool)
    try:
        with analysis_progress() as progress:
            answer = ask(
                policy,
                tool=tool,
                when=when,
                after=after,
                verdict=verdicts,
                steps=steps,
                unattended=unattended,
                budget=budget,
                progress=progress,
            )
    except PolicyCompileError as error:
        report_failure(error)
        return USAGE
    if output_format == "json":
        write_json(answer.to_json())
    match answer:
        case Sequence():
            code = 0
        case NoSequence():
            code = PROVED
        case _:
            code = UNKNOWN
    if output_format == "json":
        return code
    match answer:
        case Sequence():
            _show(answer, policy)
        case NoSequence(within):
            bound = "" if within is None else f" within {within} earlier call{'s' * (within != 1)}"
            echo_line(f"no: proved, no sequence{bound} ends with {' or '.join(verdicts)}")
        case _:
            echo_line("unknown")
            for reason in answer.reasons:
                echo_line(f"  {reason_text(reason)}")
    return code


def _show(found: Sequence, policy: Policy) -> None:
    from bobcat.analysis.calls import MOST_SHOWN, call_text, plain
    from bobcat.analysis.summary import decision_text
    from bobcat.text.display import safe_json

    earlier = len(found.steps) - 1
    echo_line(f"yes: after {earlier} earlier call{'s' * (earlier != 1)}")
    for number, step in enumerate(found.steps, 1):
        echo_line(f"{number:>3}  {call_text(step.request)}")
        echo_line(f"     {decision_text(policy, step.decision)}")
        if number <= earlier:
            ended = f"result {safe_json(plain(step.result), limit=MOST_SHOWN)}" if step.ended else "fails"
            echo_line(f"     {ended}")
