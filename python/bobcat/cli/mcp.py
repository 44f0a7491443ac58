"""`bobcat mcp`: the accepted definitions of the tools of MCP servers."""

from __future__ import annotations

import asyncio
import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import NOT_ALLOWED
from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, write_json
from bobcat.cli.proxy_servers import DEFAULT_NAME, server_options, servers_of
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from bobcat.adapters.mcp_pins_file import Pin, Servers
    from bobcat.proxy.upstream import Server


@click.group()
def mcp() -> None:
    """Show and accept the definitions of the tools of MCP servers."""


@mcp.command()
@click.option("--pins", required=True, metavar="FILE", help="The file with the accepted definitions.")
@server_options
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Accept this tool only; repeatable.")
@click.option("--yes", is_flag=True, help="Accept without asking.")
@format_option
def accept(
    *, pins: str, server: tuple[str, ...], url: str | None, header: tuple[str, ...], command: tuple[str, ...],
    tools: tuple[str, ...], yes: bool, output_format: str,
) -> int:  # fmt: skip
    """Show how the definitions of tools differ from the accepted ones, and accept them.

    COMMAND, `--url` or `--server` name servers, whose tools are listed now. Without them, the definitions are accepted
    that `bobcat proxy` has refused; `--server NAME` takes those of one server. Exits with 4 if something differs and
    is not accepted.

    Example: bobcat mcp accept --pins pins.json -- python -m notes_server
    """
    from bobcat.adapters.mcp_pins_file import read_servers, refused_path, write_servers

    path = Path(pins)
    names = tuple(each for each in server if "=" not in each)
    listed = bool(url or command or len(names) < len(server))
    if names and (listed or command):
        raise click.UsageError("`--server NAME` without a command takes what a proxy has refused; give it alone")
    try:
        known = read_servers(path) if path.exists() else {}
        refused = read_servers(refused_path(path)) if refused_path(path).exists() else {}
        found = _listed(servers_of(server, url, header, command)) if listed else _only(refused, names)
    except ValueError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"cannot read `{error.filename or pins}`: {reason_of(error)}") from error
    changes = list(_changes(known, found, tools, gone=listed))
    _show(changes, output_format)
    if not changes:
        return 0
    if not yes and not _agreed(output_format):
        return NOT_ALLOWED
    for name, tool, _, new in changes:
        if new is None:
            known.get(name, {}).pop(tool, None)
        else:
            known.setdefault(name, {})[tool] = new
            refused.get(name, {}).pop(tool, None)
    try:
        write_servers(path, known)
        if refused_path(path).exists():
            write_servers(refused_path(path), {name: each for name, each in refused.items() if each})
    except OSError as error:
        raise InputError(f"cannot write `{pins}`: {reason_of(error)}") from error
    echo_line(f"accepted {len(changes)} in {safe_text(pins)}", err=True)
    return 0


Change = tuple[str, str, "Pin | None", "Pin | None"]
"""A server, a tool, the accepted pin and the new one; None without."""


def _listed(servers: tuple[Server, ...]) -> Servers:
    from bobcat.adapters.mcp_pins_file import pin
    from bobcat.proxy.listing import list_definitions
    from bobcat.proxy.message import MessageError
    from bobcat.proxy.upstream import UpstreamError

    try:
        return {
            each.name: {entry["name"]: pin(entry) for entry in asyncio.run(list_definitions(each))} for each in servers
        }
    except (UpstreamError, MessageError) as error:
        raise InputError(str(error)) from error


def _only(refused: Servers, names: tuple[str, ...]) -> Servers:
    missing = [name for name in names if name not in refused]
    if missing:
        raise InputError(f"no definition of the server `{missing[0]}` was refused")
    return {name: tools for name, tools in refused.items() if not names or name in names}


def _changes(known: Servers, found: Servers, tools: tuple[str, ...], *, gone: bool) -> Iterator[Change]:
    from bobcat.adapters.mcp_pins_file import DEFINITION

    for name in sorted(found):
        before, after = known.get(name, {}), found[name]
        for tool in sorted({*after, *(before if gone else ())}):
            old, new = before.get(tool), after.get(tool)
            same = old is not None and new is not None and old["digest"] == new["digest"] and DEFINITION in old
            if not same and (not tools or tool in tools):
                yield name, tool, old, new


def _show(changes: list[Change], output_format: str) -> None:
    if output_format == "json":
        rows = [{"server": name, "tool": tool, "change": _kind(old, new), "parts": _parts(old, new)}
                for name, tool, old, new in changes]  # fmt: skip
        write_json({"changes": rows})
        return
    if not changes:
        echo_line("nothing differs from the accepted definitions")
    for name, tool, old, new in changes:
        where = "" if name == DEFAULT_NAME else f" of {safe_name(name)}"
        parts = ", ".join(_parts(old, new))
        echo_line(f"{_kind(old, new)}: {safe_name(tool)}{where}" + (f" ({safe_text(parts)})" if parts else ""))
        for line in _difference(old, new):
            echo_line(f"  {safe_text(line)}")


def _kind(old: Pin | None, new: Pin | None) -> str:
    return "new" if old is None else "gone" if new is None else "changed"


def _parts(old: Pin | None, new: Pin | None) -> list[str]:
    from bobcat.adapters.mcp_pins import changed_parts
    from bobcat.adapters.mcp_pins_file import DEFINITION

    if old is None or new is None:
        return []
    return changed_parts(old, {part: each for part, each in new.items() if part != DEFINITION})


def _difference(old: Pin | None, new: Pin | None) -> Iterator[str]:
    before, after = _lines(old), _lines(new)
    for line in difflib.unified_diff(before, after, lineterm="", n=2):
        if not line.startswith(("---", "+++", "@@")):
            yield line


def _lines(found: Pin | None) -> list[str]:
    from bobcat.adapters.mcp_pins_file import DEFINITION

    text = None if found is None else found.get(DEFINITION)
    if text is None:
        return []
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False).split("\n")


def _agreed(output_format: str) -> bool:
    if output_format == "json" or not sys.stdin.isatty():
        click.echo("not accepted; repeat with `--yes` to accept", err=True)
        return False
    answer: str = click.prompt("Accept?", default="no", err=True)
    return answer.strip().lower() in ("y", "yes")
