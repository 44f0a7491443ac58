"""Fire a hook as its host would: the command line of the settings, in the host's shell, with a call on its stdin.

Two calls: one to a tool that no policy should know, whose answer is computed in Python from the same bundle; and an
input that is no call, on which a hook that is alive and fails closed ends with exit code 2 and one line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from bobcat._core import RunState
from bobcat.cli.hooks.answer import answer
from bobcat.cli.hooks.call import Host, read_call
from bobcat.cli.hooks.command_line import HookCommand
from bobcat.model.decision import Verdict

TOOL = "bobcat_canary"
SESSION = "bobcat-doctor"
"""The beginning of the session of a canary: each one is the first call of its own."""
REFUSED = 2

_PROJECT = {"claude-code": "CLAUDE_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR", "cursor": "CURSOR_PROJECT_DIR"}


@dataclass(frozen=True, slots=True)
class Fired:
    """The end of a hook: its exit code, None after the timeout, and its output."""

    code: int | None
    out: str
    err: str

    @property
    def refused(self) -> bool:
        """True if the hook ended as one that refuses: every host stops the call."""
        return self.code == REFUSED and bool(self.err.strip())

    def line(self) -> str:
        """Return the last line that the hook wrote for people."""
        lines = [line for line in (self.err or self.out).splitlines() if line.strip()]
        return lines[-1].strip() if lines else "no output"


def canary_input(host: Host, directory: Path) -> bytes:
    """Return the input of `host` for a call of the canary tool, in a session of its own."""
    session = f"{SESSION}-{uuid4().hex}"
    action = {"tool_name": TOOL, "tool_input": {}}
    fields: dict[str, object]
    match host:
        case "claude-code" | "codex":
            fields = {"session_id": session, "cwd": str(directory), "hook_event_name": "PreToolUse", **action}
        case "gemini":
            fields = {"session_id": session, "cwd": str(directory), "hook_event_name": "BeforeTool", **action}
        case "cursor":
            fields = {
                "conversation_id": session, "workspace_roots": [str(directory)], "hook_event_name": "preToolUse",
                **action,
            }  # fmt: skip
        case "copilot":
            fields = {"sessionId": session, "cwd": str(directory), "toolName": TOOL, "toolArgs": {}}
    return json.dumps(fields).encode()


def expected(host: Host, command: HookCommand, text: bytes) -> tuple[str, Verdict]:
    """Return the answer that the policy gives, and its verdict. Raises `OSError`, `BundleError`."""
    from bobcat.bundle.load import load_bundle
    from bobcat.pdp import evaluate

    bundle = load_bundle(Path(command.policy or "").read_bytes())
    call = read_call(host, text)
    decision = evaluate(bundle, call.request, state=RunState(bundle))
    return answer(call, decision, grant=command.grant), decision.verdict


def host_shell(host: Host) -> list[str]:
    """Return the shell in which the host starts its hooks."""
    match host:
        case "claude-code" | "cursor":
            return ["/bin/sh", "-c"]
        case "codex":
            return [_login_shell(), "-c"]
        case "gemini" | "copilot":
            return ["bash", "-c"]


def fire(line: str, text: bytes, *, shell: Sequence[str], host: Host, directory: Path, timeout: float) -> Fired:
    """Run a command line of the settings. Raises `OSError` if there is no shell."""
    variable = _PROJECT.get(host)
    environ = {**os.environ, variable: str(directory)} if variable else dict(os.environ)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*shell, line], cwd=directory, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(text, timeout=timeout)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            _kill(process)
            out, err, code = b"", b"", None
    return Fired(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)  # the children of the shell, too


def _login_shell() -> str:
    if os.environ.get("SHELL"):
        return os.environ["SHELL"]
    if sys.platform == "win32":
        return "cmd.exe"
    import pwd

    return pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
