"""`bobcat run`: run the async `main()` of an agent script."""

from __future__ import annotations

import asyncio
import inspect
import json
import runpy
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError, report_failure
from bobcat.cli.inputs import decode, read_bytes, read_narrowing
from bobcat.cli.options import narrow_option
from bobcat.logs.python_output import safe_python_output
from bobcat.runtime.extra import checked_facts
from bobcat.text.display import safe_text


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--extra",
    "extra",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value for `main(extra)`; VALUE is JSON or text. `@FILE` reads a JSON object.",
)
@narrow_option
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(script: str, args: tuple[str, ...], *, extra: tuple[str, ...]) -> int:
    """Import SCRIPT and await its `main()`, which calls `run_agent(...)`. ARGS become its `sys.argv`.

    The directory of SCRIPT is importable. A `main` with a parameter `extra` gets the values of `--extra`, to pass on
    to `run_agent(extra=...)`, and one with a parameter `narrow_with` the policy of `--narrow-with`. Exits with 1 if the
    script fails.
    """
    facts = read_facts(extra)
    narrowing = read_narrowing("")
    given = {"extra": facts, "narrow_with": narrowing}
    read_bytes(script)  # unreadable files are reported as in other commands
    path = Path(script).resolve()
    sys.path.insert(0, str(path.parent))
    sys.argv = [script, *args]
    with safe_python_output():
        return _run_main(path, given)


def _run_main(path: Path, options: Mapping[str, Any]) -> int:  # Any: JSON, or a policy
    """Run the script, whose `main` gets the options that it has parameters for. Returns the exit code.

    An option with a value that it has no parameter for would have no effect, and is an error.
    """
    try:
        main = runpy.run_path(str(path)).get("main")
        if not inspect.iscoroutinefunction(main):
            click.echo("error: script must define an async `main()` coroutine that calls run_agent(...)", err=True)
            return FINDINGS
        parameters = inspect.signature(main).parameters
        for name, value in options.items():
            if value not in (None, {}) and name not in parameters:
                option = name.replace("_", "-")
                click.echo(f"error: `--{option}` needs a parameter: `async def main({name})`", err=True)
                return FINDINGS
        given = {name: value for name, value in options.items() if name in parameters}
        try:
            inspect.signature(main).bind(**given)
        except TypeError as error:
            click.echo(
                f"error: `main()` is called without arguments, and {safe_text(error)}; ARGS are in `sys.argv`", err=True
            )
            return FINDINGS
        asyncio.run(main(**given))
    except KeyboardInterrupt:
        raise click.Abort from None
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            raise
        click.echo(safe_text(end.code, multiline=True), err=True)
        return FINDINGS
    except Exception as error:  # the script may raise anything
        failure = report_failure(error)
        if failure is not None:
            return failure
        _show_script_traceback(error, path)
        return FINDINGS
    return 0


def read_facts(given: Sequence[str]) -> dict[str, Any]:  # Any: JSON
    """Read the values of `--extra`, the last one of a name. Rejects values that `run_agent(extra=...)` would reject."""
    facts: dict[str, Any] = {}
    for text in given:
        if text.startswith("@"):
            facts.update(_facts_of_file(text[1:]))
            continue
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"`--extra {text}`: write it as NAME=VALUE or @FILE")
        try:
            facts[name] = json.loads(value)
        except (ValueError, RecursionError):
            facts[name] = value
    try:
        checked_facts(facts)
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"`--extra`: {error}") from error
    return facts


def _facts_of_file(path: str) -> dict[str, Any]:  # Any: JSON
    data, name = read_bytes(path)
    try:
        facts = json.loads(decode(data, name))
    except (ValueError, RecursionError) as error:
        raise InputError(f"`{name}` is not JSON: {error}") from error
    if not isinstance(facts, dict):
        raise InputError(f"`{name}` must hold a JSON object")
    return facts


def _show_script_traceback(error: Exception, script: Path) -> None:
    """Show the script's traceback from its own first frame on, without Bobcat's frames."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != str(script):
        trace = trace.tb_next
    if trace is None and not isinstance(error, SyntaxError):
        trace = error.__traceback__
    for entry in traceback.format_exception(type(error), error, trace):
        text = entry.removesuffix("\n")
        # Only frames have several lines; other line ends come from a message.
        click.echo(safe_text(text, multiline=text.lstrip(" |+-").startswith('File "')), err=True)
