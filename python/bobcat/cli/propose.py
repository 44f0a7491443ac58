"""`bobcat propose`: a rule for a policy, granted within an envelope, else a question to an approver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.analysis_options import budget_option, exits_unreadable
from bobcat.cli.exit_codes import NOT_ALLOWED
from bobcat.cli.inputs import open_policy
from bobcat.cli.options import format_option, profile_option, python_rule_option
from bobcat.cli.output import echo_line, write_json
from bobcat.cli.store import store_option, with_store
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from bobcat.proposals import Proposal


class DurationParam(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases of click only
    """A duration such as `90m` or `7d`, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:  # Any: click's own
        """Convert the option's text."""
        from bobcat.errors import TriggerError
        from bobcat.triggers.spelling import seconds_of

        try:
            return seconds_of(value)
        except TriggerError:
            self.fail(f"`{value}` is not a time such as `90m`, `8h` or `7d`, up to 366 days", param, ctx)


@click.command()
@click.argument("rule", metavar="RULE", type=click.Path(allow_dash=True))
@click.option("--policy", "policy_path", metavar="POLICY", required=True, type=click.Path(),
              help="The policy that the rule is for.")  # fmt: skip
@click.option("--envelope", metavar="MAX", required=True, type=click.Path(),
              help="The policy that no granted rule may exceed.")  # fmt: skip
@click.option("--for", "seconds", type=DurationParam(), default="1d", show_default=True, metavar="TIME",
              help="How long the rule is granted: `90m`, `8h`, `7d`.")  # fmt: skip
@click.option("--by", required=True, metavar="NAME", help="Who proposes it: an agent or a person.")
@click.option("--reason", default="", metavar="TEXT", help="The reason; the approver sees it.")
@click.option("--approver", "approvers", multiple=True, metavar="NAME",
              help="Who may answer a question beyond the envelope; repeatable. Default: anybody.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False),
              help="Write the bundle of the policy with every rule that is granted now.")  # fmt: skip
@store_option
@budget_option
@profile_option
@python_rule_option
@format_option
@exits_unreadable
def propose(
    rule: str,
    *,
    policy_path: str,
    envelope: str,
    seconds: float,
    by: str,
    reason: str,
    approvers: tuple[str, ...],
    output: str | None,
    store_url: str,
    budget: float | None,
    profile: Any,  # Any: one of the choices
    python_rules: tuple[str, ...],
    output_format: str,
) -> int:
    """Propose RULE, a policy file with one rule, for POLICY.

    A rule with which POLICY permits no call more than MAX is granted for a time and recorded in the store. Any other
    one is a question in `bobcat approvals`, with the calls that it would permit: propose it again for the answer.
    Exits with 0 if it is granted, with 4 if it waits for an answer or was denied.

    \b
    Example: bobcat propose rule.yaml --policy policy.yaml --envelope max.yaml --by agent-7 --store sqlite:///runs.db
    """
    from bobcat.proposals import extended, granted
    from bobcat.proposals import propose as ask

    subject = open_policy(policy_path, profile, python_rules, shown_only=True)
    given = open_policy(rule, profile, ())
    limit = open_policy(envelope, profile, python_rules, shown_only=True)

    async def work(store: Any) -> tuple[Proposal, tuple[Proposal, ...]]:  # Any: a store
        proposal = await ask(
            store, subject, given, envelope=limit, by=by, reason=reason, seconds=seconds, approvers=approvers,
            budget=budget,
        )  # fmt: skip
        return proposal, await granted(store, subject)

    try:
        proposal, in_force = with_store(store_url, work, must_exist=False)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if output is not None:
        _write(output, extended(subject, in_force).to_bytes())
    if output_format == "json":
        write_json(proposal.to_json())
    else:
        for line in proposal_lines(proposal):
            echo_line(line)
    return 0 if proposal.status == "granted" else NOT_ALLOWED


def proposal_lines(proposal: Proposal) -> Iterator[str]:
    """Yield a proposal as safe lines: its status, and what the rule would permit."""
    name = safe_name(proposal.rule_id)
    match proposal.status:
        case "granted":
            end = "" if proposal.expires is None else f" until {proposal.expires.isoformat(timespec='seconds')}"
            because = {"envelope": "within the envelope", "narrower": "permits no call more"}
            yield f"{name} granted{end}: {because.get(proposal.granted_by, f'by {safe_name(proposal.granted_by)}')}"
        case "denied" | "revoked":
            reason = f": {safe_text(proposal.ended_for)}" if proposal.ended_for else ""
            yield f"{name} {proposal.status} by {safe_name(proposal.ended_by)}{reason}"
            if proposal.status == "denied":
                yield "beyond the envelope:"
        case _:
            yield f"{name} waits for an approver: {safe_text(proposal.approval)}"
            yield "beyond the envelope:"
    yield from (f"  {safe_text(line)}" for line in proposal.opens)


def _write(path: str, data: bytes) -> None:
    from bobcat.bundle.file import write
    from bobcat.cli.failures import InputError, reason_of

    try:
        write(path, data)
    except OSError as error:
        raise InputError(f"cannot write `{path}`: {reason_of(error)}") from error
