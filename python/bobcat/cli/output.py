"""What the commands write: diagnostics, decisions, JSON and files."""

from __future__ import annotations

import json
import linecache
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.failures import InputError, reason_of

if TYPE_CHECKING:
    from rich.console import Console

    from bobcat.diagnostics import Diagnostic
    from bobcat.model import Decision


def wants_colour(*, err: bool = False) -> bool:
    """Whether to colour: only on a terminal, and never under `NO_COLOR` (https://no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    return (sys.stderr if err else sys.stdout).isatty()


PIPE_WIDTH = 10_000  # lines of a pipe are not wrapped: other programs read them


def console() -> Console:
    """A rich console on stdout that guesses no markup in what users wrote. It wraps on a terminal only."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(no_color=not wants_colour(), highlight=False, markup=False, emoji=False, width=width)


def show_diagnostics(diagnostics: Sequence[Diagnostic], sources: Mapping[str, str], *, err: bool = False) -> None:
    """Print diagnostics as text, with the source lines they point at."""
    if not diagnostics:
        return
    from bobcat.render import render_text

    sources = {**_texts(diagnostics), **sources}
    click.echo(render_text(diagnostics, sources, color=wants_colour(err=err)), err=err, color=True)


def _texts(diagnostics: Sequence[Diagnostic]) -> dict[str, str]:
    """The texts of the Python files that findings point into."""
    files = {item.span.file for item in diagnostics if item.span is not None}
    return {file: text for file in files if (text := "".join(linecache.getlines(file)))}


def write_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=_mapping))


def _mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def write_file(path: str, text: str) -> None:
    """Write a text file, or say why it cannot be written."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write `{path}`: {reason_of(error)}") from error


def decision_to_json(decision: Decision) -> dict[str, Any]:  # Any: JSON
    """A decision as `eval --format json` and `explain --format json` print it."""
    return {
        "verdict": str(decision.verdict),
        "reason": decision.reason,
        "matched_rules": list(decision.matched_rules),
        "approvers": list(decision.approvers),
        "approvals_needed": decision.approvals_needed,
        "timeout_seconds": decision.timeout_seconds,
        "transform_args": decision.transform_args,
    }


VERDICT_COLOURS = {
    "allow": "green",
    "deny": "red",
    "dry_run": "cyan",
    "approve_required": "yellow",
    "transform": "magenta",
}
