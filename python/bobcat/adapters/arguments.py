"""Tool arguments as a model sent them: read strictly, kept as sent when they cannot be read.

Arguments that are no JSON object are a `problem` (see `ToolCall`): the call is recorded with what was sent, the model
is told, and nothing runs.
"""

from __future__ import annotations

import json
from typing import Any, Never

from bobcat.plain_json import show

RAW_ARGUMENTS = "_raw_arguments"
"""The argument under which unreadable arguments are recorded."""

CUT_OFF = "the reply was cut off before this call was complete ({reason}); it was not run"
"""The problem of a call that may be half of one."""


# Any: arguments are what JSON can hold, for all that is known.
def read_arguments(sent: object) -> tuple[dict[str, Any], str | None]:
    """The arguments, and the problem with them or None. Nothing sent means no arguments."""
    if isinstance(sent, dict):
        return dict(sent), None
    if sent is None or sent == "":
        return {}, None
    if not isinstance(sent, str):
        return {RAW_ARGUMENTS: show(sent)}, _not_an_object(sent)
    try:
        read = json.loads(sent, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return {RAW_ARGUMENTS: sent}, f"arguments are not JSON: {show(error)}"
    if not isinstance(read, dict):
        return {RAW_ARGUMENTS: sent}, _not_an_object(read)
    return read, None


def _not_an_object(value: object) -> str:
    return f"arguments must be a JSON object, got {type(value).__name__}"


def _refuse(constant: str) -> Never:
    raise ValueError(f"`{constant}` is not a JSON value")
