"""Dataclasses as plain JSON data, for documents, records and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any


def fields_to_json(value: Any) -> dict[str, Any]:  # Any: a dataclass; JSON
    """The fields of a dataclass as plain JSON data, in order; points in time as ISO 8601."""
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> Any:  # Any: as above
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    return fields_to_json(value) if is_dataclass(value) else value
