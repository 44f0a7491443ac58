"""`bobcat completion`: the script that makes a shell complete `bobcat`."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    For bash: eval "$(bobcat completion bash)", in ~/.bashrc to keep it.
    """
    from bobcat.cli.main import cli

    complete = SHELLS[shell](cli, {}, "bobcat", "_BOBCAT_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())
