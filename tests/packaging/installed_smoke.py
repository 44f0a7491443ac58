"""Smoke suite of an installed Bobcat: `python tests/packaging/installed_smoke.py` in an environment with the wheel.

`.ci/test-wheel`, `.ci/chroot-smoke` and `.ci/sdist-smoke` run it. It decides the vectors, compiles a policy, answers a
hook with the native program, and runs an agent on SQLite. It needs no package beside what the wheel requires.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = Path(sys.executable).parent
SUFFIX = ".exe" if sys.platform == "win32" else ""
LEAST_DECISIONS = 1000
POLICY = """\
rules:
  - {id: reads, match: {tool: read, args.path.path.within: /srv/data}, decision: allow}
  - {id: keep-root, match: {tool: Bash, args.command.shell.any: {name: rm}}, decision: deny, reason: use the file tools}
"""


def is_installed() -> str:
    """The imported package is the installed one, with the version of its core and of its metadata."""
    from importlib.metadata import version

    import bobcat
    from bobcat import _core

    place = Path(bobcat.__file__).resolve()
    assert HERE.parents[1] / "python" not in place.parents, f"imported from the sources: {place}"
    assert bobcat.__version__ == _core.__version__ == version("bobcat")
    return f"bobcat {bobcat.__version__} in {place.parent}"


def decides_vectors() -> str:
    """Every decision of the vectors, as objects, as JSON and with an explanation."""
    sys.path.insert(0, str(HERE))
    from standard_library_smoke import decide_vectors

    decided = decide_vectors()
    assert decided >= LEAST_DECISIONS
    return f"{decided} decisions"


def runs_commands() -> str:
    """`check`, `compile`, `eval` and the command of lynx-agent, each in a process."""
    with tempfile.TemporaryDirectory() as directory:
        policy, bundle = Path(directory, "policy.yaml"), Path(directory, "policy.bundle")
        policy.write_text(POLICY, encoding="utf-8")
        assert _run("bobcat", "--version").startswith("bobcat ")
        _run("bobcat", "check", str(policy))
        _run("bobcat", "compile", str(policy), "-o", str(bundle))
        for path, allowed in (("/srv/data/a.txt", True), ("/srv/data/../../etc/passwd", False)):
            request = json.dumps({"tool": "read", "args": {"path": path}})
            answer = json.loads(_run("bobcat", "eval", "--format", "json", str(bundle), input=request))
            assert (answer["verdict"] == "allow") is allowed, answer
        assert "lynx" in _run("lynx", "--help").lower()
    return "check, compile, eval, lynx"


def answers_a_hook() -> str:
    """The native hook denies a call of a coding agent."""
    with tempfile.TemporaryDirectory() as directory:
        policy, bundle = Path(directory, "policy.yaml"), Path(directory, "policy.bundle")
        policy.write_text(POLICY, encoding="utf-8")
        _run("bobcat", "compile", str(policy), "-o", str(bundle))
        call = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": directory, "tool_name": "Bash",
                "tool_input": {"command": "rm -rf /"}}  # fmt: skip
        answer = json.loads(_run("bobcat-hook", "claude-code", "--policy", str(bundle), input=json.dumps(call)))
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny", answer
    return "deny"


def runs_an_agent() -> str:
    """An agent behind a policy, journaled in SQLite: one call runs, one is denied, and the store has both."""
    from bobcat import FinalAnswer, Policy, SQLiteStore, ToolCall, ToolSet, run_agent, tool

    executed: list[str] = []

    @tool
    async def read(path: str) -> str:
        executed.append(path)
        return "text"

    steps = iter(
        [ToolCall("read", {"path": "/srv/data/a"}), ToolCall("read", {"path": "/etc/passwd"}), FinalAnswer("done")]
    )

    class Scripted:
        async def step(self, conversation: object) -> object:
            return next(steps)

    async def run(path: Path) -> tuple[str, int]:
        async with contextlib.aclosing(SQLiteStore(path)) as store:
            result = await run_agent(
                Scripted(),
                "look",
                tools=ToolSet.from_functions(read),
                policy=Policy.compile(POLICY),
                store=store,
                run_id="one",
            )
            return str(result.final_answer), len(await store.load("one"))

    with tempfile.TemporaryDirectory() as directory:
        text, records = asyncio.run(run(Path(directory, "runs.db")))
    assert (text, executed) == ("done", ["/srv/data/a"]), (text, executed)
    assert records
    return f"{records} records"


def _run(program: str, *arguments: str, input: str = "") -> str:
    command = [str(SCRIPTS / f"{program}{SUFFIX}"), *arguments]
    done = subprocess.run(command, input=input, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


CHECKS: tuple[Callable[[], str], ...] = (is_installed, decides_vectors, runs_commands, answers_a_hook, runs_an_agent)


if __name__ == "__main__":
    print(f"CPython {platform.python_version()} on {platform.platform()}")
    for check in CHECKS:
        print(f"  {check.__name__}: {check()}", flush=True)
