"""`bobcat grants`: the unused grants that gates keep in a store, and their revocation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import UNREADABLE
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, show_list, write_json
from bobcat.cli.store import since, store_option, with_store
from bobcat.text.display import safe_names, safe_text

if TYPE_CHECKING:
    from datetime import datetime

    from bobcat.approvals import GrantList, HeldGrants


@click.group()
def grants() -> None:
    """List and revoke the grants that were given ahead of time and are not used yet."""


@grants.command("list")
@store_option
@click.option("--target", metavar="NAME", help="Only those for this target.")
@click.option("--scope", metavar="NAME", help="Only those in this scope.")
@format_option
def list_(store_url: str, target: str | None, scope: str | None, output_format: str) -> int:
    """List unused grants."""
    from bobcat.approvals import list_grants

    async def work(store: Any) -> tuple[GrantList, datetime]:
        return await list_grants(store), await store.now()

    listing, now = with_store(store_url, work)
    found = [held for held in listing.grants if target in (None, held.target) and scope in (None, held.scope)]
    for key in listing.unreadable:
        click.echo(f"error[damaged]: the grants `{safe_text(key)}` are omitted: they cannot be read", err=True)
    show_list(found, output_format, lambda held: _line(held, now), none="no grants", to_json=_json)
    return UNREADABLE if listing.unreadable else 0


@grants.command()
@click.argument("id", metavar="ID")
@store_option
@format_option
def revoke(id: str, store_url: str, output_format: str) -> None:
    """Revoke the unused grants with this ID, or with an ID that begins with it. Used grants cannot be revoked."""
    from bobcat.approvals import revoke_grants

    async def work(store: Any) -> tuple[HeldGrants, datetime]:
        return await revoke_grants(store, id), await store.now()

    held, now = with_store(store_url, work)
    if output_format == "json":
        write_json(_json(held))
    else:
        echo_line(f"revoked  {_line(held, now)}")


def _line(held: HeldGrants, now: datetime) -> str:
    target = "any target" if held.target is None else safe_text(held.target)
    scope = "" if held.scope is None else f"  scope {safe_text(held.scope)}"
    args = "" if held.args is None else f"  arguments {held.args[:12]}"
    left = "" if held.expires is None else f"  {since(held.expires, now)} left"
    return f"{held.id}  {target}{scope}{args}  by {safe_names(held.approvers)}{left}  gate {safe_text(held.gate)}"


def _json(held: HeldGrants) -> dict[str, Any]:
    expires = None if held.expires is None else held.expires.isoformat()
    return {
        "id": held.id, "gate": held.gate, "target": held.target, "scope": held.scope, "args": held.args,
        "approvers": list(held.approvers), "expires": expires,
    }  # fmt: skip
