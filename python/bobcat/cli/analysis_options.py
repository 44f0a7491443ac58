"""Options, progress and exit codes that the commands of exact analysis share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import FINDINGS, UNREADABLE
from bobcat.cli.options import Decorated, FiniteRange
from bobcat.text.display import safe_name

if TYPE_CHECKING:
    from bobcat.analysis.engine import Progress
    from bobcat.analysis.model import Answer
    from bobcat.bundle import Policy

UNKNOWN = 5
"""Exit code of an answer that is unknown."""

VERDICTS = ("allow", "transform", "dry_run", "approve_required", "deny")
"""Verdicts from the loosest to the strictest."""

budget_option = click.option(
    "--budget",
    type=FiniteRange(0, min_open=True),
    metavar="SECONDS",
    help="Seconds for all questions of the command: what is not reached is `unknown`.",
)


def tool_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse the name of a tool that is not UTF-8 on the command line."""
    if value is not None and any("\ud800" <= char <= "\udfff" for char in value):
        raise click.BadParameter(f"{value!a} is not UTF-8.", context, parameter)
    return value


def note_unnamed_tool(policy: Policy, tool: str | None) -> None:
    """Note on stderr that no rule names a tool, but one that is spelt like it: the question stays as it is."""
    from bobcat.analysis.tool_names import tools_of

    known = [] if tool is None else sorted(tools_of(policy.ir))
    if tool is None or tool in known:
        return
    from bobcat.frontend.suggest import closest  # PERF: most tools are named

    near = closest(tool, known)
    if near is not None:
        click.echo(f"note: no rule names the tool `{safe_name(tool)}`; did you mean `{safe_name(near)}`?", err=True)


def exits_unreadable(command: Decorated) -> Decorated:
    """Exit with 3 for a policy with errors: 1 is an answer of the command."""

    @wraps(command)
    def guarded(*args: Any, **given: Any) -> Any:  # Any: click passes what the decorators declare
        from bobcat.cli.failures import report_failure
        from bobcat.errors import PolicyCompileError

        try:
            return command(*args, **given)
        except PolicyCompileError as error:
            report_failure(error)
            return UNREADABLE
        except click.exceptions.Exit as leaving:
            code = UNREADABLE if leaving.exit_code == FINDINGS else leaving.exit_code
            raise click.exceptions.Exit(code) from leaving

    return guarded


@contextmanager
def analysis_progress() -> Iterator[Progress | None]:
    """Show on a terminal how many tools are analysed."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label="analysing", file=sys.stderr, item_show_func=_shown) as bar:

        def report(done: int, total: int, tool: str) -> bool:
            bar.length = max(total, 1)
            bar.update(done - bar.pos, tool)
            return True

        yield report


def _shown(tool: str | None) -> str:
    return "" if tool is None else safe_name(tool, limit=40)


def answer_code(answer: Answer, *, witness: int, proof: int) -> int:
    """Return the exit code of an answer: 5 for an unknown."""
    from bobcat.analysis.model import Proof, Witness

    match answer:
        case Witness():
            return witness
        case Proof():
            return proof
        case _:
            return UNKNOWN
