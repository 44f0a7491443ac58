"""`bobcat run`: an agent script, run by its async `main()`."""

from __future__ import annotations

import asyncio
import inspect
import runpy
import sys
import traceback
from pathlib import Path

import click

from bobcat.cli.failures import FINDINGS, report_failure
from bobcat.cli.inputs import read_bytes


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(script: str, args: tuple[str, ...]) -> int:
    """Import SCRIPT and await its `main()`, which calls `run_agent(...)`. ARGS become its `sys.argv`.

    The directory of SCRIPT is importable. Exits with 1 when the script fails.
    """
    read_bytes(script)  # what cannot be read is said as everywhere
    path = Path(script).resolve()
    sys.path.insert(0, str(path.parent))
    sys.argv = [script, *args]
    try:
        main = runpy.run_path(str(path)).get("main")
        if not inspect.iscoroutinefunction(main):
            click.echo("error: script must define an async `main()` coroutine that calls run_agent(...)", err=True)
            return FINDINGS
        try:
            inspect.signature(main).bind()
        except TypeError as error:
            click.echo(f"error: `main()` is called without arguments, and {error}; ARGS are in `sys.argv`", err=True)
            return FINDINGS
        asyncio.run(main())
    except KeyboardInterrupt:
        raise click.Abort from None
    except Exception as error:  # the script may raise anything
        failure = report_failure(error)
        if failure is not None:
            return failure
        _show_script_traceback(error, path)
        return FINDINGS
    return 0


def _show_script_traceback(error: Exception, script: Path) -> None:
    """Show where the script failed, from its own first frame on; the frames that led to it are ours."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != str(script):
        trace = trace.tb_next
    if trace is None and not isinstance(error, SyntaxError):
        trace = error.__traceback__
    click.echo("".join(traceback.format_exception(type(error), error, trace)), err=True, nl=False)
