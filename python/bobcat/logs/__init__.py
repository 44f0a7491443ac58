"""Loggers of the package: one for each part, silent unless the program listens.

    log = logger("workers")
    log.info("run %s: succeeded", run_id, extra={"run_id": run_id})

The subject of a record is also in its attributes (`run_id`, `correlation_id`, `step`, `tool`, `verdict`, `status`,
...), for handlers that write structured lines; one named `traceback` is written below the message. Messages and
tracebacks are escaped here, for every handler.
"""

from __future__ import annotations

import logging
import traceback
from typing import IO, Literal

from bobcat.logs.json_lines import JsonFormatter
from bobcat.text.display import safe_text

ROOT = "bobcat"
MAX_TRACEBACK_CHARS = 16_000
"""A longer traceback loses its beginning."""


def logger(part: str) -> logging.Logger:
    """The logger `bobcat.PART`. Handlers of the program see safe text only."""
    root = logging.getLogger(ROOT)
    if not root.handlers:  # else Python itself would print warnings
        root.addHandler(logging.NullHandler())
    found = logging.getLogger(f"{ROOT}.{part}")
    if not any(isinstance(known, _Safe) for known in found.filters):
        found.addFilter(_Safe())
    return found


def traceback_of(error: BaseException) -> str:
    """The traceback of an exception, unescaped."""
    text = "".join(traceback.format_exception(error)).rstrip("\n")
    cut = len(text) - MAX_TRACEBACK_CHARS
    return text if cut <= 0 else f"[{cut:,} characters left out]\n{text[cut:]}"


def shown_traceback(text: str) -> str:
    """A traceback that is safe to show. Its lines are indented, so that they cannot forge a log line."""
    return "\n".join(f"  | {safe_text(line)}" for line in text.split("\n"))


def log_to(stream: IO[str], level: str, *, format: Literal["text", "json"] = "text") -> logging.Handler:
    """Write the package's log lines to `stream`, from `level` on. Returns the handler for `stop_logging`."""
    handler = logging.StreamHandler(stream)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if format == "json" else text)
    root = logging.getLogger(ROOT)
    root.addHandler(handler)
    root.setLevel(level.upper())
    return handler


def stop_logging(handler: logging.Handler) -> None:
    """Undo `log_to`."""
    root = logging.getLogger(ROOT)
    root.removeHandler(handler)
    root.setLevel(logging.NOTSET)


class _Safe(logging.Filter):
    """Escapes the text of records. Their attributes are left to the handlers."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, with its message and its traceback escaped."""
        record.msg, record.args = safe_text(record.getMessage()), None
        error = record.exc_info[1] if record.exc_info else None
        trace = traceback_of(error) if error is not None else getattr(record, "traceback", None)
        if isinstance(trace, str) and not record.exc_text:  # the text that a formatter writes below the message
            record.exc_text = shown_traceback(trace)
        return True


__all__ = ["ROOT", "log_to", "logger", "shown_traceback", "stop_logging", "traceback_of"]
