"""The entry point of `bobcat`: the list of commands, and what happens to the errors that leave one.

Commands are named here and imported when they run, so that `bobcat --help` loads neither the compiler nor rich.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

from bobcat.cli.failures import INTERRUPTED, InputError, report_failure
from bobcat.display import safe_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name: (module, attribute, one line for `bobcat --help`)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "init": ("bobcat.cli.init", "init", "Write a starter policy and its tests."),
    "check": ("bobcat.cli.check", "check", "Report what is wrong or doubtful in policies."),
    "compile": ("bobcat.cli.compile", "compile_", "Compile a policy into a bundle file."),
    "inspect": ("bobcat.cli.inspect", "inspect", "Show a bundle: manifest, rules, digests."),
    "eval": ("bobcat.cli.eval", "eval_", "Decide on one tool call."),
    "explain": ("bobcat.cli.explain", "explain", "Show why a tool call is decided as it is."),
    "bundle-id": ("bobcat.cli.bundle_id", "bundle_id", "Print the digest that names a policy."),
    "doctor": ("bobcat.cli.doctor", "doctor", "Show where the strict profile decides otherwise than lynx-agent."),
    "bench": ("bobcat.cli.bench", "bench", "Time the decisions of a policy, and compare with a baseline."),
    "run": ("bobcat.cli.run", "run", "Run the async `main()` of an agent script."),
    "trace": ("bobcat.cli.trace", "trace", "Show a journaled run as a timeline."),
    "log": ("bobcat.cli.log", "log", "Show, follow and check the audit events of runs."),
    "approvals": ("bobcat.cli.approvals", "approvals", "List, show, grant and deny what runs wait for."),
    "worker": ("bobcat.cli.worker", "worker", "Make queued runs."),
    "runs": ("bobcat.cli.runs", "runs", "Queue, list, show, resume and cancel runs."),
    "store": ("bobcat.cli.store_epoch", "store", "Show the epoch of a store, or say that it was restored."),
    "policy": ("bobcat.cli.policy", "policy", "`lint` and `bundle-id`, as lynx-agent names them."),
    "schema": ("bobcat.cli.schema", "schema", "Print the JSON Schema of the policy language."),
    "completion": ("bobcat.cli.completion", "completion", "Print the completion script of a shell."),
}


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
        """The command that was named; of an unknown one, say which is close."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"there is no command `{args[0]}`" + (f"; did you mean `{close[0]}`?" if close else ""))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands and options that begin so; click would import every command for its help."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=summary)
            for name, (_, _, summary) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in COMMANDS.items()])


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
    """Compile policies for AI-agent tool calls, decide with them, and explain the decisions."""


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with one of the codes of `docs/reference/cli.md`."""
    _prepare_streams()
    try:
        code = cli.main(args=args, prog_name="bobcat", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        if not isinstance(error, InputError):
            vars(error)["message"] = safe_text(error.message)  # click quotes what was written
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("aborted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader left; nothing is wrong
        _abandon_stdout()
        sys.exit(0)
    except SystemExit:
        if type(sys.stdout).__module__ != "click.utils":
            raise
        # Click saw the broken pipe first, and made a failure of it.
        _abandon_stdout()
        sys.exit(0)
    except Exception as error:  # the one place where a coded error becomes an exit code; others propagate
        failure = report_failure(error)
        if failure is None:
            raise
        if isinstance(error, OSError):
            _abandon_stdout()
        sys.exit(failure)
    sys.exit(code if isinstance(code, int) else 0)


def _prepare_streams() -> None:
    """Stand in for streams that are closed, and keep what a terminal cannot show from being an error."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  # it stays open as long as the process
            setattr(sys, name, stream)
        if mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Keep what is still buffered from being written at exit, where it would fail again."""
    with suppress(OSError, ValueError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
