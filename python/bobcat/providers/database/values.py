"""Values of rows as JSON, and the rows that fit into a result."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, TypeAlias

from bobcat.providers.database.limits import SqlLimits
from bobcat.text.json_text import json_text

Value: TypeAlias = Any  # Any: JSON


def json_value(value: object) -> Value:
    """The JSON form of a value: bytes as base64, dates in ISO form, decimals and other types as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes() | bytearray() | memoryview():
            return {"base64": base64.b64encode(value).decode()}
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():g} s"
        case Mapping():
            return {str(key): json_value(item) for key, item in value.items()}
        case list() | tuple():
            return [json_value(item) for item in value]
        case _:
            return str(value)


class Rows:
    """The rows of a result, up to the caps."""

    def __init__(self, limits: SqlLimits) -> None:
        self._limits = limits
        self._room = limits.characters
        self.rows: list[list[Value]] = []
        self.truncated = False

    def add(self, row: Sequence[object]) -> bool:
        """Add a row; False for one that does not fit, which ends the result."""
        values = [json_value(value) for value in row]
        self._room -= len(json_text(values)) if len(self.rows) < self._limits.rows else self._room + 1
        if self._room < 0:
            self.truncated = True
            return False
        self.rows.append(values)
        return True

    def result(self, columns: Sequence[str]) -> dict[str, Value]:
        """The result of a query."""
        return {"columns": list(columns), "rows": self.rows, "truncated": self.truncated}
