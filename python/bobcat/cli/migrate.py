"""`bobcat migrate`: rewrite policies in the current spelling, and for the strict profile."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.doctor import examination_json, show_examination
from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError
from bobcat.cli.fmt import show_diff
from bobcat.cli.inputs import Profile, compilation_inputs, policy_text, read_bytes
from bobcat.cli.options import format_option, profile_option
from bobcat.cli.output import show_diagnostics, write_file, write_json
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.migration import Change, Migration


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("--check", is_flag=True, help="Write nothing, and exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing, and show the changes; exit with 1 if there are any.")
@profile_option
@format_option
def migrate(files: tuple[str, ...], output_format: str, *, check: bool, diff: bool, profile: Profile) -> int:
    """Rewrite policies: older spellings, and with --profile lynx, policies of lynx-agent for the strict profile.

    A change is made only if the policy keeps its digest in the profile that it is written for, so every file decides
    as before. Comments are kept. The rest is listed with the reasons, and calls that the profiles decide differently.

    Exits with 0, or with 1 if something is left that only a person can change, or --check or --diff finds a change.
    """
    results = [(file, *_migrated(file, profile)) for file in files]
    dry = check or diff
    for file, before, result in results:
        if result.changes and not dry:
            write_file(file, result.text, keep_mode=True)
        elif diff and output_format != "json":
            show_diff(before, result.text, file)
    if output_format == "json":
        write_json({"version": 1, "files": [_json(file, result, written=not dry) for file, _, result in results]})
    else:
        for file, _, result in results:
            _show(file, result, dry=dry)
    changes = any(result.changes for _, _, result in results)
    complete = all(result.complete for _, _, result in results)
    return FINDINGS if not complete or (dry and changes) else 0


def _migrated(file: str, profile: Profile) -> tuple[str, Migration]:
    from bobcat.bundle import is_bundle
    from bobcat.migration import migrate

    data, name = read_bytes(file)
    if is_bundle(data):
        raise InputError(f"`{name}` is a bundle; `migrate` needs the source of a policy")
    text = policy_text(data, name)
    if profile == "lynx" and sys.stderr.isatty():
        click.echo(f"evaluating calls of {safe_text(name)} with both profiles ...", err=True)
    return text, migrate(text, name, profile, compilation_inputs(file, profile))


def _show(file: str, result: Migration, *, dry: bool) -> None:
    for change in result.changes:
        click.echo(f"{safe_text(file)}: {change.finding.code} {safe_text(change.finding.message)}")
        for sign, text in (("-", change.before), ("+", change.after)):
            for line in text.split("\n"):
                click.echo(f"    {sign} {safe_text(line.strip())}")
    if result.examination is not None:
        show_examination(result.examination, file, result.text)
    else:
        show_diagnostics(result.left, {file: result.text})
    count = len(result.changes)
    verb = "would be made" if dry else "made"
    click.echo(f"{safe_text(file)}: {count} change{'s' * (count != 1)} {verb}, {_rest(result)}")


def _rest(result: Migration) -> str:
    found = result.examination
    left = len(result.left)
    if found is None or not found.compared:
        return f"{left} not automatic" if left else "nothing left"
    parts = [f"{left} not automatic"] if left else []
    parts += [f"{len(found.differences)} decided differently in strict"] if found.differences else []
    return f"{', '.join(parts) or 'nothing left'}; {found.requests:,} calls compared"


def _json(file: str, result: Migration, *, written: bool) -> dict[str, Any]:  # Any: JSON
    found = result.examination
    return {
        "file": file,
        "complete": result.complete,
        "written": written and bool(result.changes),
        "changes": [_change_json(change) for change in result.changes],
        "not_automatic": [{"code": item.code, "message": item.message, "help": item.help} for item in result.left],
        "strict": None if found is None else examination_json(found),
    }


def _change_json(change: Change) -> dict[str, Any]:  # Any: JSON
    span = change.finding.span
    place = {} if span is None else {"line": span.line, "column": span.column}
    return {
        "code": change.finding.code,
        "message": change.finding.message,
        **place,
        "before": change.before,
        "after": change.after,
    }
