"""Imported permissions beside the real programs: the policy permits nothing that its host would not."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy, Request
from hooks.real.conftest import make
from hooks.real.model_server import serving
from hooks.real.programs import Scratch

ORDER = {"deny": 0, "approve_required": 1, "allow": 2}
CODEX = {"forbidden": "deny", "prompt": "approve_required", "allow": "allow"}
RULES = """
prefix_rule(pattern=["git", ["push", "fetch"]], decision="prompt")
prefix_rule(pattern=["git"], decision="allow")
prefix_rule(pattern=["rm"], decision="forbidden")
prefix_rule(pattern=["ls"])
prefix_rule(pattern=["echo", "a b"], decision="forbidden")
"""


def imported(scratch: Scratch, kind: str, file: Path) -> Policy:
    done = scratch.bobcat("import", kind, str(file))
    assert done.returncode == 0, done.stderr
    return Policy.compile(done.stdout)


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git fetch origin",
        "git status",
        "git",
        "gitx",
        "rm",
        "rm -rf x",
        "ls",
        "ls -la",
        "lsx",
        "cat x",
        "echo a b",
        "echo 'a b'",
        "echo 'a b' c",
        "git 'push'",
        "'rm' x",
        "push git",
        "ls rm",
        "git rm x",
    ],
)
def test_codex_decides_on_words_at_most_as_strictly(tmp_path: Path, command: str) -> None:
    scratch = make("codex", tmp_path)
    rules = scratch.bin / "x.rules"
    rules.write_text(RULES)
    done = subprocess.run(
        [str(scratch.program), "execpolicy", "check", "--rules", str(rules), *shlex.split(command)],
        env=scratch.environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    wanted = CODEX.get(json.loads(done.stdout).get("decision"), "approve_required")
    got = imported(scratch, "codex", rules).evaluate(Request("Bash", {"command": command})).verdict
    assert ORDER[str(got)] <= ORDER[wanted]


PERMISSIONS = {
    "deny": ["Bash(mkdir:*)", "Bash(git push *)", "Bash(*--force*)", "Bash(chmod 777 x)"],
    "ask": ["Bash(git commit:*)", "Bash(cp *)"],
    "allow": ["Bash(echo:*)", "Bash(git log*)", "Bash(ls)", "Bash(git status *)", "Bash(git * --stat)"],
}
COMMANDS = [
    "mkdir a",
    "mkdirx",
    "echo a; mkdir b",
    "A=1 mkdir c",
    "'mkdir' d",
    "\\mkdir e",
    "/bin/mkdir f",
    "timeout 5 mkdir g",
    "echo $(mkdir h)",
    "sudo mkdir j",
    'mk"dir" k',
    "mkdir\tl",
    "(mkdir m)",
    "{ mkdir n; }",
    "if true; then mkdir o; fi",
    "env mkdir p",
    "command mkdir q",
    "x=mkdir; $x r",
    "nohup mkdir s",
    "echo a | xargs mkdir",
    "mkdir",
    "echo a && git push",
    "git push",
    "git  push",
    'git "push"',
    "x=push; git $x",
    "git push origin",
    "git log --force",
    "git log '--for'ce",
    "chmod 777 x",
    "chmod  777 x",
    "chmod '777' x",
    "git commit -m x",
    "cp a b",
    "echo a; cp a b",
    "echo",
    "echo a",
    "echox",
    "ls",
    "ls -la",
    "git log",
    "git log --oneline",
    "git logx",
    "git status",
    "git status -s",
    "git diff --stat",
    "echo a > b",
    "echo `ls`",
    "echo $HOME",
    "echo a; ls",
    "echo a && git log",
    "ls | cat",
]
"""Commands; none of them changes anything outside of the project."""


def test_claude_permits_what_the_policy_permits_and_the_policy_denies_what_claude_denies(tmp_path: Path) -> None:
    scratch = make("claude-code", tmp_path)
    settings = scratch.home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": PERMISSIONS}))
    subprocess.run(["git", "init", "-q", str(scratch.project)], check=True)
    policy = imported(scratch, "claude", settings)
    looser = []
    for command, said in zip(COMMANDS, _claude(scratch, COMMANDS), strict=True):
        got = str(policy.evaluate(Request("Bash", {"command": command})).verdict)
        if ORDER[got] > ORDER[said]:
            looser.append((command, got, said))
    assert looser == []


def _claude(scratch: Scratch, commands: list[str]) -> list[str]:
    """The decisions of Claude Code, without a hook, in one session."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Bash", {"command": command, "description": "x"}) for command in commands
    ]
    with serving(*calls) as model:
        environ = scratch.environment(
            ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="x", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1"
        )
        done = scratch.start(["-p", "go"], environ)
        assert len(model.results) == len(commands), done.stderr
        return [_decision(result) for result in model.results]


def _decision(result: str) -> str:
    if "has been denied" in result:
        return "deny"
    asks = ("approval", "haven't granted", "can't be checked", "permission", "was blocked")
    return "approve_required" if any(word in result for word in asks) else "allow"


GEMINI = """
[[rule]]
toolName = "run_shell_command"
commandPrefix = "touch secret"
decision = "deny"
priority = 300

[[rule]]
toolName = "run_shell_command"
commandPrefix = ["touch", "git status"]
decision = "allow"
priority = 200

[[rule]]
toolName = "run_shell_command"
commandRegex = "cp [a-z0-9]+ "
decision = "allow"
priority = 100
"""
CREATES = {
    "touch plain": "plain",
    "touch  two": "two",
    "touch 'quoted'": "quoted",
    "touch secret": "secret",
    "touch secret2": "secret2",
    "touch one; touch other": "other",
    "touch out > redirected": "redirected",
    "touch -a option": "option",
    "cp plain copied": "copied",
    "cp plain second; touch third": "second",
    "mkdir made": "made",
    "touchy no": "no",
    "touch x$(touch hidden)": "hidden",
    "A=1 touch assigned": "assigned",
}
"""Commands, and a file that each of them creates."""


def test_gemini_runs_what_the_policy_permits(tmp_path: Path) -> None:
    """Without a person to ask, Gemini CLI runs the commands that a rule allows, and no others."""
    scratch = make("gemini", tmp_path)
    rules = scratch.home / ".gemini/policies/mine.toml"
    rules.parent.mkdir()
    rules.write_text(GEMINI)
    policy = imported(scratch, "gemini", rules)
    ran = scratch.run(*CREATES, options=("--no-yolo",))
    created = scratch.files()
    verdicts = {
        file: str(policy.evaluate(Request("run_shell_command", {"command": command})).verdict)
        for command, file in CREATES.items()
    }
    permitted = {file for file, verdict in verdicts.items() if verdict == "allow"}
    assert {"plain", "two", "option", "copied"} <= permitted <= created, (verdicts, created, ran)
    assert verdicts["secret"] == "deny"
    assert "secret" not in created
