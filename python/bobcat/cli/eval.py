"""`bobcat eval`: evaluate one tool call."""

from __future__ import annotations

import click

from bobcat.bundle.explanation import decision_json
from bobcat.cli.calls import CallOptions, read_call
from bobcat.cli.failures import NOT_ALLOWED
from bobcat.cli.inputs import Profile, asking, open_policy
from bobcat.cli.options import (
    bundle_options,
    call_options,
    format_option,
    policy_argument,
    profile_option,
    python_rule_option,
)
from bobcat.cli.output import (
    VERDICT_COLOURS,
    echo_line,
    json_text,
    show_rows,
    wants_colour,
    write_json,
)
from bobcat.text.display import safe_json_line, safe_names, safe_text


@click.command("eval")
@policy_argument
@call_options
@click.option("--exit-code", is_flag=True, help="Exit with 4 unless the verdict is allow or transform.")
@profile_option
@python_rule_option
@bundle_options
@format_option
def eval_(
    policy: str,
    request_file: str | None,
    *,
    tool: str | None,
    tools: str | None,
    args_json: str | None,
    declared_json: str | None,
    context_json: str | None,
    exit_code: bool,
    profile: Profile,
    python_rules: tuple[str, ...],
    output_format: str,
) -> int:
    """Evaluate one tool call with POLICY, a source or a bundle.

    The call is a JSON object in the file REQUEST, on standard input if REQUEST is missing or `-`, or given by --tool.
    Exits with 0 whatever the verdict, unless --exit-code is given.

    Example: bobcat eval policy.yaml --tool shell --args '{"cmd": "ls"}'
    """
    from bobcat.pdp import evaluate

    parts = {"args": args_json, "declared": declared_json, "context": context_json}
    call = read_call(policy, CallOptions(request_file, tool, tools, parts))
    bundle = open_policy(policy, profile, python_rules)
    with asking():
        decision = call.refusal or evaluate(bundle, call.request)
    if output_format == "json":
        write_json({"bundle": bundle.id, **decision_json(decision)})
    else:
        colour = wants_colour()
        click.secho(str(decision.verdict), fg=VERDICT_COLOURS[decision.verdict], bold=True, color=colour)
        echo_line(f"  reason     {safe_text(decision.reason)}")
        rows = [
            ("rules", safe_names(decision.matched_rules)),
            ("approvers", safe_names(decision.approvers)),
        ]
        if decision.approvals_needed != 1:
            rows.append(("needed", str(decision.approvals_needed)))
        if decision.timeout_seconds is not None:
            rows.append(("timeout", f"{decision.timeout_seconds} s"))
        if decision.transform_args is not None:
            rows.append(("arguments", safe_json_line(json_text(decision.transform_args))))
        show_rows([(f"  {name}", text) for name, text in rows], width=12)
    return NOT_ALLOWED if exit_code and decision.verdict not in ("allow", "transform") else 0
