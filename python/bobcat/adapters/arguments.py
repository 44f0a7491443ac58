"""Tool arguments from a model: parsed strictly, kept as sent when they are invalid.

Arguments that are not a JSON object are a `problem` (see `ToolCall`): the call is recorded as it was sent, the model
sees the problem, and nothing runs.
"""

from __future__ import annotations

import json
from typing import Any, Never

from bobcat.text.json_text import safe_str

RAW_ARGUMENTS = "_raw_arguments"
"""The argument under which unreadable arguments are recorded."""

CUT_OFF = "the reply was cut off before this call was complete ({reason}); it was not run"
"""The problem of a call that may be truncated."""


# Any: arguments are JSON of unknown shape.
def read_arguments(sent: object) -> tuple[dict[str, Any], str | None]:
    """The arguments, and the problem with them or None. An empty text means no arguments."""
    if isinstance(sent, dict):
        return dict(sent), None
    if sent is None or sent == "":
        return {}, None
    if not isinstance(sent, str):
        return {RAW_ARGUMENTS: safe_str(sent)}, _not_an_object(sent)
    try:
        read = json.loads(sent, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return {RAW_ARGUMENTS: sent}, f"arguments are not JSON: {safe_str(error)}"
    if not isinstance(read, dict):
        return {RAW_ARGUMENTS: sent}, _not_an_object(read)
    return read, None


def _not_an_object(value: object) -> str:
    return f"arguments must be a JSON object, got {type(value).__name__}"


def _refuse(constant: str) -> Never:
    raise ValueError(f"`{constant}` is not a JSON value")
