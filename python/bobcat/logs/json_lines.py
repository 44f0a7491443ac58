"""Log lines as JSON objects, one a line, for collectors of logs."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from bobcat.text.display import safe_json_text

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes that every record has: the others are its subject."""


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON: `time`, `level`, `logger`, `message`, and the record's own attributes."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. An attribute that is no JSON is written as its text."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _PLAIN and value is not None}
        if "traceback" not in line and record.exc_text:
            line["traceback"] = record.exc_text
        return safe_json_text(json.dumps(line, ensure_ascii=False, default=str, skipkeys=True))
