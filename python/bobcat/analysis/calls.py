"""A call as data and as one line: only what differs from the defaults of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bobcat.model.decision import ActionRequest
from bobcat.model.defaults import CONTEXT, DECLARED
from bobcat.model.request_json import context_data, declared_data
from bobcat.text.display import safe_json, safe_name, safe_text

MOST_SHOWN = 400
"""Characters of the arguments of a call."""


def call_data(request: ActionRequest) -> dict[str, Any]:  # Any: JSON
    """Return a call as a request in JSON data, without the keys that have their defaults."""
    found: dict[str, Any] = {"tool": request.tool, "args": plain(request.args)}
    declared = _changed(declared_data(request.declared), declared_data(DECLARED))
    context = _changed(context_data(request.context), context_data(CONTEXT))
    return found | ({"declared": declared} if declared else {}) | ({"context": context} if context else {})


def call_text(request: ActionRequest) -> str:
    """Return a call in one line that is safe to show."""
    data = call_data(request)
    parts = [safe_name(request.tool), safe_json(data["args"], limit=MOST_SHOWN)]
    for head in ("declared", "context"):
        for name, value in data.get(head, {}).items():
            parts.append(f"{head}.{safe_text(name)}={safe_json(value, limit=MOST_SHOWN)}")
    return " ".join(parts)


def plain(value: Any) -> Any:  # Any: JSON, or its frozen forms
    """Return a value of a request as plain JSON data."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _changed(given: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    return {name: plain(value) for name, value in given.items() if value != default.get(name)}
