"""`bobcat approvals`: the questions that suspended runs have put on record, and the answers to them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.failures import UNREADABLE, InputError, NotAllowed
from bobcat.cli.json_option import json_object
from bobcat.cli.options import format_option
from bobcat.cli.output import write_json
from bobcat.cli.store import since, store_option, with_store

if TYPE_CHECKING:
    from datetime import datetime

    from bobcat.approvals import Answered, Approval
    from bobcat.approvals.desk import Approvals, Listing

ARGS_CHARS = 60
"""How much of the arguments a listing shows."""

approver_option = click.option("--approver", metavar="NAME", required=True, help="Who answers, as the rule names them.")


@click.group()
def approvals() -> None:
    """List, show, grant and deny the approvals that runs wait for."""


@approvals.command("list")
@store_option
@click.option(
    "--status",
    type=click.Choice(["pending", "granted", "denied", "expired", "withdrawn", "all"]),
    default="pending",
    show_default=True,
    help="Which approvals.",
)
@click.option("--run-id", metavar="ID", help="Those of one run only.")
@format_option
def list_(store_url: str, status: Any, run_id: str | None, output_format: str) -> int:  # Any: one of the choices
    """List approvals, the oldest first."""
    from bobcat.approvals import Approvals

    async def work(store: Any) -> tuple[Listing, datetime]:
        found = await Approvals(store).look(status=None if status == "all" else status, run_id=run_id)
        return found, await store.now()

    listing, now = with_store(store_url, work)
    found = listing.approvals
    for item in listing.damaged:
        click.echo(f"error[damaged]: the approval `{item.id}` is left out: {item.problem}", err=True)
    code = UNREADABLE if listing.damaged else 0
    if output_format == "json":
        write_json([approval.to_json() for approval in found])
        return code
    for approval in found:
        args = json.dumps(approval.args, ensure_ascii=False)
        short = args if len(args) <= ARGS_CHARS else args[: ARGS_CHARS - 1] + "…"
        left = f", {since(approval.expires, now)} left" if approval.status == "pending" and approval.expires else ""
        who = f"  [{', '.join(approval.approvers)}]" if approval.approvers else ""
        click.echo(
            f"{approval.id}  {approval.status}  {since(approval.created, now)} ago{left}  "
            f"run {approval.run_id} step {approval.step}  {approval.tool} {short}{who}"
        )
    if not found:
        click.echo("no approvals" if status == "all" else f"no {status} approvals", err=True)
    return code


@approvals.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def show(id: str, store_url: str, output_format: str) -> None:
    """Show one approval: what is asked, of whom, and what was answered."""

    async def work(desk: Approvals) -> Approval:
        return await desk.show(id)

    _show(_at_the_desk(store_url, work), output_format)


@approvals.command()
@click.argument("id", metavar="ID")
@approver_option
@click.option("--reason", metavar="TEXT", default="", help="Why; kept with the answer.")
@click.option("--args", "args_json", metavar="JSON", help="Other arguments, judged again before anything runs.")
@store_option
@format_option
def grant(id: str, approver: str, reason: str, args_json: str | None, store_url: str, output_format: str) -> None:
    """Grant an approval. The run goes on when a worker takes it, or with `bobcat runs resume`."""
    args = None if args_json is None else json_object("--args", args_json)

    async def work(desk: Approvals) -> Answered:
        return await desk.grant(id, approver=approver, args=args, reason=reason)

    _answered(_at_the_desk(store_url, work), output_format)


@approvals.command()
@click.argument("id", metavar="ID")
@approver_option
@click.option("--reason", metavar="TEXT", default="", help="Why; the model is told.")
@store_option
@format_option
def deny(id: str, approver: str, reason: str, store_url: str, output_format: str) -> None:
    """Deny an approval: one refusal is enough."""

    async def work(desk: Approvals) -> Answered:
        return await desk.deny(id, approver=approver, reason=reason)

    _answered(_at_the_desk(store_url, work), output_format)


def _at_the_desk(store_url: str, work: Callable[[Approvals], Awaitable[Any]]) -> Any:  # Any: what `work` gives
    from bobcat.approvals import Approvals
    from bobcat.errors import ApprovalError

    async def ask(store: Any) -> Any:
        return await work(Approvals(store))

    try:
        return with_store(store_url, ask)
    except ApprovalError as error:
        failure = InputError if error.code in ("unknown", "damaged") else NotAllowed
        raise failure(f"{error} ({error.code})") from error


def _answered(answered: Answered, output_format: str) -> None:
    approval = answered.approval
    if output_format == "json":
        write_json({"changed": answered.changed, "woken": answered.woken, "approval": approval.to_json()})
        return
    if not answered.changed:
        click.echo(f"{approval.id} had this answer already")
    elif approval.status == "pending":
        given = len(approval.granted_by)
        click.echo(f"{approval.id} granted by {', '.join(approval.granted_by)}: {given} of {approval.needed} approvals")
    else:
        click.echo(f"{approval.id} {approval.status} by {approval.answers[-1].approver}")
    if answered.woken:
        click.echo(f"run {approval.run_id} is queued")


def _show(approval: Approval, output_format: str) -> None:
    if output_format == "json":
        write_json(approval.to_json())
        return
    needed = f"{approval.needed} of " if approval.needed > 1 else ""
    rows = [
        ("approval", f"{approval.id}, {approval.status}"),
        ("run", f"{approval.run_id}, step {approval.step}" + (f", round {approval.round}" if approval.round else "")),
        ("call", f"{approval.tool} {json.dumps(approval.args, ensure_ascii=False)}"),
        ("edited", None if approval.edited is None else json.dumps(approval.edited, ensure_ascii=False)),
        ("for", f"{approval.principal}, {approval.environment}"),
        ("rule", ", ".join(approval.rules)),
        ("reason", approval.reason),
        ("approvers", f"{needed}{', '.join(approval.approvers) or 'anybody'}"),
        ("policy", approval.bundle_id),
        ("asked", approval.created.isoformat(timespec="seconds")),
        ("until", None if approval.expires is None else approval.expires.isoformat(timespec="seconds")),
        ("taken up", None if approval.used is None else approval.used.isoformat(timespec="seconds")),
    ]
    for answer in approval.answers:
        word = "granted" if answer.granted else "denied"
        why = f": {answer.reason}" if answer.reason else ""
        rows.append((word, f"{answer.approver}, {answer.at.isoformat(timespec='seconds')}{why}"))
    for name, text in rows:
        if text:
            click.echo(f"{name:<10} {text}")
