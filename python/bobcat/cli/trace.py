"""`bobcat trace`: show journaled runs as timelines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

import click
from click.core import ParameterSource

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError
from bobcat.cli.journal_file import read_journals
from bobcat.cli.options import format_option
from bobcat.cli.output import VERDICT_COLOURS, console, hanging, write_json
from bobcat.cli.store import records_in_store, store_option_of
from bobcat.runtime.timeline import (
    AttemptEntry,
    EndEntry,
    Entry,
    StepEntry,
    Timeline,
    TransitionEntry,
    step_notes,
    timeline,
)
from bobcat.text.display import readable_json, safe_json, safe_name, safe_text

if TYPE_CHECKING:
    from rich.text import Text

    from bobcat.journal.records import StepRecord

SHOWN_CHARS = 80
"""Characters of arguments and of a message that are shown without `--full`."""
STATUS_COLOURS = {
    "ok": "green",
    "failed": "red",
    "denied": "red",
    "uncertain": "bold yellow",
    "waiting": "yellow",
    "unfinished": "dim",
}


@click.command()
@click.argument("journal", metavar="[FILE]", required=False, type=click.Path(allow_dash=True))
@click.option("--run-id", metavar="ID", help="Show only this run; required with --store.")
@store_option_of(required=False, help="Read the journal from this store instead of a FILE.")
@click.option("--full", is_flag=True, help="Show arguments and messages in full.")
@click.option(
    "--exit-code", is_flag=True, help="Exit with 1 if an action is uncertain, a run unfinished or a journal changed."
)
@format_option
def trace(
    journal: str | None, run_id: str | None, *, store_url: str | None, full: bool, exit_code: bool, output_format: str
) -> int:
    """Show the runs in FILE, a journal with one record per line, or a run in a store, as timelines.

    Each line has the time since the run began, the step, its verdict, its outcome and the duration of the tool.
    """
    runs = _read(journal, run_id, store_url)
    lines = [timeline(records) for records in runs.values()]
    if output_format == "json":
        write_json([line.to_json() for line in lines])
    else:
        for index, line in enumerate(lines):
            if index:
                click.echo()
            _show(line, full=full)
    doubtful = any(not line.finished or line.damage or any(step.uncertain for step in line.steps) for line in lines)
    return FINDINGS if exit_code and doubtful else 0


def _read(journal: str | None, run_id: str | None, store_url: str | None) -> dict[str, list[StepRecord]]:
    """Return the records of the runs to show."""
    if journal is None:
        if store_url is None:
            raise click.UsageError("give a FILE, or `--store` and `--run-id`")
        if run_id is None:
            raise click.UsageError("`--store` needs `--run-id`; `bobcat runs list` lists the runs")
        return {run_id: records_in_store(store_url, run_id)}
    given = click.get_current_context().get_parameter_source("store_url")
    if given is ParameterSource.COMMANDLINE:
        raise click.UsageError("give a FILE or `--store`, not both")
    runs = read_journals(journal)
    if run_id is None:
        return runs
    if run_id not in runs:
        raise InputError(f"`{journal}` has no run `{run_id}`; it has {', '.join(f'`{name}`' for name in runs)}")
    return {run_id: runs[run_id]}


def _show(line: Timeline, *, full: bool) -> None:
    from rich.text import Text

    out = console()
    attempts = max(len(line.attempts), 1)
    head = Text(f"run {safe_text(line.run_id)}", style="bold")
    took = (line.ended - line.started).total_seconds()
    head.append(
        f": {line.records} records, {attempts} attempt{'s' * (attempts != 1)}, "
        f"{line.started.isoformat(timespec='seconds')} + {took:.3f} s",
        style="not bold",
    )
    out.print(hanging(out, head))
    if line.task is not None:
        out.print(hanging(out, Text(f"  task: {_cut(line.task, full=full)}")))
    for entry in line.entries:
        for text in _entry(line, entry, full=full):
            out.print(hanging(out, text))
    doubtful = [str(step.step) for step in line.steps if step.uncertain]
    if doubtful:
        many = "steps" if len(doubtful) > 1 else "step"
        words = f"  uncertain: {many} {', '.join(doubtful)} may have been executed, or more than once"
        out.print(Text(words, style="bold yellow"))
    if line.missing:
        out.print(Text(f"  records are missing: {', '.join(map(str, line.missing))}", style="bold red"))
    if line.damage is not None:
        out.print(Text(f"  the journal was changed: {safe_text(line.damage)}", style="bold red"))
    if line.final_answer is not None:
        out.print(hanging(out, Text(f"final: {_cut(line.final_answer, full=full)}", style="bold")))
    elif not line.finished:
        out.print(Text("final: (run incomplete)", style="yellow"))


def _entry(line: Timeline, entry: Entry, *, full: bool) -> list[Text]:
    match entry:
        case AttemptEntry():
            policy = safe_text((entry.bundle_id or "?")[:16])
            restored = ", after a restore of the store" if entry.restored else ""
            return [_row(line, entry.at, f"attempt {entry.number}, policy {policy}{restored}")]
        case EndEntry(attempt):
            return [_row(line, attempt.ended or attempt.at, _cut(attempt.end or "", full=full))]
        case TransitionEntry():
            words = f"{safe_name(entry.node)} {safe_text(entry.status or '')} → {safe_name(entry.next or 'done')}"
            return [_row(line, entry.at, f"hop {safe_text(entry.hop)}: {words}")]
        case StepEntry():
            return _step(line, entry, full=full)
        case _:
            assert_never(entry)


def _row(line: Timeline, at: datetime, words: str) -> Text:
    from rich.text import Text

    text = Text(f"  {(at - line.started).total_seconds():>+9.3f}  ", style="dim")
    text.append(words, style="dim")
    return text


def _step(line: Timeline, step: StepEntry, *, full: bool) -> list[Text]:
    """Return the line of a step, and the notes below it."""
    from rich.text import Text

    text = _row(line, step.at, "")
    text.append(f"step {step.step}: ", style="default")
    text.append(f"{safe_name(step.tool)}({_args(step.args, full=full)})", style="bold")
    verdict = safe_text(step.verdict or "-")
    text.append(f"  {verdict}", style=VERDICT_COLOURS.get(verdict, "dim"))
    text.append(f"  {step.status}", style=STATUS_COLOURS[step.status])
    if step.duration_ms is not None:
        text.append(f"  {safe_text(step.duration_ms)} ms", style="dim")
    colours = {"plain": "dim", "caution": "yellow", **STATUS_COLOURS}
    below = [(_cut(note.text, full=full), colours[note.kind]) for note in step_notes(step)]
    return [text, *(Text(" " * 13 + words, style=style) for words, style in below)]


def _args(args: Mapping[str, object], *, full: bool) -> str:
    if full:
        return ", ".join(f"{safe_name(name)}={safe_json(value)}" for name, value in args.items())
    raw = ", ".join(f"{name}={readable_json(value)}" for name, value in args.items())
    return safe_text(raw, limit=SHOWN_CHARS)


def _cut(text: str, *, full: bool) -> str:
    """Return one safe line: all of the text, or its beginning and the number of omitted characters."""
    return safe_text(text) if full else safe_text(" ".join(text.split()), limit=SHOWN_CHARS)
