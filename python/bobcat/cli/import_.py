"""`bobcat import`: permissions of coding agents as a policy, with a report of everything that does not carry over."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import click

from bobcat.cli.failures import InputError
from bobcat.cli.options import format_option
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.cli.importers.model import Imported

Source = tuple[str, str]


@click.command("import")
@click.argument("kind", type=click.Choice(["claude", "gemini", "codex", "agent-os"]))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("-o", "--output", metavar="POLICY", type=click.Path(dir_okay=False), help="The policy file to write.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@format_option
def import_(kind: str, files: tuple[str, ...], output: str | None, *, force: bool, output_format: str) -> None:
    """Write the permissions of another agent as a policy.

    KIND is `claude` (settings with `permissions`), `gemini` (policies in TOML), `codex` (files of rules) or `agent-os`
    (policies of the Agent OS kernel). The policy permits nothing that the source does not. What it cannot say exactly
    is stricter, and is reported on standard error with its place.
    """
    from bobcat.cli.importers.model import ImportFailed, policy_text
    from bobcat.cli.inputs import decode, read_bytes

    sources = [(name, decode(data, name)) for data, name in map(read_bytes, files)]
    try:
        imported = _READERS[kind](sources)
    except ImportFailed as error:
        raise InputError(str(error)) from error
    text = policy_text(imported, f"Imported by `bobcat import {kind}` from {', '.join(name for name, _ in sources)}.")
    _check(text)
    _write(text, imported, output, force=force, as_json=output_format == "json")


def _claude(sources: Sequence[Source]) -> Imported:
    from bobcat.cli.importers.claude import import_claude, roots_of

    home = PurePosixPath(os.path.expanduser("~"))
    return import_claude([(name, text, roots_of(PurePosixPath(os.path.abspath(name)), home)) for name, text in sources])


def _gemini(sources: Sequence[Source]) -> Imported:
    from bobcat.cli.importers.gemini import import_gemini

    return import_gemini(sources)


def _codex(sources: Sequence[Source]) -> Imported:
    from bobcat.cli.importers.codex import import_codex

    return import_codex(sources)


def _agent_os(sources: Sequence[Source]) -> Imported:
    from bobcat.cli.importers.agent_os import import_agent_os

    return import_agent_os(sources)


_READERS: dict[str, Callable[[Sequence[Source]], Imported]] = {
    "claude": _claude,
    "gemini": _gemini,
    "codex": _codex,
    "agent-os": _agent_os,
}


def _check(text: str) -> None:
    """Compile the policy; its source may hold more than a policy can."""
    import warnings

    from bobcat.compiler import compile_policy
    from bobcat.errors import PolicyCompileError, PolicyWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            compile_policy(text, "imported.yaml")
    except PolicyCompileError as error:
        raise InputError(f"the imported rules do not compile: {error}") from error


def _write(text: str, imported: Imported, output: str | None, *, force: bool, as_json: bool) -> None:
    from bobcat.cli.output import write_file, write_json

    if output is not None:
        if Path(output).exists() and not force:
            raise InputError(f"`{output}` already exists; `--force` overwrites it")
        write_file(output, text)
    if as_json:
        notes = [{"place": note.place, "source": note.source, "effect": note.effect} for note in imported.notes]
        write_json({"policy": text, "rules": len(imported.rules), "notes": notes, "output": output})
        return
    for note in imported.notes:
        place = f"{safe_text(note.place)}: " if note.place else ""
        click.echo(f"{place}note: {safe_text(note.source)}: {safe_text(note.effect)}", err=True)
    if output is None:
        click.echo(text, nl=False)
    else:
        rules = len(imported.rules)
        click.echo(f"{safe_text(output)}: {rules} rule{'s' * (rules != 1)}, {len(imported.notes)} notes")
