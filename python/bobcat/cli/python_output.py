"""What Python itself prints while a program of the user's runs: warnings, and log records that no handler takes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from bobcat.display import safe_text
from bobcat.logs import shown_traceback, traceback_of


@contextmanager
def safe_python_output() -> Iterator[None]:
    """Show warnings and log records of the program as untrusted text, until the end of the block."""
    format_before, last = warnings.formatwarning, logging.lastResort
    formatter = None if last is None else last.formatter

    def safe_warning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        text = format_before(safe_text(message), category, filename, lineno, line)
        return "".join(f"{safe_text(part)}\n" for part in text.rstrip("\n").split("\n"))

    warnings.formatwarning = safe_warning
    if last is not None:
        last.setFormatter(_SafeFormatter())
    try:
        yield
    finally:
        warnings.formatwarning = format_before
        if last is not None:
            last.setFormatter(formatter)


class _SafeFormatter(logging.Formatter):
    """Formats records that programs log without a handler. What it makes stays out of the record."""

    def format(self, record: logging.LogRecord) -> str:
        """The message in one safe line, and below it the traceback, indented."""
        lines = [safe_text(record.getMessage())]
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            lines.append(shown_traceback(traceback_of(error)))
        return "\n".join(lines)
