"""The input of a hook before a call: one tool call of a host, read into a request.

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
"""The events of calls, by host. Copilot's input does not name its event."""

RESULT_EVENTS: Mapping[Host, str] = {"claude-code": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool"}
"""The event after a call that succeeded, of the hosts that have a known one."""
TASK_EVENTS: Mapping[Host, str] = {
    "claude-code": "UserPromptSubmit",
    "codex": "UserPromptSubmit",
    "gemini": "BeforeAgent",
}
"""The event after the user has written."""

Fields: TypeAlias = Mapping[str, Any]  # Any: JSON


class HookError(Exception):
    """The hook has no answer. The message is one line for stderr."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a host."""

    host: Host
    event: Event
    request: ActionRequest
    id: str | None
    """The id of the call, if the host gives one."""
    session: str | None
    """The session, if the host names one."""


def read_call(host: Host, text: bytes) -> Call:
    """Read the input of `host` before a call. Raises `HookError`."""
    return read_proposal(host, read_fields(text))


def read_fields(text: bytes) -> Fields:
    """Read an input. Raises `HookError`."""
    return _object(text, "the input")


def call_id(host: Host, fields: Fields) -> str | None:
    """The id of a call: Claude Code and Codex give one. Raises `HookError`."""
    return _optional(fields, "tool_use_id") if host in ("claude-code", "codex") else None


def read_proposal(host: Host, fields: Fields) -> Call:
    """Read the fields of an input before a call. Raises `HookError`."""
    name = "preToolUse" if host == "copilot" else text_of(fields, "hook_event_name")
    if name not in EVENTS[host]:
        raise HookError(f"{host} has no event `{name}` that this hook answers")
    event = EVENTS[host][name]
    tool, args = _action(host, event, fields)
    session_key, required = {"copilot": ("sessionId", False), "cursor": ("conversation_id", False)}.get(
        host, ("session_id", True)
    )
    session = text_of(fields, session_key) if required else _optional(fields, session_key)
    extra = {
        "host": host,
        "event": name,
        "session_id": session,
        "agent_id": _optional(fields, "agent_id"),
        "agent_type": _optional(fields, "agent_type"),
    }
    workspace = _cursor_workspace(fields) if host == "cursor" else text_of(fields, "cwd")
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
    return Call(host, event, request, call_id(host, fields), session)


def _action(host: Host, event: Event, fields: Fields) -> tuple[str, Fields]:
    if host == "copilot":
        return text_of(fields, "toolName"), _arguments(fields, "toolArgs")
    match event:
        case "tool":
            return text_of(fields, "tool_name"), mapping_of(fields, "tool_input")
        case "mcp":
            return text_of(fields, "tool_name"), _arguments(fields, "tool_input")
        case "shell":
            return "Shell", {"command": text_of(fields, "command")}
        case "read_file":
            return "Read", {"file_path": text_of(fields, "file_path")}


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


def text_of(fields: Fields, key: str) -> str:
    """Return a string of the input. Raises `HookError`."""
    value = _optional(fields, key)
    if value is None:
        raise HookError(f"the input has no `{key}`")
    return value


def mapping_of(fields: Fields, key: str) -> Fields:
    """Return an object of the input. Raises `HookError`."""
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
    return mapping_of(fields, key)


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
