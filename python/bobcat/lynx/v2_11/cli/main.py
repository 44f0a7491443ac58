"""lynx-agent 2.11's command line, under its path: that of 2.5, and `verify`."""

from __future__ import annotations

import click

from bobcat.lynx.cli import main as v2_5
from bobcat.lynx.v2_11 import VERSION
from bobcat.lynx.v2_11.core.policy import load_policy_file
from bobcat.lynx.v2_11.hash_chain import verify_chain
from bobcat.text.display import safe_text

__all__ = ["cli"]


@click.group()
@click.version_option(VERSION, prog_name="lynx")
def cli() -> None:
    """Policies for AI agents' tool calls, as lynx-agent has them."""


cli.add_command(v2_5.init)
cli.add_command(v2_5.run)
cli.add_command(v2_5.trace)
cli.add_command(v2_5.policy_commands(load_policy_file))


@cli.command()
@click.argument("audit_file", type=click.Path(exists=True))
def verify(audit_file: str) -> None:
    """Verify the chain of an audit file that `hash_chained_sink` wrote."""
    try:
        found = verify_chain(audit_file)
    except OSError as error:
        v2_5.fail(safe_text(f"could not read {audit_file}: {error}"))
    if not found.intact:
        v2_5.fail(safe_text(f"broken at line {found.broken_at}: {found.reason}"))
    click.echo(f"intact: {found.lines} events, chain verified")


if __name__ == "__main__":
    cli()
