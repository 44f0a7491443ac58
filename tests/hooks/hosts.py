"""Inputs of hosts, and the two hooks that answer them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NATIVE = Path(sys.executable).parent / "bobcat-hook"
HOSTS = ("claude-code", "codex", "gemini", "cursor", "copilot")

POLICY = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - {id: denied, match: {tool: denied}, decision: deny, reason: not here}
  - {id: silent, match: {tool: silent}, decision: deny, reason: "\\u00a0\\n "}
  - {id: ls, match: {tool.in: [Bash, Shell, Read, allowed]}, decision: allow}
  - {id: person, match: {tool: person}, decision: approve_required, reason: a person looks}
  - {id: preview, match: {tool: preview}, decision: dry_run, reason: try it first}
  - id: outranks
    priority: 10
    match: {tool.in: [raised, refused], args.path.starts_with: /safe}
    decision: approve_required
  - id: refuses
    priority: 20
    match: {tool: refused, args.path.starts_with: /safe}
    decision: deny
    reason: not even there
  - id: moves
    match: {tool.in: [moved, raised, refused]}
    decision: transform
    reason: moved to a safe place
    transform: {jsonpath: $.args.path, set: /safe}
  - id: strips
    match: {tool: stripped}
    decision: transform
    transform: {jsonpath: $.args.force, delete: true}
  - {id: broken, match: {tool: broken, args.path.gt: 3}, decision: deny}
"""


@dataclass(frozen=True)
class Ended:
    """The end of a hook."""

    code: int
    out: bytes
    err: bytes

    @property
    def answer(self) -> Any:
        """The JSON on stdout; None for none."""
        return json.loads(self.out) if self.out else None


def native(host: str, policy: Path, text: bytes, *flags: str, **options: Any) -> Ended:
    return _run([str(NATIVE)], host, policy, text, flags, options)


def python(host: str, policy: Path, text: bytes, *flags: str, **options: Any) -> Ended:
    return _run([sys.executable, "-m", "bobcat", "hook"], host, policy, text, flags, options)


def _run(
    command: list[str], host: str, policy: Path, text: bytes, flags: tuple[str, ...], options: dict[str, Any]
) -> Ended:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    ran = subprocess.run([*command, host, "--policy", str(policy), *flags], input=text, timeout=30, **options)
    return Ended(ran.returncode, ran.stdout or b"", ran.stderr or b"")


def fields(host: str, tool: str = "allowed", args: Any = None, **more: Any) -> dict[str, Any]:
    """The input of a host for a call."""
    args = {"path": "/etc", "force": True} if args is None else args
    action = {"tool_name": tool, "tool_input": args}
    match host:
        case "claude-code" | "codex":
            own = {"session_id": "s1", "cwd": "/w", "hook_event_name": "PreToolUse", **action}
        case "gemini":
            own = {"session_id": "s1", "cwd": "/w", "hook_event_name": "BeforeTool", **action}
        case "cursor":
            own = {"conversation_id": "s1", "workspace_roots": ["/w"], "hook_event_name": "preToolUse", **action}
        case "copilot":
            own = {"timestamp": 1700000000, "cwd": "/w", "toolName": tool, "toolArgs": args}
        case _:
            raise AssertionError(host)
    return {**own, **more}


RESULT_EVENTS = {"claude-code": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool"}
TASK_EVENTS = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}


def result(host: str, tool: str, args: Any, response: Any, **more: Any) -> bytes:
    """The input of a host after a call, as text."""
    return call(host, tool, args, **{"hook_event_name": RESULT_EVENTS[host], "tool_response": response, **more})


def prompt(host: str, text: str, **more: Any) -> bytes:
    """The input of a host after its user has written, as text."""
    own = {"session_id": "s1", "cwd": "/w", "hook_event_name": TASK_EVENTS[host], "prompt": text}
    return json.dumps({**own, **more}).encode()


def call(host: str, tool: str = "allowed", args: Any = None, **more: Any) -> bytes:
    """The input of a host for a call, as text."""
    return json.dumps(fields(host, tool, args, **more)).encode()
