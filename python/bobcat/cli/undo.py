"""`bobcat undo`: the changes that can be undone, their differences, and the undo of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError
from bobcat.cli.inputs import PolicySource, read_private_key
from bobcat.cli.options import Decorated, format_option
from bobcat.cli.output import echo_line, show_list, show_rows, write_json
from bobcat.cli.store import since
from bobcat.cli.submit import exit_code, opened, show_outcome, submitted
from bobcat.text.display import safe_name, safe_text
from bobcat.tools.named_object import load_tool_functions

if TYPE_CHECKING:
    from bobcat.bundle import Policy
    from bobcat.tools.toolset import ToolSet
    from bobcat.undo import Undo, UndoEntry
    from bobcat.undo.recovery import Recovered

T = TypeVar("T")

OPERATOR = "rules: [{id: operator, match: {tool: undo.apply}, decision: allow}]"
"""The policy of `apply` without `--policy`: who runs the command decides."""

store_option = click.option(
    "--store", "store_url", metavar="URL", required=True, envvar="BOBCAT_UNDO_STORE", show_envvar=True,
    help="The undo store: a path, sqlite:///PATH or postgres://...",
)  # fmt: skip
key_option = click.option("--key", "key_file", metavar="FILE", help="The key of encrypted snapshots: 32 bytes, or hex.")


def source_options(function: Decorated) -> Decorated:
    """`--root` and `--tools`: what opens the resources of an entry."""
    tools = click.option("--tools", metavar="MODULE:NAME", help="A `ToolSet` with the tools that made the changes.")
    roots = click.option(
        "--root", "roots", multiple=True, metavar="DIRECTORY", help="A root of the files provider; repeatable."
    )
    return tools(roots(function))


@click.group()
def undo() -> None:
    """List, show and undo the changes of protected tools."""


@undo.command("list")
@store_option
@click.option("--tool", metavar="NAME", help="Only changes by this tool.")
@click.option("--target", metavar="NAME", help="Only changes of this target.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), default=100, show_default=True, help="Most entries.")
@format_option
def list_(store_url: str, tool: str | None, target: str | None, limit: int, output_format: str) -> None:
    """List the changes that have not expired, the newest first."""

    async def work(undo: Undo) -> list[UndoEntry]:
        return await undo.entries(tool=tool, target=target, limit=limit)

    found = _with_undo(store_url, None, work)
    now = datetime.now(UTC)

    def line(entry: UndoEntry) -> str:
        moved = f" to {safe_name(entry.to)}" if entry.to else ""
        undoes = f"  undoes {entry.undoes}" if entry.undoes else ""
        return (
            f"{entry.id}  {entry.state}  {since(entry.created, now)} ago  {safe_name(entry.tool)} "
            f"{safe_name(entry.target)}{moved}  {entry.size} B{undoes}"
        )

    show_list(found, output_format, line, none="no changes to undo")


@undo.command()
@click.argument("id", metavar="ID")
@store_option
@key_option
@source_options
@format_option
def show(
    id: str, store_url: str, key_file: str | None, *, roots: tuple[str, ...], tools: str | None, output_format: str
) -> None:
    """Show one change, and what its undo would change now, as a diff of text."""
    from bobcat.undo.undo import describe

    given = _tools(roots, tools)

    async def work(undo: Undo) -> tuple[UndoEntry, dict[str, tuple[str | None, str | None]]]:
        undo.restore_with(given)
        return await undo.get(id), await undo.texts(id)

    entry, texts = _with_undo(store_url, key_file, work)
    if output_format == "json":
        kept = {name: {"snapshot": one, "present": other} for name, (one, other) in texts.items()}
        write_json({**entry.to_json(), "texts": kept})
        return
    show_rows([
        ("entry", f"{entry.id}, {entry.state}"),
        ("tool", safe_name(entry.tool)),
        ("target", safe_name(entry.target)),
        ("to", safe_name(entry.to) if entry.to else None),
        ("size", f"{entry.size} B"),
        ("made", entry.created.isoformat(timespec="seconds")),
        ("until", entry.expires.isoformat(timespec="seconds")),
        ("undoes", entry.undoes),
    ])  # fmt: skip
    for line in describe(texts).splitlines():
        echo_line(safe_text(line))


@undo.command()
@click.argument("id", metavar="ID")
@store_option
@key_option
@source_options
@click.option("--force", is_flag=True, help="Overwrite a state that changed since.")
@click.option("--policy", "policy_file", metavar="FILE", help="The policy that decides on `undo.apply`.")
@click.option("--log", metavar="FILE|URL", help="The decision log: SQLite, JSONL for `.jsonl`, or a URL.")
@click.option("--principal", default="user:anonymous", show_default=True, metavar="KIND:ID", help="Who undoes.")
@click.option("--environment", default="dev", show_default=True, metavar="NAME", help="The environment.")
@format_option
def apply(
    id: str, store_url: str, key_file: str | None, *, roots: tuple[str, ...], tools: str | None, force: bool,
    policy_file: str | None, output_format: str, **given: Any,
) -> int:  # fmt: skip  # Any: the options above
    """Undo one change, by `undo.apply` and the policy if one is given. Exits as `bobcat submit` does.

    Example: bobcat undo apply 0bb3ef78b68c4f7ea3bee50a3f349708 --store undo.db --root workspace
    """
    policy, known = _policy(policy_file), _tools(roots, tools)

    async def work(undo: Undo) -> Any:
        undo.restore_with(known)
        entry = await undo.get(id)
        args = {"id": id, "tool": entry.tool, "target": entry.target, "to": entry.to, "force": force}
        return await submitted(policy, undo.tools(), args, tool="undo.apply", **given)

    outcome = _with_undo(store_url, key_file, work)
    show_outcome(outcome, output_format)
    return exit_code(outcome)


@undo.command()
@store_option
@key_option
@source_options
@format_option
def recover(
    store_url: str, key_file: str | None, *, roots: tuple[str, ...], tools: str | None, output_format: str
) -> int:
    """Settle the changes whose process ended in between, by the present state of their resources.

    Exits with 1 when one of them cannot be settled.
    """
    given = _tools(roots, tools)

    async def work(undo: Undo) -> Any:
        undo.restore_with(given)
        return await undo.recover()

    found = _with_undo(store_url, key_file, work)

    def line(each: Recovered) -> str:
        state = each.state or "removed: it did not happen"
        problem = f": {safe_text(each.problem)}" if each.problem else ""
        return f"{each.id}  {safe_name(each.tool)} {safe_name(each.target)}  {state}{problem}"

    show_list(found, output_format, line, none="nothing to recover", to_json=asdict)
    return FINDINGS if any(each.problem for each in found) else 0


def _with_undo(url: str, key_file: str | None, work: Callable[[Undo], Awaitable[T]]) -> T:
    """Call `work` with the undo store, and close it. Errors of it are those of an input."""
    from bobcat.undo import Undo, UndoError

    async def main() -> T:
        key = None if key_file is None else read_private_key(key_file)
        async with Undo(url, key=key, must_exist=True) as undo:
            return await work(undo)

    try:
        return asyncio.run(main())
    except UndoError as error:
        raise InputError(f"{error} ({error.code})") from error
    except (ValueError, ModuleNotFoundError) as error:
        raise InputError(str(error)) from error


def _tools(roots: tuple[str, ...], tools: str | None) -> ToolSet:
    """The tools that open the resources of entries."""
    from bobcat.guard.tools import tool_set
    from bobcat.tools.toolset import ToolSet

    found = ToolSet() if tools is None else tool_set(load_tool_functions(tools))
    if roots:
        from bobcat.providers import files

        try:
            found = ToolSet({**found.tools, **files({root: root for root in roots}).tools})
        except (OSError, NotImplementedError) as error:
            raise InputError(f"the roots cannot be opened: {error}") from error
    if not found.tools:
        raise click.UsageError("name what opens the resources: `--root DIRECTORY` for files, or `--tools MODULE:NAME`")
    return found


def _policy(path: str | None) -> Policy:
    from bobcat.bundle import Policy

    return Policy.compile(OPERATOR) if path is None else opened(PolicySource(path, "strict", ()))
