"""`bobcat proxy`: a policy in front of MCP servers."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import PolicySource
from bobcat.cli.options import (
    bundle_options,
    check_memory,
    choice_option,
    memory_options,
    narrow_option,
    profile_option,
    python_rule_option,
)
from bobcat.cli.proxy_servers import Address, address_of, server_options, servers_of
from bobcat.cli.submit import opened, principal_of

if TYPE_CHECKING:
    from bobcat.bundle import Policy
    from bobcat.guard import Guard
    from bobcat.proxy.session import Settings
    from bobcat.proxy.upstream import Server


@click.command()
@click.option("--policy", required=True, metavar="FILE", help="The policy that decides: YAML, a bundle, or a module.")
@click.option("--log", metavar="FILE|URL", help="The decision log: SQLite, JSONL for `.jsonl`, or a URL.")
@click.option("--store", "store_url", metavar="URL", help="The store for approvals and memory.")
@click.option("--principal", default="user:anonymous", show_default=True, metavar="KIND:ID", help="Who calls.")
@click.option("--environment", default="dev", show_default=True, metavar="NAME", help="The environment.")
@memory_options
@click.option("--redact", multiple=True, metavar="PATH", help="Log a keyed digest of this value, as `args.card`.")
@click.option("--pins", metavar="FILE", help="The accepted definitions of tools; all others are hidden and refused.")
@click.option("--pin-new", is_flag=True, help="Accept and record tools that have no pin yet.")
@choice_option(
    "--approvals",
    choices=("auto", "elicit", "wait", "deny"),
    help="Ask the client's user, wait in the store, or refuse; `auto` takes the first that is possible.",
)
@click.option("--approver", metavar="NAME", help="The client's user as an approver; by default the principal's id.")
@server_options
@click.option("--listen", metavar="HOST:PORT", help="Serve streamable HTTP at `/mcp`, in place of standard input.")
@click.option("--token-file", metavar="FILE", help="The bearer tokens that are accepted, one a line.")
@click.option("--insecure", is_flag=True, help="Listen without tokens: every client that can connect may call tools.")
@profile_option
@python_rule_option
@narrow_option
@bundle_options
def proxy(
    *,
    policy: str,
    profile: Any,
    python_rules: tuple[str, ...],
    server: tuple[str, ...],
    url: str | None,
    header: tuple[str, ...],
    command: tuple[str, ...],
    listen: str | None,
    token_file: str | None,
    insecure: bool,
    **given: Any,
) -> int:
    """Serve MCP in front of the server that COMMAND starts: every tool call passes the policy.

    Clients see the tools that the policy could permit. A call that it does not permit is answered with the reason, and
    never reaches the server. Everything else passes unchanged.

    Example: bobcat proxy --policy policy.yaml --log calls.db -- python -m notes_server
    """
    servers = servers_of(server, url, header, command)
    address = address_of(listen, token_file, insecure=insecure)
    return asyncio.run(_served(opened(PolicySource(policy, profile, python_rules)), servers, address, **given))


async def _served(policy: Policy, servers: tuple[Server, ...], address: Address | None, **given: Any) -> int:
    from bobcat.errors import StoreError
    from bobcat.proxy.upstream import UpstreamError

    try:
        settings, guard = _settings(policy, servers, **given)
    except (StoreError, ValueError, TypeError) as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"cannot use `{error.filename or given['log']}`: {reason_of(error)}") from error
    async with guard:
        try:
            if address is not None:
                return await address.serve(settings)
            from bobcat.proxy.stdio_front import serve_stdio

            return await serve_stdio(settings)
        except UpstreamError as error:
            raise InputError(str(error)) from error


def _settings(
    policy: Policy, servers: tuple[Server, ...], *, log: str | None, store_url: str | None, principal: str,
    environment: str, redact: tuple[str, ...], pins: str | None, pin_new: bool, approvals: Any, approver: str | None,
    **memory: Any,
) -> tuple[Settings, Guard]:  # fmt: skip
    from bobcat.adapters.mcp_pins_file import PinsFile
    from bobcat.approvals import auto_deny
    from bobcat.guard import Guard
    from bobcat.proxy.calls import Gate
    from bobcat.proxy.catalog import Rules
    from bobcat.proxy.session import Settings

    if pin_new and pins is None:
        raise click.UsageError("`--pin-new` needs `--pins`")
    if approvals == "wait" and store_url is None:
        raise click.UsageError("`--approvals wait` needs `--store`")
    check_memory(store_url, memory)
    caller, workspace = principal_of(principal), os.getcwd()
    waits = store_url is not None and approvals in ("auto", "wait")
    rules = Rules(
        policy, caller, environment, workspace, None if pins is None else PinsFile(pins, pin_new=pin_new)
    )  # fmt: skip
    guard = Guard(
        policy, log=log, store=store_url, principal=caller, environment=environment, workspace=workspace,
        redact=redact, on_approval=None if waits else auto_deny("no approval is possible"), **memory,
    )  # fmt: skip
    return Settings(servers, rules, Gate(guard, waits), approvals, approver or caller.id), guard
