"""`bobcat completion`: print the completion script for a shell."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash: eval "$(bobcat completion bash)"     in ~/.bashrc to keep it
    zsh:  eval "$(bobcat completion zsh)"      in ~/.zshrc, after compinit
    fish: bobcat completion fish | source      in ~/.config/fish/config.fish
    """
    from bobcat.cli.commands import COMPLETION_VARIABLE
    from bobcat.cli.group import cli

    complete = SHELLS[shell](cli, {}, "bobcat", COMPLETION_VARIABLE)
    script = complete.source_template % complete.source_vars()
    # Click's script for fish ends a description at its first comma.
    click.echo(script.replace('string split ","', 'string split --max 1 ","'))
