"""`bobcat eval`: evaluate one tool call."""

from __future__ import annotations

import click

from bobcat.cli.calls import CallOptions, call_options, read_call
from bobcat.cli.exit_codes import NOT_ALLOWED
from bobcat.cli.inputs import PolicySource, asking, policy_command
from bobcat.cli.output import VERDICT_COLOURS, echo_line, show_rows, wants_colour, write_json
from bobcat.cli.plain_eval import decision_rows
from bobcat.model.decision_json import decision_json
from bobcat.text.display import safe_text


@policy_command(
    "eval",
    call_options,
    click.option("--exit-code", is_flag=True, help="Exit with 4 unless the verdict is allow or transform."),
)
def eval_(source: PolicySource, *, call: CallOptions, exit_code: bool, output_format: str) -> int:
    """Evaluate one tool call with POLICY, a source or a bundle.

    The call is a JSON object in the file REQUEST, on standard input if REQUEST is missing or `-`, or given by --tool.
    Exits with 0 whatever the verdict, unless --exit-code is given.

    Example: bobcat eval policy.yaml --tool shell --args '{"cmd": "ls"}'
    """
    from bobcat._core import evaluate

    given = read_call(source.path, call)
    bundle = source.open()
    with asking():
        decision = given.refusal or evaluate(bundle, given.request)
    if output_format == "json":
        write_json({"bundle": bundle.id, **decision_json(decision)})
    else:
        colour = wants_colour()
        click.secho(str(decision.verdict), fg=VERDICT_COLOURS[decision.verdict], bold=True, color=colour)
        echo_line(f"  reason     {safe_text(decision.reason)}")
        show_rows([(f"  {name}", text) for name, text in decision_rows(decision)], width=12)
    return NOT_ALLOWED if exit_code and decision.verdict not in ("allow", "transform") else 0
