"""Safe display of Python's own output while a user's program runs: warnings, unhandled log records, and uncaught
exceptions of threads and of object deletion.
"""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bobcat.logs import shown_traceback, traceback_of
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


@contextmanager
def safe_python_output() -> Iterator[None]:
    """Show warnings, log records and uncaught exceptions of the program as untrusted text, until the end of the block.

    The exception hooks replace the interpreter's default hooks and stay: threads and objects outlive the block.
    """
    format_before, last = warnings.formatwarning, logging.lastResort
    unraisable_before, thread_before = sys.unraisablehook, threading.excepthook
    formatter = None if last is None else last.formatter

    def safe_warning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        text = format_before(safe_text(message), category, filename, lineno, line)
        return "".join(f"{safe_text(part)}\n" for part in text.rstrip("\n").split("\n"))

    warnings.formatwarning = safe_warning
    sys.unraisablehook, threading.excepthook = _show_unraisable, _show_thread_exception
    if last is not None:
        last.setFormatter(_SafeFormatter())
    try:
        yield
    finally:
        warnings.formatwarning = format_before
        if unraisable_before is not sys.__unraisablehook__:
            sys.unraisablehook = unraisable_before
        if thread_before is not threading.__excepthook__:
            threading.excepthook = thread_before
        if last is not None:
            last.setFormatter(formatter)


def _show_unraisable(args: UnraisableHookArgs, /) -> None:
    """Show an exception like `sys.__unraisablehook__`."""
    head = args.err_msg or "Exception ignored in"
    _show_unhandled(f"{head}: {_repr(args.object)}" if args.object is not None else head, args.exc_value)


def _show_thread_exception(args: threading.ExceptHookArgs, /) -> None:
    """Show an exception like `threading.__excepthook__`: an exit of a thread is not a failure."""
    if args.exc_type is not SystemExit:
        _show_unhandled(f"Exception in thread {args.thread.name if args.thread else '<unknown>'}", args.exc_value)


def _show_unhandled(head: str, error: BaseException | None) -> None:
    if sys.stderr is None:
        return
    lines = [f"{safe_text(head)}:", *([] if error is None else [shown_traceback(traceback_of(error))])]
    print("\n".join(lines), file=sys.stderr, flush=True)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except BaseException as error:  # an exception of `__repr__` is shown in its place
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


class _SafeFormatter(logging.Formatter):
    """Formatter of unhandled log records. It does not store its output in the record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message in one safe line, and below it the traceback, indented."""
        lines = [safe_text(record.getMessage())]
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            lines.append(shown_traceback(traceback_of(error)))
        return "\n".join(lines)
