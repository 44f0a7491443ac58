"""The entry point of `bobcat`."""

from __future__ import annotations

import io
import os
import sys

from bobcat.cli.commands import COMPLETION_VARIABLE, help_page
from bobcat.cli.exit_codes import INTERRUPTED

TYPE_CHECKING = False  # PERF: see `bobcat.lazy`
if TYPE_CHECKING:
    from typing import NoReturn


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with one of the codes of `docs/reference/cli.md`."""
    _prepare_streams()
    words = sys.argv[1:] if args is None else args
    if COMPLETION_VARIABLE not in os.environ and isinstance(sys.stdout, io.TextIOWrapper):
        answered = _without_click(words)
        if answered is not None and _written(answered[0]):
            sys.exit(answered[1])
    from bobcat.cli.group import run

    sys.exit(run(args))


def _without_click(words: list[str]) -> tuple[str | bytes, int] | None:
    """Return the output and the exit code of the command lines that need no click; None for the others."""
    if words in (["--help"], ["-h"]):
        return help_page(), 0
    if words[:1] == ["eval"]:
        from bobcat.cli.plain_eval import plain_eval

        try:
            return plain_eval(words[1:])
        except KeyboardInterrupt:
            print("aborted", file=sys.stderr)
            sys.exit(INTERRUPTED)
    return None


def _written(output: str | bytes) -> bool:
    """Write to stdout; return false if that is impossible, which `run` reports."""
    try:
        if isinstance(output, str):
            sys.stdout.write(output)
        else:
            sys.stdout.buffer.write(output)
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _prepare_streams() -> None:
    """Replace closed streams, and prevent encoding errors of the terminal."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  # it stays open as long as the process
            setattr(sys, name, stream)
        if mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
