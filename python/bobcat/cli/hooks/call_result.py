"""The inputs of a hook that are no call: the result of one as its host reports it, and the user's words.

The native hook reads the same in `rust/hook/src/call_result.rs`. The forms of results were measured on the programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bobcat.cli.hooks.call import (
    RESULT_EVENTS,
    TASK_EVENTS,
    Call,
    Fields,
    HookError,
    Host,
    call_id,
    mapping_of,
    read_fields,
    read_proposal,
    text_of,
)
from bobcat.cli.hooks.exact import is_exact
from bobcat.errors import RequestError
from bobcat.model.request_json import parse_request
from bobcat.text.json_text import json_text

_GEMINI_MARKS = ("<untrusted_context>\n", "\n</untrusted_context>")
"""What Gemini CLI puts around texts of tools for its model."""
_MCP_KEYS = {"_meta", "content", "isError", "structuredContent"}
"""The keys of the result of an MCP server."""

Json = Any  # Any: JSON


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call. `args` and `value` are canonical JSON; no value: it has no exact one."""

    host: Host
    session: str
    id: str | None
    tool: str
    args: str
    value: str | None
    failed: bool


@dataclass(frozen=True, slots=True)
class UserTask:
    """The user's words in a session."""

    host: Host
    session: str
    text: str


def read_input(host: Host, text: bytes) -> Call | CallResult | UserTask:
    """Read the input of `host`. Raises `HookError`."""
    fields = read_fields(text)
    name = "" if host == "copilot" else text_of(fields, "hook_event_name")
    if name and name == RESULT_EVENTS.get(host):
        return _result(host, fields)
    if name and name == TASK_EVENTS.get(host):
        return UserTask(host, text_of(fields, "session_id"), text_of(fields, "prompt"))
    return read_proposal(host, fields)


def _result(host: Host, fields: Fields) -> CallResult:
    args = mapping_of(fields, "tool_input")
    if not is_exact(args):
        raise HookError("the arguments have no exact JSON form")
    if "tool_response" not in fields:
        raise HookError("the input has no `tool_response`")
    response, failed = fields["tool_response"], False
    if host == "gemini" and isinstance(response, Mapping):
        failed = response.get("error") is not None
        response = response.get("llmContent", response)
    if isinstance(response, Mapping) and response.keys() <= _MCP_KEYS and isinstance(response.get("content"), list):
        failed = failed or response.get("isError") is True
        structured = response.get("structuredContent")
        response = response["content"] if structured is None else structured
    session, tool = text_of(fields, "session_id"), text_of(fields, "tool_name")
    return CallResult(host, session, call_id(host, fields), tool, json_text(args), _value(host, response), failed)


def _value(host: Host, response: Json) -> str | None:
    """The value as canonical JSON. A list of one text is that text, and that of a JSON object or list is its value."""
    value = response
    if isinstance(response, list) and len(response) == 1 and isinstance(response[0], Mapping):
        block = response[0]
        if isinstance(block.get("text"), str) and block.get("type", "text") == "text":
            value = block["text"]
    if isinstance(value, str):
        value = _read(host, value) if is_exact(value) else response
    return json_text(value) if is_exact(value) else None


def _read(host: Host, text: str) -> Json:
    before, after = _GEMINI_MARKS
    if host == "gemini" and text.startswith(before) and text[len(before) :].endswith(after):
        text = text[len(before) : -len(after)]
    if text.lstrip("\t\n\x0c\r ")[:1] in ("{", "["):
        with suppress(RequestError):
            return parse_request(text)
    return text
