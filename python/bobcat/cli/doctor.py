"""`bobcat doctor`: find differences of a lynx-agent policy in the strict profile; and `bobcat doctor hooks`.

`bobcat doctor hooks` is the subcommand; a policy file of this name is `./hooks`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError
from bobcat.cli.inputs import DEFAULT_POLICY, policy_text, read_bytes
from bobcat.cli.json_document import json_text
from bobcat.cli.options import format_option
from bobcat.cli.output import (
    VERDICT_COLOURS,
    console,
    show_diagnostics,
    wants_colour,
    write_json,
)
from bobcat.model.decision_json import decision_json
from bobcat.text.display import safe_json_line, safe_json_text, safe_name, safe_names, safe_text

if TYPE_CHECKING:
    from rich.text import Text

    from bobcat.diagnostics.model import Span
    from bobcat.doctor.examine import Difference, Examination, StrictRefusal
    from bobcat.model.decision import Decision


class _DoctorCommand(click.Command):
    """`bobcat doctor POLICY`, or `bobcat doctor hooks`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:  # Any: click's own
        """Parse the arguments, for the subcommand if they name it."""
        if args and args[0] == "hooks":
            from bobcat.cli.doctor_hooks import hooks

            return hooks.make_context(f"{info_name} hooks", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)


@click.command(cls=_DoctorCommand)
@click.argument("policy", metavar="[POLICY]", default=DEFAULT_POLICY, type=click.Path(allow_dash=True))
@format_option
def doctor(policy: str, output_format: str) -> int:
    """Show where strict rejects POLICY, written for lynx-agent, or decides differently (default: policy.yaml).

    Each finding has an example call, evaluated by both profiles. Exits with 0 without findings,
    otherwise with 1.

    `bobcat doctor hooks` checks the hooks of coding agents instead.
    """
    from bobcat.bundle import is_bundle
    from bobcat.doctor.examine import examine

    data, name = read_bytes(policy)
    if is_bundle(data):
        raise InputError(f"`{name}` is a bundle; `doctor` needs the source of a policy")
    text = policy_text(data, name)
    if sys.stderr.isatty():  # a thousand rules take some seconds
        click.echo("evaluating calls with both profiles ...", err=True)
    found = examine(text, name)
    if output_format == "json":
        write_json(examination_json(found))
    else:
        show_examination(found, name, text)
    return 0 if found.clean else FINDINGS


def show_examination(found: Examination, name: str, text: str) -> None:
    """Print the refusals and the differences, and their numbers."""
    for refusal in found.refusals:
        _show_refusal(refusal, {name: text})
    for difference in found.differences:
        _show_difference(difference)
    colour = wants_colour()
    without = f", without {', '.join(f'`{safe_name(rule)}`' for rule in found.left_out)}" if found.left_out else ""
    if found.compared:
        click.echo(f"{found.requests} calls decided by both profiles{without}")
    else:
        click.echo("no decisions compared: correct the errors first")
    counts = f"{_count(len(found.refusals), 'refusal')}, {_count(len(found.differences), 'difference')}"
    click.secho(f"{safe_text(name)}: {counts}", fg="green" if found.clean else "yellow", color=colour)


def _show_refusal(refusal: StrictRefusal, sources: dict[str, str]) -> None:
    show_diagnostics([refusal.diagnostic], sources)
    if refusal.request is not None and refusal.lynx is not None:
        out = console()
        out.print(_call(refusal.request), soft_wrap=True)
        out.print(_decided("lynx", refusal.lynx), soft_wrap=True)
        out.print("    strict  rejects the policy")
    click.echo()


def _show_difference(difference: Difference) -> None:
    from rich.text import Text

    out = console()
    head = Text(safe_text(_place(difference.span)))
    head.append(f"rule `{safe_name(difference.rule)}`: ", style="bold")
    head.append(safe_text(difference.cause))
    if difference.lost < 0:
        head.append("; strict permits more", style="bold red")
    for line in (
        head,
        _call(difference.request),
        _decided("lynx", difference.lynx),
        _decided("strict", difference.strict),
    ):
        out.print(line, soft_wrap=True)  # a call is printed to be copied
    click.echo()


def _place(span: Span | None) -> str:
    return "" if span is None or not span.line else f"{span.file}:{span.line}:{span.column}: "


def _call(request: dict[str, Any]) -> Text:  # Any: JSON
    from rich.text import Text

    return Text(
        f"    call    {safe_json_text(json.dumps(request))}", style="cyan"
    )  # in ASCII: a difference may be an unusual character


def _decided(profile: str, decision: Decision) -> Text:
    from rich.text import Text

    line = Text(f"    {profile:<8}")
    line.append(str(decision.verdict), style=VERDICT_COLOURS[decision.verdict])
    line.append(f"  {safe_names(decision.matched_rules)}", style="dim")
    if decision.transform_args is not None:
        line.append(f"  {safe_json_line(json_text(decision.transform_args))}")
    return line


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def examination_json(found: Examination) -> dict[str, Any]:  # Any: JSON
    """Return an examination as plain JSON data."""
    return {
        "refusals": [
            {
                "code": refusal.diagnostic.code,
                "message": refusal.diagnostic.message,
                "help": refusal.diagnostic.help,
                **_spanexamination_json(refusal.diagnostic.span),
                "rule": refusal.rule,
                "request": refusal.request,
                "lynx": None if refusal.lynx is None else decision_json(refusal.lynx),
            }
            for refusal in found.refusals
        ],
        "differences": [
            {
                "rule": difference.rule,
                "cause": difference.cause,
                "strict_permits_more": difference.lost < 0,
                **_spanexamination_json(difference.span),
                "request": difference.request,
                "lynx": decision_json(difference.lynx),
                "strict": decision_json(difference.strict),
            }
            for difference in found.differences
        ],
        "requests": found.requests,
        "compared": found.compared,
        "left_out": list(found.left_out),
    }


def _spanexamination_json(span: Span | None) -> dict[str, int | None]:
    known = span is not None and span.line > 0
    return {"line": span.line if known and span else None, "column": span.column if known and span else None}
