"""`bobcat test --update`: write expectations into cases that have none, after a look at the change."""

from __future__ import annotations

import sys
from dataclasses import replace
from difflib import unified_diff
from typing import TYPE_CHECKING

import click

from bobcat.cli.output import wants_colour, write_file
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.testing.suites.session import Collected, SessionResult
    from bobcat.testing.suites.update import Update

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def update(collected: Collected, result: SessionResult, *, yes: bool) -> SessionResult:
    """Show the change of each suite, ask, and write it; return the result without the cases that were written."""
    from bobcat.testing.suites.update import updates

    written: set[str] = set()
    for item in updates([suite.suite for suite in collected.suites], result.results):
        for problem in item.problems:
            click.echo(f"{safe_text(item.file)}: {safe_text(problem)}", err=True)
        if item.written and _is_accepted(item, yes=yes):
            write_file(item.file, item.after)
            click.echo(
                f"wrote {item.written} expectation{'s' * (item.written != 1)} to {safe_text(item.file)}", err=True
            )
            written |= {f"{item.file}\0{name}" for name in item.cases}
    left = tuple(case for case in result.results if f"{case.file}\0{case.case.name}" not in written)
    return replace(result, results=left, updated=len(result.results) - len(left))


def _is_accepted(item: Update, *, yes: bool) -> bool:
    file = safe_text(item.file)
    before, after = (text.removesuffix("\n").split("\n") for text in (item.before, item.after))
    for line in unified_diff(before, after, file, file, lineterm=""):
        click.secho(safe_text(line), fg=_COLOURS.get(line[:1]), color=wants_colour(err=True), err=True)
    if yes:
        return True
    if not sys.stdin.isatty():
        click.echo("nothing is written: `--yes` writes this without a question", err=True)
        return False
    return click.confirm("write these expectations?", err=True)
