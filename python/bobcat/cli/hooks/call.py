"""The input of a hook: one tool call of a host, read into a request.

Only the fields named here are read; others are ignored. A missing or mistyped one is a `HookError`, and so is a key
that is written twice anywhere in the input. The native hook reads the same in `rust/hook/src/input.rs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, get_args

from bobcat.errors import RequestError
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import MAX_REQUEST_BYTES, parse_request, request_from_json

Host: TypeAlias = Literal["claude-code", "codex", "gemini", "cursor", "copilot"]
HOSTS: tuple[Host, ...] = get_args(Host)

Event: TypeAlias = Literal["tool", "shell", "mcp", "read_file"]

EVENTS: Mapping[Host, Mapping[str, Event]] = {
    "claude-code": {"PreToolUse": "tool"},
    "codex": {"PreToolUse": "tool"},
    "gemini": {"BeforeTool": "tool"},
    "cursor": {
        "preToolUse": "tool",
        "beforeShellExecution": "shell",
        "beforeMCPExecution": "mcp",
        "beforeReadFile": "read_file",
    },
    "copilot": {"preToolUse": "tool"},
}
"""The events that a hook answers, by host. Copilot's input does not name its event."""

CALL_KIND = "hook-call"
"""Kind of the store's document of a call that needs an approval: its consumed answers, its tool, its directory."""

Fields: TypeAlias = Mapping[str, Any]  # Any: JSON


class HookError(Exception):
    """The hook has no answer. The message is one line for stderr."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a host."""

    host: Host
    event: Event
    request: ActionRequest


def read_call(host: Host, text: bytes) -> Call:
    """Read the input of `host`. Raises `HookError`."""
    fields = _object(text, "the input")
    name = "preToolUse" if host == "copilot" else _text(fields, "hook_event_name")
    if name not in EVENTS[host]:
        raise HookError(f"{host} has no event `{name}` that this hook answers")
    event = EVENTS[host][name]
    tool, args = _action(host, event, fields)
    session_key, required = {"copilot": ("sessionId", False), "cursor": ("conversation_id", False)}.get(
        host, ("session_id", True)
    )
    session = _text(fields, session_key) if required else _optional(fields, session_key)
    extra = {
        "host": host,
        "event": name,
        "session_id": session,
        "agent_id": _optional(fields, "agent_id"),
        "agent_type": _optional(fields, "agent_type"),
    }
    workspace = _cursor_workspace(fields) if host == "cursor" else _text(fields, "cwd")
    request = request_from_json(
        {
            "tool": tool,
            "args": args,
            "context": {
                "principal": {"kind": "agent", "id": host},
                "workspace": workspace,
                "correlation_id": session or "",
                "timestamp": datetime.now(UTC).isoformat(timespec="microseconds"),
                "extra": {key: value for key, value in extra.items() if value is not None},
            },
        }
    )
    return Call(host, event, request)


def _action(host: Host, event: Event, fields: Fields) -> tuple[str, Fields]:
    if host == "copilot":
        return _text(fields, "toolName"), _arguments(fields, "toolArgs")
    match event:
        case "tool":
            return _text(fields, "tool_name"), _mapping(fields, "tool_input")
        case "mcp":
            return _text(fields, "tool_name"), _arguments(fields, "tool_input")
        case "shell":
            return "Shell", {"command": _text(fields, "command")}
        case "read_file":
            return "Read", {"file_path": _text(fields, "file_path")}


def _optional(fields: Fields, key: str) -> str | None:
    """Return a string; None when it is missing or null."""
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise HookError(f"`{key}` of the input must be a string")
    return _whole(value, key)


def _whole(value: str, key: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise HookError(f"`{key}` of the input has a lone surrogate") from error
    return value


def _text(fields: Fields, key: str) -> str:
    value = _optional(fields, key)
    if value is None:
        raise HookError(f"the input has no `{key}`")
    return value


def _mapping(fields: Fields, key: str) -> Fields:
    if key not in fields:
        raise HookError(f"the input has no `{key}`")
    value = fields[key]
    if not isinstance(value, dict):
        raise HookError(f"`{key}` of the input must be an object")
    return value


def _arguments(fields: Fields, key: str) -> Fields:
    """Return an object, or the object in a JSON text."""
    value = fields.get(key)
    if isinstance(value, str):
        return _object(_whole(value, key).encode(), f"`{key}` of the input")
    return _mapping(fields, key)


def _cursor_workspace(fields: Fields) -> str:
    """Return the directory of a call of Cursor, or the first directory of its workspace."""
    directory = _optional(fields, "cwd")
    if directory:
        return directory
    roots = fields.get("workspace_roots")
    if not isinstance(roots, list) or not roots or not isinstance(roots[0], str):
        raise HookError("the input has no `cwd`, and no list of strings `workspace_roots`")
    return _whole(roots[0], "workspace_roots")


def _object(text: bytes, where: str) -> Fields:
    if len(text) > MAX_REQUEST_BYTES:
        raise HookError(f"{where} is longer than {MAX_REQUEST_BYTES} bytes")
    try:
        value = parse_request(text)
    except RequestError as error:
        raise HookError(f"{where} is not JSON that can be read: {error}") from error
    if not isinstance(value, dict):
        raise HookError(f"{where} is not an object")
    return value
