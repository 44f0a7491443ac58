"""`bobcat approvals`: the pending questions of suspended runs, and the answers to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import UNREADABLE
from bobcat.cli.json_option import json_object
from bobcat.cli.options import choice_option, format_option
from bobcat.cli.output import show_list, show_rows, write_json
from bobcat.cli.store import since, store_option, with_store
from bobcat.journal.legacy_names import ANSWER_REQUEUED
from bobcat.text.display import safe_args, safe_json, safe_name, safe_names, safe_text

if TYPE_CHECKING:
    from datetime import datetime

    from bobcat.approvals import AnswerResult, Approval
    from bobcat.approvals.inbox import ApprovalList, Approvals

ARGS_CHARS = 60
"""Characters of arguments in a listing."""

approver_option = click.option(
    "--approver", metavar="NAME", required=True, help="The approver, as the rule names them."
)


@click.group()
def approvals() -> None:
    """List, show, grant and deny the approvals that runs wait for."""


@approvals.command("list")
@store_option
@choice_option(
    "--status", choices=("pending", "granted", "denied", "expired", "withdrawn", "all"), help="Which approvals."
)
@click.option("--run-id", metavar="ID", help="Only those of one run.")
@format_option
def list_(store_url: str, status: Any, run_id: str | None, output_format: str) -> int:  # Any: one of the choices
    """List approvals, the oldest first."""
    from bobcat.approvals import Approvals

    async def work(store: Any) -> tuple[ApprovalList, datetime]:
        found = await Approvals(store).list_all(status=None if status == "all" else status, run_id=run_id)
        return found, await store.now()

    listing, now = with_store(store_url, work)
    for item in listing.unreadable:
        problem = safe_text(item.problem)
        click.echo(f"error[damaged]: the approval `{safe_text(item.id)}` is omitted: {problem}", err=True)

    def line(approval: Approval) -> str:
        left = f", {since(approval.expires, now)} left" if approval.status == "pending" and approval.expires else ""
        approvers_note = f"  [{safe_names(approval.approvers)}]" if approval.approvers else ""
        uncertain_note = "  UNCERTAIN: it may already have happened" if approval.uncertain else ""
        unnotified_note = "  approvers not notified" if approval.notify_error and approval.status == "pending" else ""
        return (
            f"{approval.id}  {approval.status}  {since(approval.created, now)} ago{left}  "
            f"run {safe_text(approval.run_id)} step {approval.step}  {safe_name(approval.tool)} "
            f"{safe_json(approval.args, limit=ARGS_CHARS)}{approvers_note}{uncertain_note}{unnotified_note}"
        )

    none = "no approvals" if status == "all" else f"no {status} approvals"
    show_list(listing.approvals, output_format, line, none=none)
    return UNREADABLE if listing.unreadable else 0


@approvals.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def show(id: str, store_url: str, output_format: str) -> None:
    """Show one approval: the question, its approvers, and the answers."""
    from bobcat.approvals import Approvals
    from bobcat.approvals.hook_calls import workspace_of

    async def work(store: Any) -> tuple[Approval, str | None]:
        approval = await Approvals(store).show(id)
        return approval, await workspace_of(store, approval.run_id)

    _show(*with_store(store_url, work), output_format)


@approvals.command()
@click.argument("id", metavar="ID")
@approver_option
@click.option("--reason", metavar="TEXT", default="", help="The reason; kept with the answer.")
@click.option("--args", "args_json", metavar="JSON", help="Other arguments, evaluated again before the call runs.")
@click.option("--uncertain", is_flag=True, help="Grant an action that may already have happened: it can happen twice.")
@store_option
@format_option
def grant(
    id: str,
    approver: str,
    *,
    reason: str,
    args_json: str | None,
    uncertain: bool,
    store_url: str,
    output_format: str,
) -> None:
    """Grant an approval. A queued run resumes when a worker takes it, any other when its program runs it again.

    An approval that `show` marks UNCERTAIN is granted only with --uncertain.
    """
    args = None if args_json is None else json_object("--args", args_json)

    async def work(desk: Approvals) -> AnswerResult:
        return await desk.grant(id, approver=approver, args=args, reason=reason, uncertain=uncertain)

    _answer(store_url, work, output_format)


@approvals.command()
@click.argument("id", metavar="ID")
@approver_option
@click.option("--reason", metavar="TEXT", default="", help="The reason; the model sees it.")
@store_option
@format_option
def deny(id: str, approver: str, reason: str, store_url: str, output_format: str) -> None:
    """Deny an approval: one denial is enough."""

    async def work(desk: Approvals) -> AnswerResult:
        return await desk.deny(id, approver=approver, reason=reason)

    _answer(store_url, work, output_format)


def _answer(store_url: str, work: Callable[[Approvals], Awaitable[AnswerResult]], output_format: str) -> None:
    """Give an answer, and print the resulting state of the run."""
    from bobcat.approvals import Approvals
    from bobcat.approvals.outlook import outlook as outlook_of

    async def answer(store: Any) -> tuple[AnswerResult, str]:
        answered = await work(Approvals(store))
        return answered, await outlook_of(store, answered.approval)

    answered, outlook = with_store(store_url, answer)
    _answered(answered, output_format)
    if output_format == "text" and answered.approval.status != "pending":
        click.echo(outlook)


def _answered(answered: AnswerResult, output_format: str) -> None:
    approval = answered.approval
    if output_format == "json":
        write_json({"changed": answered.changed, ANSWER_REQUEUED: answered.requeued, "approval": approval.to_json()})
        return
    if not answered.changed:
        click.echo(f"{approval.id} already had this answer")
    elif approval.status == "pending":
        given = len(approval.granted_by)
        names = safe_names(approval.granted_by)
        click.echo(f"{approval.id} granted by {names}: {given} of {approval.needed} approvals")
    else:
        click.echo(f"{approval.id} {approval.status} by {safe_name(approval.answers[-1].approver)}")


def _show(approval: Approval, workspace: str | None, output_format: str) -> None:
    if output_format == "json":
        write_json(approval.to_json())
        return
    from bobcat.approvals.prompting import UNCERTAIN

    needed = f"{approval.needed} of " if approval.needed > 1 else ""
    round = f", round {approval.round}" if approval.round else ""
    rows = [
        ("approval", f"{approval.id}, {approval.status}"),
        ("", UNCERTAIN if approval.uncertain else None),
        ("run", f"{safe_text(approval.run_id)}, step {approval.step}{round}"),
        ("tool", safe_name(approval.tool)),
        *_args("args", approval.args),
        *([] if approval.edited is None else _args("edited", approval.edited)),
        ("directory", None if workspace is None else safe_text(workspace)),
        ("for", f"{safe_name(approval.principal)}, {safe_name(approval.environment)}"),
        ("rule", safe_names(approval.rules)),
        ("reason", safe_text(approval.reason)),
        *[("note", safe_text(note)) for note in approval.notes],
        ("approvers", f"{needed}{safe_names(approval.approvers) or 'anybody'}"),
        ("policy", safe_text(approval.bundle_id)),
        ("asked", approval.created.isoformat(timespec="seconds")),
        ("until", None if approval.expires is None else approval.expires.isoformat(timespec="seconds")),
        ("taken up", None if approval.used is None else approval.used.isoformat(timespec="seconds")),
        ("notified", f"no: {safe_text(approval.notify_error)}" if approval.notify_error else None),
    ]
    for answer in approval.answers:
        word = "granted" if answer.granted else "denied"
        why = f": {safe_text(answer.reason)}" if answer.reason else ""
        rows.append((word, f"{safe_name(answer.approver)}, {answer.at.isoformat(timespec='seconds')}{why}"))
    show_rows(rows)


def _args(name: str, args: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Return the whole arguments, one row each."""
    lines = safe_args(args, indent="")
    return [(name if index == 0 else "", line) for index, line in enumerate(lines)] or [(name, "{}")]
