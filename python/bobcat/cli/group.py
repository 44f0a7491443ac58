"""The command line in click: the commands, imported on use, and the handling of their errors."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

from bobcat.cli.commands import COMMANDS, help_page
from bobcat.cli.exit_codes import INTERRUPTED
from bobcat.cli.failures import InputError, report_failure

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_HELP_PAGE = getattr(click.exceptions, "NoArgsIsHelpError", InputError)
"""The exception by which click shows the help of a group without a command; older releases print it at once."""


class LazyGroup(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; suggest a close name for an unknown one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"unknown command `{args[0]}`" + (f"; did you mean `{close[0]}`?" if close else ""))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands and options; click's default would import every command for its help."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=summary)
            for name, (_, _, summary) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(help_page(formatter.width))


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from bobcat._core import __version__

    click.echo(f"bobcat {__version__}")
    ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version.",
)
def cli() -> None:
    """The `bobcat` command; `help_page` describes it."""


def run(args: list[str] | None) -> int:
    """Run a command line, by default that of the process; report its error, and return one of the exit codes of
    `docs/reference/cli.md`.
    """
    try:
        code = cli.main(args=args, prog_name="bobcat", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        if not isinstance(error, (InputError, _HELP_PAGE)):
            from bobcat.text.display import safe_text  # PERF: only errors need it

            vars(error)["message"] = safe_text(error.message)  # click quotes the user's input
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("aborted", err=True)
        return INTERRUPTED
    except BrokenPipeError:  # the reader closed the pipe; not an error
        _abandon_stdout()
        return 0
    except SystemExit:
        if type(sys.stdout).__module__ != "click.utils":
            raise
        # Click handled the broken pipe first and turned it into a failure.
        _abandon_stdout()
        return 0
    except Exception as error:  # the only place that maps a coded error to an exit code; others propagate
        failure = report_failure(error)
        if failure is None:
            raise
        if isinstance(error, OSError):
            _abandon_stdout()
        return failure
    return code if isinstance(code, int) else 0


def _abandon_stdout() -> None:
    """Discard buffered output that would fail again at exit."""
    with suppress(OSError, ValueError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
