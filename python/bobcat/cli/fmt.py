"""`bobcat fmt`: format policies and suites."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING

import click

from bobcat.cli.exit_codes import FINDINGS, USAGE
from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import STDIN, read_bytes
from bobcat.cli.options import format_option
from bobcat.cli.output import show_diagnostics, wants_colour, write_file, write_json
from bobcat.cli.policy_files import policies_below
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.formatting import Formatted


@click.command()
@click.argument("paths", metavar="[FILE|DIRECTORY]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option("--check", is_flag=True, help="Write nothing, and exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing, and show the changes; exit with 1 if there are any.")
@format_option
def fmt(paths: tuple[str, ...], output_format: str, *, check: bool, diff: bool) -> int:
    """Format policies and suites of policy tests (default: those below this directory).

    `-` formats standard input to standard output. Comments are kept. A file is only written if the new text means the
    same: the same data, the same digest or errors, and the same ignored findings.

    Exits with 0, with 1 if --check or --diff finds a change, with 2 if a file cannot be formatted.
    """
    if STDIN in paths:
        return _standard_input(paths, check=check, diff=diff)
    changed: list[str] = []
    failed: list[str] = []
    files = list(_files(paths or (".",)))
    for file in files:
        before, result = _formatted(file)
        if result is None:
            failed.append(file)
        elif result.changed:
            changed.append(file)
            if diff:
                show_diff(before, result.text, file)
            if not check and not diff:
                write_file(file, result.text, keep_mode=True)
    dry = check or diff
    if output_format == "json":
        write_json({"version": 1, "files": len(files), "changed": changed, "failed": failed, "written": not dry})
    else:
        _summary(len(files), changed, failed, dry=dry)
    return USAGE if failed else FINDINGS if changed and dry else 0


def _standard_input(paths: tuple[str, ...], *, check: bool, diff: bool) -> int:
    if len(paths) > 1:
        raise click.UsageError("`-` stands alone")
    before, result = _formatted(STDIN)
    if result is None:
        return USAGE
    if diff:
        show_diff(before, result.text, "<stdin>")
    elif not check:
        click.echo(result.text.encode("utf-8"), nl=False)
    return FINDINGS if result.changed and (check or diff) else 0


def _files(paths: Iterable[str]) -> Iterator[str]:
    """Yield the named files, and the policies and suites below named directories, each once."""
    from bobcat.testing.suites.session import suite_files

    found: dict[str, None] = {}
    for path in paths:
        if not os.path.isdir(path):
            if path.endswith(".json"):
                raise InputError(f"`{path}` is JSON, which has no comments and a layout of its own")
            found[path] = None
            continue
        try:
            found.update(dict.fromkeys(sorted((*policies_below(path).policies, *suite_files([path])))))
        except OSError as error:
            raise InputError(f"cannot read `{error.filename or path}`: {reason_of(error)}") from error
    yield from {os.path.normpath(name): None for name in found}


def _formatted(path: str) -> tuple[str, Formatted | None]:
    """Return the text of a file and the formatted one; None after its errors have been shown."""
    from bobcat.formatting import POLICY, FormatError, formatted
    from bobcat.frontend.yaml.encoding import decode
    from bobcat.testing.suites.keys import ORDERS
    from bobcat.testing.suites.model import SUFFIXES

    data, name = read_bytes(path)
    text, bad = decode(data, name)
    suite = name.endswith(SUFFIXES)
    try:
        if bad is not None:
            raise FormatError(f"{name} cannot be read", (bad,))
        with_mark = "\ufeff" + text if data.startswith(b"\xef\xbb\xbf") else text
        given = None if path == STDIN else path
        return text, formatted(with_mark, name, ORDERS if suite else POLICY, policy=not suite, path=given)
    except FormatError as error:
        if error.findings:
            show_diagnostics(error.findings, {name: text}, err=True)
        else:
            click.echo(f"error: {safe_text(error)}", err=True)
        return text, None


def show_diff(before: str, after: str, file: str) -> None:
    """Print the difference of two texts of a file."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    lines = unified_diff(before.splitlines(), after.splitlines(), file, file, lineterm="")
    for number, line in enumerate(lines):
        colour = colours.get(line[:1]) if number > 1 else None
        click.secho(safe_text(line), fg=colour, color=wants_colour())


def _summary(files: int, changed: list[str], failed: list[str], *, dry: bool) -> None:
    for file in changed:
        click.echo(f"{'would format' if dry else 'formatted'} {safe_text(file)}")
    parts = [f"{len(changed)} of {files} file{'s' * (files != 1)} {'would change' if dry else 'changed'}"]
    parts += [f"{len(failed)} not formatted"] if failed else []
    click.echo(", ".join(parts))
