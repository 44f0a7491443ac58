"""`bobcat packs`: the effects of programs that the shell facet knows."""

from __future__ import annotations

import json
from typing import Any

import click

from bobcat.cli.failures import InputError
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, write_json
from bobcat.text.display import safe_text


@click.group()
def packs() -> None:
    """List and show packs: the effects of programs by verbs and options, for `shell` rules on `effect`."""


@packs.command("list")
@format_option
def list_(output_format: str) -> None:
    """List the packs."""
    found = [{"name": pack["name"], "about": pack["about"], "programs": _programs(pack)} for pack in _packs()]
    if output_format == "json":
        write_json(found)
        return
    for pack in found:
        click.echo(f"{pack['name']:<10} {pack['about']}: {len(pack['programs'])} programs")


@packs.command("show")
@click.argument("name", metavar="NAME")
@format_option
def show(name: str, output_format: str) -> None:
    """Show the rows of the pack NAME, or of every pack that knows the program NAME."""
    found = [pack for pack in _packs() if pack["name"] == name]
    rows = [row for pack in found for row in pack["rows"]]
    if not found:
        rows = [row for pack in _packs() for row in pack["rows"] if any(known.split()[0] == name for known in row[0])]
    if not rows:
        names = ", ".join(pack["name"] for pack in _packs())
        raise InputError(f"no pack and no program of a pack has the name `{safe_text(name)}`; the packs are {names}")
    if output_format == "json":
        write_json([{"names": names, "settings": settings, "options": options} for names, settings, options in rows])
        return
    for names, settings, options in rows:
        click.echo(f"{', '.join(names)}: {' '.join(settings)}")
        if options:
            echo_line(" ".join(options), indent="    ")


def _packs() -> list[dict[str, Any]]:  # Any: JSON of the core
    from bobcat._core import shell_packs

    found: list[dict[str, Any]] = json.loads(shell_packs())
    return found


def _programs(pack: dict[str, Any]) -> list[str]:
    names = [name for row in pack["rows"] for name in row[0]]
    return sorted({name.split()[0] for name in names if not name.startswith("@")})
