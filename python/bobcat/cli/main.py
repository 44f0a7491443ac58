"""The entry point of `bobcat`: the list of commands, and the handling of their errors.

Commands are listed here and imported on use, so that `bobcat --help` loads neither the compiler nor rich.
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

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# section of `bobcat --help`: name: (module, attribute, one line for `bobcat --help`)
SECTIONS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Policies": {
        "init": ("bobcat.cli.init", "init", "Write a starter policy and its tests."),
        "import": ("bobcat.cli.import_", "import_", "Turn permissions of coding agents into a policy."),
        "fmt": ("bobcat.cli.fmt", "fmt", "Format policies and suites, with their comments."),
        "migrate": ("bobcat.cli.migrate", "migrate", "Rewrite policies in the current spelling, or for strict."),
        "check": ("bobcat.cli.check", "check", "Report errors and warnings of policies."),
        "test": ("bobcat.cli.test", "test", "Run the tests of policies."),
        "mutate": ("bobcat.cli.mutate", "mutate", "Change policies a little, and show what their tests miss."),
        "eval": ("bobcat.cli.eval", "eval_", "Evaluate one tool call."),
        "explain": ("bobcat.cli.explain", "explain", "Explain the decision on a tool call."),
        "diff": ("bobcat.cli.diff", "diff", "Show the calls that two policies decide differently."),
        "can": ("bobcat.cli.can", "can", "Find a call with a verdict, or prove that no such call exists."),
        "trace-can": ("bobcat.cli.trace_can", "trace_can", "Find a sequence of calls, or prove that none exists."),
        "prove": ("bobcat.cli.prove", "prove", "Prove invariants of a policy, or show calls that violate them."),
        "surface": ("bobcat.cli.surface", "surface", "Show what a policy permits, tool by tool."),
        "dead": ("bobcat.cli.dead", "dead", "List rules that decide no call, and clauses that change nothing."),
        "holes": ("bobcat.cli.holes", "holes", "Show calls that a restricting rule just misses."),
        "propose": ("bobcat.cli.propose", "propose", "Propose a rule: granted within an envelope, else asked about."),
        "proposals": ("bobcat.cli.proposals", "proposals", "List proposed rules, and revoke grants of them."),
        "replay": ("bobcat.cli.replay", "replay", "Decide recorded calls again, and show what changes."),
        "usage": ("bobcat.cli.usage", "usage", "Show what recorded calls use of a policy, and tighter rules."),
        "report": ("bobcat.cli.report", "report", "Write a page about a policy: rules, who may do what, findings."),
        "compile": ("bobcat.cli.compile", "compile_", "Compile a policy into a bundle file."),
        "inspect": ("bobcat.cli.inspect", "inspect", "Show a bundle: manifest, rules, digests."),
        "bundle": ("bobcat.cli.bundle", "bundle", "Publish, pull and serve signed releases of bundles."),
        "bundle-id": ("bobcat.cli.bundle_id", "bundle_id", "Print the digest of a policy."),
        "bench": ("bobcat.cli.bench", "bench", "Time the decisions of a policy, and compare with a baseline."),
        "packs": ("bobcat.cli.packs", "packs", "List the effects of programs that shell rules know."),
        "schema": ("bobcat.cli.schema", "schema", "Print the JSON Schema of the policy language."),
    },
    "Runs": {
        "run": ("bobcat.cli.run", "run", "Run the async `main()` of an agent script."),
        "submit": ("bobcat.cli.submit", "submit", "Decide one tool call, and execute it if that is permitted."),
        "serve": ("bobcat.cli.serve", "serve", "Decide over HTTP: OpenID AuthZEN 1.0 and JSON."),
        "proxy": ("bobcat.cli.proxy", "proxy", "Serve MCP in front of a server: every tool call is decided."),
        "mcp": ("bobcat.cli.mcp", "mcp", "Show and accept the definitions of MCP servers' tools."),
        "hook": ("bobcat.cli.hook", "hook", "Answer the tool call of a coding agent."),
        "install": ("bobcat.cli.install", "install", "Put the hook into the settings of a coding agent."),
        "trace": ("bobcat.cli.trace", "trace", "Show a journaled run as a timeline."),
        "log": ("bobcat.cli.log_command", "log", "Show, follow and check decision logs and audit events."),
        "approvals": ("bobcat.cli.approvals", "approvals", "List, show, grant and deny approvals."),
        "grants": ("bobcat.cli.grants", "grants", "List and revoke grants given ahead of time."),
        "runs": ("bobcat.cli.runs", "runs", "Queue, list, show, retry, cancel and delete runs."),
        "threads": (
            "bobcat.cli.threads",
            "threads",
            "List, show, rename, archive, export and import threads.",
        ),
        "ui": ("bobcat.cli.ui", "ui", "Show the runs and approvals of a store in a browser."),
        "worker": ("bobcat.cli.worker", "worker", "Execute queued runs."),
        "workers": ("bobcat.cli.workers", "workers", "List the workers of a store."),
        "triggers": ("bobcat.cli.triggers", "triggers", "List, show, confirm and stop triggers."),
        "undo": ("bobcat.cli.undo", "undo", "List, show and undo the changes of protected tools."),
        "spend": ("bobcat.cli.spend", "spend", "Show what runs have spent, and settle reservations."),
        "store": ("bobcat.cli.store_epoch", "store", "Show the epoch of a store, or mark it as restored."),
    },
    "Other": {
        "doctor": ("bobcat.cli.doctor", "doctor", "Check the hooks of coding agents, or a policy from lynx-agent."),
        "policy": ("bobcat.cli.policy", "policy", "`lint` and `bundle-id`, under lynx-agent's names."),
        "completion": ("bobcat.cli.completion", "completion", "Print the completion script of a shell."),
    },
}
COMMANDS = {name: command for commands in SECTIONS.values() for name, command in commands.items()}


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<10}", summary) for name, (_, _, summary) in commands.items()])


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
    """Compile and evaluate policies for AI-agent tool calls, explain the decisions, and run agents behind them.

    Start with `bobcat init`, then `bobcat check`. `bobcat COMMAND --help` describes a command.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with one of the codes of `docs/reference/cli.md`."""
    _prepare_streams()
    try:
        code = cli.main(args=args, prog_name="bobcat", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        if not isinstance(error, InputError):
            from bobcat.text.display import safe_text  # PERF: an error is shown by it, and help needs none

            vars(error)["message"] = safe_text(error.message)  # click quotes the user's input
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("aborted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader closed the pipe; not an error
        _abandon_stdout()
        sys.exit(0)
    except SystemExit:
        if type(sys.stdout).__module__ != "click.utils":
            raise
        # Click handled the broken pipe first and turned it into a failure.
        _abandon_stdout()
        sys.exit(0)
    except Exception as error:  # the only place that maps a coded error to an exit code; others propagate
        failure = report_failure(error)
        if failure is None:
            raise
        if isinstance(error, OSError):
            _abandon_stdout()
        sys.exit(failure)
    sys.exit(code if isinstance(code, int) else 0)


def _prepare_streams() -> None:
    """Replace closed streams, and prevent encoding errors of the terminal."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  # it stays open as long as the process
            setattr(sys, name, stream)
        if mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Discard buffered output that would fail again at exit."""
    with suppress(OSError, ValueError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
