"""Output of the commands: diagnostics, decisions, JSON and files."""

from __future__ import annotations

import errno
import linecache
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.json_document import encoded, json_document
from bobcat.text.display import wrapped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from bobcat.diagnostics.model import Diagnostic

T = TypeVar("T")


def wants_colour(*, err: bool = False) -> bool:
    """Return true if output may use colours, bold and dim: only on a capable terminal, and never under `NO_COLOR`."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown"):
        return False
    return (sys.stderr if err else sys.stdout).isatty()


PIPE_WIDTH = 10_000  # lines of a pipe are not wrapped: other programs read them


def console() -> Console:
    """Return a rich console on stdout that interprets no markup in user text. It wraps only on a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """Let `main` handle a broken pipe; rich would exit with 1."""
            raise BrokenPipeError(errno.EPIPE, "the reader has left")

    # Without a colour system, rich writes no bold, and `FORCE_COLOR` has no effect on a pipe.
    system: Literal["auto"] | None = "auto" if wants_colour() else None
    return Plain(color_system=system, highlight=False, markup=False, emoji=False, width=width)


def show_diagnostics(diagnostics: Sequence[Diagnostic], sources: Mapping[str, str], *, err: bool = False) -> None:
    """Print diagnostics as text, with their source lines."""
    if not diagnostics:
        return
    from bobcat.diagnostics.render import render_text

    sources = {**_texts(diagnostics), **sources}
    click.echo(render_text(diagnostics, sources, color=wants_colour(err=err)), err=err, color=True)


def _texts(diagnostics: Sequence[Diagnostic]) -> dict[str, str]:
    """Return the texts of the Python files that findings refer to."""
    files = {item.span.file for item in diagnostics if item.span is not None}
    return {file: text for file in files if (text := "".join(linecache.getlines(file)))}


def show_rows(rows: Iterable[tuple[str, str | None]], *, width: int = 10) -> None:
    """Print a name and a safe text in each row; rows without a text are omitted.

    On a terminal, a long row continues below its text, so that no part of it appears in the name column.
    """
    for name, text in rows:
        if text:
            echo_line(f"{name:<{width}} {text}", indent=" " * width + " | ")


def show_list(
    found: Sequence[T],
    output_format: str,
    line: Callable[[T], str],
    *,
    none: str,
    to_json: Callable[[T], object] = methodcaller("to_json"),
) -> None:
    """Print JSON, or a safe line for each item. Without items, the text `none` goes to stderr."""
    if output_format == "json":
        write_json([to_json(each) for each in found])
        return
    for each in found:
        echo_line(line(each))
    if not found:
        click.echo(none, err=True)


def echo_line(line: str, *, indent: str = "    | ", err: bool = False) -> None:
    """Print one safe line, wrapped to the width of a terminal."""
    if (sys.stderr if err else sys.stdout).isatty():
        from shutil import get_terminal_size  # PERF: 2 ms, and a pipe has no size

        line = "\n".join(wrapped(line, get_terminal_size().columns - 1, indent=indent))
    click.echo(line, err=err)


def hanging(out: Console, text: Text, indent: str = "    | ") -> Text:
    """Wrap a line to the console's width, with `indent` before continuation lines: padding in user text cannot imitate
    the start of a line. In a pipe it stays one line.
    """
    from rich.text import Text

    if not out.is_terminal or text.cell_len <= out.width:
        return text
    pieces = text.wrap(out, max(out.width - len(indent), 8), overflow="fold")
    return Text("\n").join([pieces[0], *(Text(indent, style="dim") + piece for piece in pieces[1:])])


def write_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json_document(value))


def echo_json(text: str) -> None:
    """Print JSON in UTF-8, independent of the encoding of stdout; characters unsafe to display are escaped."""
    click.echo(encoded(text))


def write_file(path: str, text: str, *, keep_mode: bool = False) -> None:
    """Write a text file atomically, or report the reason that it cannot be written; `keep_mode`: keep its mode."""
    from bobcat.bundle.file import write

    try:
        write(path, text.encode("utf-8"), keep_mode=keep_mode)
    except OSError as error:
        raise InputError(f"cannot write `{path}`: {reason_of(error)}") from error


VERDICT_COLOURS = {
    "allow": "green",
    "deny": "red",
    "dry_run": "cyan",
    "approve_required": "yellow",
    "transform": "magenta",
}
