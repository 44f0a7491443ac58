"""The programs of the hosts, and one session of each in a scratch project: a model proposes calls, the hook decides.

`.ci/hosts` installs the programs below the directory that BOBCAT_HOSTS names; `make check-hooks` does both.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bobcat.cli.hooks.call import Host
from hooks.real.model_server import DONE, serving

PLACE = os.environ.get("BOBCAT_HOSTS")
PROGRAMS: dict[Host, str] = {
    "claude-code": "claude/claude_agent_sdk/_bundled/claude",
    "codex": "npm/node_modules/.bin/codex",
    "gemini": "npm/node_modules/.bin/gemini",
}
HOSTS = tuple(PROGRAMS)
TIME = 60
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Ran:
    """The end of a session."""

    code: int
    out: str
    err: str
    results: list[str]
    """The results of the calls that the model got; empty for Gemini CLI, which reads its model from a file."""

    @property
    def finished(self) -> bool:
        """True if the model came to its last turn."""
        return DONE in self.out


@dataclass
class Scratch:
    """A project and a home directory of one test."""

    host: Host
    project: Path
    home: Path
    bin: Path
    environ: dict[str, str] = field(default_factory=dict)
    around: Sequence[str] = ()
    """A command that starts the host, such as one that makes the home directory read-only."""

    @property
    def program(self) -> Path:
        """The program of the host."""
        return Path(str(PLACE)).resolve() / PROGRAMS[self.host]

    @property
    def hook(self) -> Path:
        """A copy of the native hook, which a test may replace."""
        return self.bin / "bobcat-hook"

    def environment(self, **more: str) -> dict[str, str]:
        """Nothing of the environment of the tests but PATH, with the program of the host on it."""
        path = os.pathsep.join([str(self.bin), str(BIN), "/usr/local/bin", "/usr/bin", "/bin"])
        clean = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "xterm-256color", "NO_COLOR": "1"}
        return {**clean, **self.environ, **more}

    def bobcat(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Bobcat in the project."""
        return subprocess.run(
            [str(BIN / "bobcat"), *args], cwd=self.project, env=self.environment(), capture_output=True, text=True,
            timeout=TIME, check=False,
        )  # fmt: skip

    def install(self, *options: str, policy: Path | None = None) -> None:
        """Install the hook as a user would, for the user, or with `--project` for the project."""
        scope = [] if "--project" in options else ["--user"]
        trust = ["--trust"] if self.host == "codex" and "--no-trust" not in options else []
        options = tuple(option for option in options if option != "--no-trust")
        named = ["--policy", str(policy or self.project / "policy.bobcat"), "--hook", str(self.hook)]
        done = self.bobcat("install", self.host, *scope, *trust, *named, *options)
        assert done.returncode == 0, done.stderr

    def gate(self) -> dict[str, Any]:
        """The report of `bobcat doctor hooks` on the host."""
        done = self.bobcat("doctor", "hooks", self.host, "--format", "json")
        assert done.returncode in (0, 1), done.stderr
        (report,) = json.loads(done.stdout)["hosts"]
        return dict(report)

    def replace_hook(self, script: str) -> None:
        """Put a shell script in the place of the hook."""
        self.hook.unlink()
        self.hook.write_text(f"#!/bin/sh\n{script}\n")
        self.hook.chmod(0o755)

    def run(self, *commands: str, options: Sequence[str] = ()) -> Ran:
        """Run a session in which the model proposes these shell commands, one a turn."""
        return SESSIONS[self.host](self, commands, options)

    def files(self) -> set[str]:
        """The files that commands have created in the project."""
        return {path.name for path in self.project.iterdir() if not path.name.startswith((".", "policy"))}

    def start(self, command: Sequence[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Start the program of the host."""
        return subprocess.run(
            [*self.around, str(self.program), *command], cwd=self.project, env=environ, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIME, check=False,
        )  # fmt: skip


def _claude(scratch: Scratch, commands: Sequence[str], options: Sequence[str]) -> Ran:
    tools = [] if "--ask" in options else ["--allowedTools", "Bash"]
    more = [option for option in options if option != "--ask"]
    with serving(*(("Bash", {"command": command, "description": "x"}) for command in commands)) as model:
        environ = scratch.environment(
            ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="x", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1", DISABLE_TELEMETRY="1",
        )  # fmt: skip
        done = scratch.start(["-p", "go", *tools, *more], environ)
        return Ran(done.returncode, done.stdout, done.stderr, model.results)


def _codex(scratch: Scratch, commands: Sequence[str], options: Sequence[str]) -> Ran:
    with serving(*(("exec_command", {"cmd": command}) for command in commands)) as model:
        provider = f'{{name="local", base_url="{model.url}/v1", wire_api="responses"}}'
        command = [
            "exec", "--skip-git-repo-check", "-s", "danger-full-access", "-c", 'model="gpt-5"',
            "-c", 'model_provider="local"', "-c", f"model_providers.local={provider}", *options, "go",
        ]  # fmt: skip
        done = scratch.start(command, scratch.environment())
        return Ran(done.returncode, done.stdout, done.stderr, model.results)


def _gemini(scratch: Scratch, commands: Sequence[str], options: Sequence[str]) -> Ran:
    def turn(part: dict[str, Any]) -> str:
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        return json.dumps({"method": "generateContentStream", "response": [{"candidates": [candidate]}]})

    calls = [{"functionCall": {"name": "run_shell_command", "args": {"command": command}}} for command in commands]
    turns = scratch.bin / "turns.jsonl"
    turns.write_text("\n".join([*map(turn, calls), turn({"text": DONE})]))
    trust = [] if "--no-skip-trust" in options else ["--skip-trust"]
    mode = [] if "--no-yolo" in options else ["--yolo"]
    more = [option for option in options if option not in ("--no-skip-trust", "--no-yolo")]
    command = ["-p", "go", *mode, *trust, "-m", "gemini-2.5-flash", "--fake-responses", str(turns), *more]
    done = scratch.start(command, scratch.environment(GEMINI_API_KEY="x", GEMINI_CLI_NO_RELAUNCH="true"))
    return Ran(done.returncode, done.stdout, done.stderr, [])


SESSIONS: dict[Host, Callable[[Scratch, Sequence[str], Sequence[str]], Ran]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
}


def mounts() -> bool:
    """Return true if file systems can be mounted here, in a namespace."""
    command = ["unshare", "--mount", "--map-root-user", "true"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


def new_scratch(host: Host, place: Path) -> Scratch:
    """Make a scratch project with a compiled policy, a home directory, and a copy of the native hook."""
    directories = {name: place / name for name in ("a project", "home", "bin")}
    for directory in directories.values():
        directory.mkdir(parents=True)
    scratch = Scratch(host, *directories.values())
    shutil.copy2(BIN / "bobcat-hook", scratch.hook)
    (scratch.bin / "bobcat").symlink_to(BIN / "bobcat")  # the hook runs it for approvals
    (scratch.bin / scratch.program.name).symlink_to(scratch.program)
    if host == "gemini":
        settings = scratch.home / ".gemini/settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    return scratch
