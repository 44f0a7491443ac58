"""`bobcat proposals`: the proposed rules that a store holds, and the end of a grant before its time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bobcat.cli.failures import InputError
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, show_list, write_json
from bobcat.cli.store import since, store_option, with_store
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from bobcat.proposals import Proposal

STATUSES = ("granted", "pending", "denied", "expired", "revoked")
_T = TypeVar("_T")


@click.group()
def proposals() -> None:
    """List the rules that were proposed with `bobcat propose`, and revoke grants of them."""


@proposals.command("list")
@store_option
@click.option("--status", type=click.Choice(STATUSES), help="Only those with this status.")
@format_option
def list_(store_url: str, status: str | None, output_format: str) -> None:
    """List proposed rules, the newest first."""
    from bobcat.proposals import recorded

    async def work(store: Any) -> tuple[tuple[Proposal, ...], datetime]:  # Any: a store
        return await recorded(store), await store.now()

    found, now = _read(store_url, work)
    chosen = sorted((item for item in found if status in (None, item.status)), key=lambda item: item.created)
    show_list(chosen[::-1], output_format, lambda item: _line(item, now), none="no proposals")


@proposals.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def show(id: str, store_url: str, output_format: str) -> None:
    """Show a proposed rule, and what it would permit."""
    from bobcat.cli.propose import proposal_lines
    from bobcat.ir.pretty import rule_text
    from bobcat.proposals import recorded
    from bobcat.proposals.record import ir_rule

    async def work(store: Any) -> Proposal:  # Any: a store
        known = next((item for item in await recorded(store) if item.id == id), None)
        if known is None:
            raise ValueError(f"there is no proposal `{id}`")
        return known

    found = _read(store_url, work)
    if output_format == "json":
        write_json(found.to_json())
        return
    for line in proposal_lines(found):
        echo_line(line)
    echo_line(f"proposed by {safe_name(found.by)}{f': {safe_text(found.reason)}' if found.reason else ''}")
    for line in rule_text(ir_rule(found)).splitlines():
        echo_line(f"  {safe_text(line)}")


@proposals.command()
@click.argument("id", metavar="ID")
@click.option("--by", required=True, metavar="NAME", help="Who revokes it.")
@click.option("--reason", default="", metavar="TEXT", help="The reason; kept with the proposal.")
@store_option
@format_option
def revoke(id: str, by: str, reason: str, store_url: str, output_format: str) -> None:
    """End the grant with this ID before its time. Bundles that were written with the rule keep it until then."""
    from bobcat.proposals import revoke as end

    found = _read(store_url, lambda store: end(store, id, by=by, reason=reason))
    if output_format == "json":
        write_json(found.to_json())
    else:
        echo_line(f"{safe_name(found.rule_id)} revoked by {safe_name(by)}")


def _read(store_url: str, work: Callable[[Any], Awaitable[_T]]) -> _T:  # Any: a store
    try:
        return with_store(store_url, work)
    except ValueError as error:
        raise InputError(safe_text(str(error))) from error


def _line(found: Proposal, now: datetime) -> str:
    left = f"  {since(found.expires, now)} left" if found.status == "granted" and found.expires is not None else ""
    by = f"  by {safe_name(found.granted_by)}" if found.granted_by else ""
    ended = f"  by {safe_name(found.ended_by)}" if found.ended_by else ""
    return (
        f"{found.id}  {found.status:<8}  {since(now, found.created)} ago{left}  {safe_name(found.rule_id)}"
        f"  of {safe_name(found.by)}{ended or by}"
    )
