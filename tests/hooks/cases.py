"""The case table of the hooks: answers by host and verdict, and inputs that have no answer."""

from __future__ import annotations

import json
from typing import Any

from hooks.hosts import HOSTS, call, fields

REASONS = {
    "denied": "not here",
    "silent": "deny by rule `silent`",
    "broken": "rule `broken` could not be judged (wrong_type); denied",
    "refused": "not even there",
    "other": "irreversible action with no shadow; default policy",
    "preview": "dry run only (try it first); the call would only be previewed",
}
"""The reason by tool, where every host gets a deny."""

NEW = {"path": "/safe", "force": True}
STRIPPED = {"path": "/etc"}


def deny(host: str, reason: str) -> Any:
    match host:
        case "claude-code" | "codex":
            output = {"permissionDecision": "deny", "permissionDecisionReason": reason}
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}
        case "gemini":
            return {"decision": "deny", "reason": reason}
        case "cursor":
            return {"permission": "deny", "user_message": reason, "agent_message": reason}
        case "copilot":
            return {"permissionDecision": "deny", "permissionDecisionReason": reason}


def _specific(**output: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}


def _cannot(host: str) -> Any:
    return deny(host, f"the arguments would be rewritten (transform by rule `strips`); {host} cannot take this rewrite")


_ASK_CANNOT = "approval required (a person looks); {} cannot ask for it here"
_RAISED = "approve_required by rule `outranks`"

# (host, tool, flags): the answer
ANSWERS: dict[tuple[str, str, tuple[str, ...]], Any] = {
    ("claude-code", "person", ()): _specific(permissionDecision="ask", permissionDecisionReason="a person looks"),
    ("claude-code", "person", ("--grant",)): _specific(
        permissionDecision="ask", permissionDecisionReason="a person looks"
    ),
    ("claude-code", "allowed", ("--grant",)): _specific(
        permissionDecision="allow", permissionDecisionReason="allow by rule `ls`"
    ),
    ("claude-code", "moved", ()): _specific(updatedInput=NEW),
    ("claude-code", "moved", ("--grant",)): _specific(permissionDecision="allow", updatedInput=NEW),
    ("claude-code", "stripped", ()): _specific(updatedInput=STRIPPED),
    ("claude-code", "raised", ()): _specific(
        permissionDecision="ask", permissionDecisionReason=_RAISED, updatedInput=NEW
    ),
    ("codex", "person", ()): deny("codex", _ASK_CANNOT.format("codex")),
    ("codex", "allowed", ("--grant",)): None,
    ("codex", "moved", ()): _specific(permissionDecision="allow", updatedInput=NEW),
    ("codex", "stripped", ()): _specific(permissionDecision="allow", updatedInput=STRIPPED),
    ("codex", "raised", ()): deny("codex", f"approval required ({_RAISED}); codex cannot ask for it here"),
    ("gemini", "person", ()): deny("gemini", _ASK_CANNOT.format("gemini")),
    ("gemini", "allowed", ("--grant",)): {"decision": "allow", "reason": "allow by rule `ls`"},
    ("gemini", "moved", ()): {"hookSpecificOutput": {"tool_input": NEW}},
    ("gemini", "moved", ("--grant",)): {"decision": "allow", "hookSpecificOutput": {"tool_input": NEW}},
    ("gemini", "stripped", ()): _cannot("gemini"),
    ("cursor", "person", ()): deny("cursor", _ASK_CANNOT.format("cursor")),
    ("cursor", "allowed", ("--grant",)): {
        "permission": "allow", "user_message": "allow by rule `ls`", "agent_message": "allow by rule `ls`",
    },
    ("cursor", "moved", ()): {"permission": "allow", "updated_input": NEW},
    ("cursor", "stripped", ()): _cannot("cursor"),
    ("copilot", "person", ()): deny("copilot", _ASK_CANNOT.format("copilot")),
    ("copilot", "allowed", ("--grant",)): {
        "permissionDecision": "allow", "permissionDecisionReason": "allow by rule `ls`",
    },
    ("copilot", "moved", ()): {"modifiedArgs": NEW},
    ("copilot", "moved", ("--grant",)): {"permissionDecision": "allow", "modifiedArgs": NEW},
    ("copilot", "stripped", ()): _cannot("copilot"),
    **{(host, tool, ()): deny(host, reason) for host in HOSTS for tool, reason in REASONS.items()},
    **{(host, "allowed", ()): None for host in HOSTS},
}  # fmt: skip

# what is special: (host, input, answer)
INPUTS: dict[str, tuple[str, bytes, Any]] = {
    "unknown fields are ignored": ("codex", call("codex", "denied", turn_id=3, model=None), deny("codex", "not here")),
    "an agent is optional": ("claude-code", call("claude-code", agent_id="a1", agent_type="explorer"), None),
    "a null agent is absent": ("claude-code", call("claude-code", agent_id=None), None),
    "copilot writes arguments as text": (
        "copilot",
        call("copilot", "moved", json.dumps({"path": "/etc", "force": True})),
        {"modifiedArgs": NEW},
    ),
    "cursor asks before a shell command": (
        "cursor",
        json.dumps({"hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "/w"}).encode(),
        None,
    ),
    "cursor asks before it reads a file": (
        "cursor",
        json.dumps({"hook_event_name": "beforeReadFile", "file_path": "/a", "workspace_roots": ["/w"]}).encode(),
        None,
    ),
    "cursor asks before a tool of MCP, and can ask a person": (
        "cursor",
        call("cursor", "person", '{"a": 1}', hook_event_name="beforeMCPExecution"),
        {"permission": "ask", "user_message": "a person looks", "agent_message": "a person looks"},
    ),
    "cursor takes no rewrite before a tool of MCP": (
        "cursor",
        call("cursor", "moved", {"path": "/etc"}, hook_event_name="beforeMCPExecution"),
        deny("cursor", "the arguments would be rewritten (moved to a safe place); cursor cannot take this rewrite"),
    ),
}


def _without(host: str, key: str) -> bytes:
    return json.dumps({name: value for name, value in fields(host).items() if name != key}).encode()


_READ = {
    "claude-code": ("session_id", "cwd", "hook_event_name", "tool_name", "tool_input"),
    "gemini": ("session_id", "cwd", "hook_event_name", "tool_name", "tool_input"),
    "cursor": ("workspace_roots", "hook_event_name", "tool_name", "tool_input"),
    "copilot": ("cwd", "toolName", "toolArgs"),
}

MALFORMED: dict[str, tuple[str, bytes]] = {
    "empty": ("claude-code", b""),
    "no JSON": ("claude-code", b"hello"),
    "cut off": ("claude-code", call("claude-code")[:-1]),
    "two values": ("claude-code", call("claude-code") + b"{}"),
    "a list": ("claude-code", b"[]"),
    "not UTF-8": ("claude-code", call("claude-code") + b"\xff"),
    "a byte order mark": ("claude-code", b"\xef\xbb\xbf" + call("claude-code")),
    "NaN": ("claude-code", call("claude-code", args={"x": float("nan")})),
    "a key twice": ("claude-code", call("claude-code")[:-1] + b', "tool_name": "denied"}'),
    "an unread key twice": ("claude-code", call("claude-code")[:-1] + b', "x": 1, "x": 1}'),
    "an argument twice": ("codex", call("codex", args={"a": 1}).replace(b'"a": 1', b'"a": 1, "a": 2')),
    "too deep": ("codex", call("codex").replace(b'"/etc"', b"[" * 200 + b"]" * 200)),
    "a lone surrogate as the tool": ("codex", call("codex", "\ud800")),
    "a lone surrogate as the directory": ("codex", call("codex", cwd="\udc00")),
    "another event": ("claude-code", call("claude-code", hook_event_name="SessionStart")),
    "an event of another host": ("gemini", call("gemini", hook_event_name="PreToolUse")),
    "the input of another host": ("copilot", call("claude-code")),
    "a number as the agent": ("claude-code", call("claude-code", agent_id=7)),
    "text that is no JSON as arguments": ("copilot", call("copilot", args="{")),
    "text of a list as arguments": ("copilot", call("copilot", args="[]")),
    "text in text as arguments": ("copilot", call("copilot", args='"{}"')),
    "text as arguments": ("claude-code", call("claude-code", args="{}")),
    "roots that are no strings": ("cursor", call("cursor", workspace_roots=[1])),
    "no roots": ("cursor", call("cursor", workspace_roots=[])),
    "a rewrite of an infinity": (
        "claude-code",
        call("claude-code", "moved", {"x": 0}).replace(b" 0}", b" 1e999}"),
    ),
    "a rewrite of a lone surrogate": ("claude-code", call("claude-code", "moved", {"x": "\ud800"})),
    "a rewrite of a huge integer": ("claude-code", call("claude-code", "moved", {"x": 1 << 4097})),
    **{f"{host} without {key}": (host, _without(host, key)) for host, keys in _READ.items() for key in keys},
    **{
        f"{host} with a number as {key}": (host, call(host, **{key: 1})) for host, keys in _READ.items() for key in keys
    },
}
"""Inputs without an answer: exit code 2 and one line."""
