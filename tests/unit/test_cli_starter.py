"""The policy of `bobcat init` at work: its tools in a real repository, behind a guard and on the command line."""

from __future__ import annotations

import asyncio
import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bobcat import ApprovalDecision, ApprovalHandler, ApprovalRequest, Guard, Policy
from bobcat.guard import Outcome
from unit.cli_runner import runner

GIT = shutil.which("git", path="/usr/local/bin:/usr/bin:/bin")
ON_LINUX = pytest.mark.skipif(sys.platform != "linux" or GIT is None, reason="proc.run needs Linux")
SECRET = "PASSWORD=hunter2"
Call = tuple[str, dict[str, Any]]


@pytest.fixture
def shop(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A repository with the starter, a secret in it, and another one beside it."""
    workspace = tmp_path / "shop"
    assert runner(capsys, monkeypatch)("init", "--dir", str(workspace)).code == 0
    (workspace / "docs").mkdir()
    (workspace / "README.md").write_text("the shop")
    (workspace / ".env").write_text(SECRET)
    (tmp_path / "outside.md").write_text(SECRET)
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet", str(workspace)], check=True)
    return workspace


def submit(shop: Path, *calls: Call, on_approval: ApprovalHandler | None = None) -> list[Outcome]:
    """The outcomes of calls, one after the other, by the starter's policy and tools."""

    async def run() -> list[Outcome]:
        tools = runpy.run_path(str(shop / "policy_tools.py"))["tools"]
        async with Guard(Policy.compile(shop / "policy.yaml"), tools, on_approval=on_approval) as guard:
            return [await guard.submit(tool, args) for tool, args in calls]

    return asyncio.run(run())


def deciding(outcomes: Iterable[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.status, outcome.matched_rules[-1]) for outcome in outcomes]


def test_the_starter_reads_the_project_and_writes_notes(shop: Path) -> None:
    read, made, wrote, listed = submit(
        shop,
        ("fs.read", {"path": "README.md"}),
        ("fs.mkdir", {"path": "notes/2026", "parents": True}),
        ("fs.write", {"path": "notes/2026/plan.md", "content": "measure"}),
        ("fs.list", {"path": "notes/2026"}),
    )
    assert (read.status, read.value["content"]) == ("ok", "the shop")
    assert (made.status, wrote.status) == ("ok", "ok")
    assert (shop / "notes/2026/plan.md").read_text() == "measure"
    assert [entry["name"] for entry in listed.value["entries"]] == ["plan.md"]


@pytest.mark.parametrize("approved", [True, False])
def test_documentation_is_written_after_an_approval_only(shop: Path, approved: bool) -> None:
    asked: list[str] = []

    async def maintainer(request: ApprovalRequest) -> ApprovalDecision:
        asked.append(request.request.args["path"])
        return ApprovalDecision(approved, "maintainer", "read")

    (outcome,) = submit(shop, ("fs.write", {"path": "docs/install.md", "content": "x"}), on_approval=maintainer)
    assert (asked, outcome.matched_rules) == (["docs/install.md"], ("change-documentation",))
    assert outcome.status == ("ok" if approved else "denied")
    assert (shop / "docs/install.md").exists() is approved


def test_secrets_are_denied_in_every_spelling(shop: Path) -> None:
    spellings = [".env", "./.env", "docs/../.env", "docs/./../.env"]
    outcomes = submit(shop, *(("fs.read", {"path": path}) for path in spellings))
    assert deciding(outcomes) == [("denied", "hidden-files")] * 4


def test_links_that_the_policy_cannot_see_are_refused_by_the_tools(shop: Path) -> None:
    (shop / "docs/secret.md").symlink_to("../.env")
    (shop / "docs/out.md").symlink_to("../../outside.md")
    (shop / "docs/sub").symlink_to(shop.parent)
    (shop / "notes").symlink_to(shop.parent)
    outcomes = submit(
        shop,
        ("fs.read", {"path": "docs/out.md"}),
        ("fs.read", {"path": "docs/sub/outside.md"}),
        ("fs.write", {"path": "notes/outside.md", "content": ""}),
        ("fs.mkdir", {"path": "notes/new"}),
    )
    assert [(outcome.verdict, outcome.status) for outcome in outcomes] == [("allow", "failed")] * 4
    assert all("symbolic link" in (outcome.error or "") for outcome in outcomes)
    assert (shop.parent / "outside.md").read_text() == SECRET
    assert not (shop.parent / "new").exists()


@ON_LINUX
def test_git_reports_the_state_of_the_repository_and_nothing_else(shop: Path) -> None:
    allowed, *denied = submit(
        shop,
        ("proc.run", {"program": "git", "argv": ["status", "--short"]}),
        ("proc.run", {"program": "git", "argv": ["-c", "alias.status=!touch owned", "status"]}),
        ("proc.run", {"program": "git", "argv": ["log", "--oneline", "-n", "20", "--output=owned"]}),
        ("proc.run", {"program": "touch", "argv": ["owned"]}),
    )
    assert allowed.value["exit_code"] == 0
    assert "?? README.md" in allowed.value["stdout"]
    assert deciding(denied) == [("denied", "other-programs")] * 3
    assert "git status" in (denied[0].error or "")
    assert not (shop / "owned").exists()


ELSEWHERE = """
import runpy, sys
import bobcat.cli.main, bobcat.guard, bobcat.providers.process.tools, bobcat.providers.filesystem.tools
sys.platform = "darwin"
sys.path.insert(0, ".")
runpy.run_path("test_policy.py", run_name="__main__")
from policy_tools import tools
assert "proc.run" not in tools.names(), tools.names()
"""


def test_the_tests_of_the_starter_pass_without_programs(shop: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=shop, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "decided as expected" in done.stdout


def bobcat(shop: Path, command: str, *args: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "bobcat", command, "policy.yaml", *args]
    return subprocess.run(line, cwd=shop, capture_output=True, text=True, timeout=60)


READ = ("--tool", "fs.read", "--args", '{"path": "README.md"}')


def test_the_commands_that_the_policy_names_work_in_its_directory(shop: Path) -> None:
    assert bobcat(shop, "check", "--deny-warnings", "--tools", "policy_tools").returncode == 0
    assert bobcat(shop, "eval", "--tools", "policy_tools.py", *READ).stdout.startswith("allow\n")
    assert "read-the-project (allow)  fires" in bobcat(shop, "explain", "--tools", "policy_tools.py", *READ).stdout
    done = bobcat(shop, "submit", "--tools", "policy_tools:tools", *READ, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["value"]["content"] == "the shop"
    hidden = bobcat(shop, "submit", "--tools", "policy_tools:tools", "--tool", "fs.read", "--args", '{"path": ".env"}')
    assert hidden.returncode == 4
    assert SECRET not in hidden.stdout + hidden.stderr
