"""`bobcat log`: a file of audit events or a decision log, by its content; and the subcommands for decision logs.

`bobcat log FILE` has no subcommand, so a first argument that names one is the subcommand unless it is the only argument
besides options and a file has this name; `bobcat log ./verify` is always the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bobcat.cli.inputs import STDIN
from bobcat.cli.log import log as audit_log

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SUBCOMMANDS = {
    "verify": "Verify a decision log: its chain, its end and its checkpoints.",
    "export": "Write the entries of a decision log as JSON lines.",
    "prune": "Remove old entries of a decision log; the rest stays verifiable.",
    "checkpoint": "Sign the present state of a decision log.",
    "proof": "Prove that an entry, or an earlier state, is part of a decision log.",
}
STATUSES = (
    "ok", "denied", "previewed", "waiting", "unknown", "invalid", "failed", "uncertain", "permitted", "asked",
)  # fmt: skip
_SHARED = frozenset(("file", "tools", "since", "follow", "full", "output_format"))
"""Options of both kinds of file."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_FIELDS = frozenset(("at", "body", "hash", "kind", "previous", "record_id", "seq"))
_FIRST_LINE = 1024 * 1024
"""Bytes of a first line that are read to detect the kind of a file."""

_own_options = (
    click.Option(
        ["--status", "statuses"],
        multiple=True,
        type=click.Choice(STATUSES),
        metavar="STATUS",
        help="Records with this status.",
    ),
    click.Option(["--principal"], metavar="ID", help="Records of this principal: ID, or KIND:ID."),
    click.Option(["--limit"], type=click.IntRange(1), metavar="N", help="The newest N only."),
    click.Option(["--diverged"], is_flag=True, help="Groups of the decisions that a candidate policy makes otherwise."),
    click.Option(["--entries"], is_flag=True, help="The chain of entries instead of the records."),
)


def _complete_file(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    found = [CompletionItem(name, help=text) for name, text in SUBCOMMANDS.items() if name.startswith(incomplete)]
    return [*found, CompletionItem(incomplete, type="file")]


_file = click.Argument(
    ["file"], metavar="FILE", type=click.Path(allow_dash=True), shell_complete=_complete_file
)  # fmt: skip


class LogCommand(click.Command):
    """`bobcat log FILE`, or one of the subcommands."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:  # Any: click's own
        """Parse the arguments, for the subcommand if they name one."""
        if args and args[0] in SUBCOMMANDS and not self._is_file(args):
            command = getattr(import_module("bobcat.cli.log_subcommands"), args[0])
            assert isinstance(command, click.Command)
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands."""
        with formatter.section("Commands for decision logs"):
            formatter.write_dl(list(SUBCOMMANDS.items()))

    def _is_file(self, args: list[str]) -> bool:
        """Return true if the first argument, which names a subcommand, can only be a file."""
        if not os.path.exists(args[0]) or {"--help", "-h"} & set(args):
            return False
        parser = self.make_parser(click.Context(self, resilient_parsing=True))
        try:
            values, rest, _ = parser.parse_args(list(args))
        except click.UsageError:
            return False
        return values.get("file") == args[0] and not rest


@click.pass_context
def _show(context: click.Context, /, **values: Any) -> Any:  # Any: click's own
    """Show the records of a decision log, or the audit events in FILE as `jsonl_sink` writes them, one line each.

    FILE is a path, the URL of a log (postgresql://...), or `-`: audit events on standard input. Of a decision log, one
    line shows one submission with its latest status; --entries shows the chain. Options of the other kind of file are
    rejected. Damaged lines of audit events are reported on standard error, with their numbers; with --decide-again, the
    command exits with 1 if a decision differs.
    """
    file, own = values["file"], {option.name for option in _own_options}
    is_log = is_decision_log(file)
    option = _foreign_option(context, {item.name for item in audit_log.params} - _SHARED if is_log else own)
    if option is not None and is_log:
        from bobcat.decision_log.target import shown_target

        raise click.UsageError(f"`{option}` is for audit events, and `{shown_target(file)}` is a decision log", context)
    if option is not None:
        raise click.UsageError(f"`{option}` is for a decision log, and `{file}` has audit events", context)
    if is_log:
        from bobcat.cli.log_records import show_log

        chosen = {name: value for name, value in values.items() if name in own | _SHARED - {"file"}}
        return show_log(file, **chosen)
    assert audit_log.callback is not None
    return audit_log.callback(**{name: value for name, value in values.items() if name not in own})


def _foreign_option(context: click.Context, names: Collection[str | None]) -> str | None:
    """The first given option among `names`."""
    from bobcat.cli.options import bundle_checks

    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") not in (ParameterSource.DEFAULT, None)
        # The context keeps the values of these options, and not their sources.
        kept = not parameter.expose_value and getattr(bundle_checks(), parameter.name or "", None) is not None
        if parameter.name in names and (given or kept):
            return max(parameter.opts, key=len)
    return None


def is_decision_log(file: str) -> bool:
    """Return true for a URL, a SQLite file, and a file of lines that are entries of a decision log."""
    if file == STDIN:
        return False
    if _URL.match(file) or os.path.exists(f"{file}-head"):
        return True
    if not os.path.isfile(file):  # a pipe gives its first line once
        return False
    try:
        with open(file, "rb") as opened:
            line = opened.readline(_FIRST_LINE)
    except OSError:
        return False
    if line.startswith(b"SQLite format 3\0"):
        return True
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and set(first) == _FIELDS


log = LogCommand("log", callback=_show, help=_show.__doc__, params=[_file, *_own_options, *audit_log.params[1:]])
