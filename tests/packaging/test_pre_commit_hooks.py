"""The hooks of `.pre-commit-hooks.yaml`: which files they take, and which commits they refuse."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HOOKS: dict[str, dict[str, Any]] = {
    each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
}
GOOD = "rules:\n  - {id: look, match: {tool: search}, decision: allow}\n"
SUITE = """policy: policy.yaml
cases:
  - name: a search
    request: {tool: search}
    expect: {verdict: %s}
"""


def run(hook: str, directory: Path, *files: str) -> int:
    """Run a hook as pre-commit does: its entry, with the files that it takes."""
    definition = HOOKS[hook]
    taken = [name for name in files if re.search(definition["files"], name)]
    if not taken:
        return 0
    command, *rest = definition["entry"].split()
    assert command == "bobcat"
    given = taken if definition.get("pass_filenames", True) else []
    return subprocess.run(
        [sys.executable, "-m", "bobcat", *rest, *given], cwd=directory, capture_output=True
    ).returncode


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(GOOD)
    (tmp_path / "policy.policytest.yaml").write_text(SUITE % "allow")
    return tmp_path


FILES = ("policy.yaml", "policy.policytest.yaml", "README.md")


def test_a_good_commit_passes_every_hook(repository: Path) -> None:
    assert set(HOOKS) == {"bobcat-check", "bobcat-fmt", "bobcat-test"}
    assert [run(hook, repository, *FILES) for hook in HOOKS] == [0, 0, 0]
    assert (repository / "policy.yaml").read_text() == GOOD


def test_a_policy_with_an_error_is_refused(repository: Path) -> None:
    (repository / "policy.yaml").write_text(GOOD.replace("decision", "decison"))
    assert run("bobcat-check", repository, *FILES) == 1
    assert run("bobcat-test", repository, *FILES) != 0


def test_a_changed_decision_is_refused(repository: Path) -> None:
    (repository / "policy.policytest.yaml").write_text(SUITE % "deny")
    assert run("bobcat-test", repository, "policy.yaml") == 1
    assert run("bobcat-test", repository, "README.md") == 0


def test_a_policy_is_formatted_in_place_and_pre_commit_sees_the_change(repository: Path) -> None:
    (repository / "policy.yaml").write_text(GOOD.replace("  - {id", "  -   {id"))
    assert run("bobcat-fmt", repository, *FILES) == 0
    assert (repository / "policy.yaml").read_text() == GOOD


@pytest.mark.parametrize(
    ("name", "hooks"),
    [
        ("policy.yaml", {"bobcat-check", "bobcat-fmt", "bobcat-test"}),
        ("teams/pay.policy.yml", {"bobcat-check", "bobcat-fmt", "bobcat-test"}),
        ("teams/pay.policytest.yaml", {"bobcat-fmt", "bobcat-test"}),
        ("docker-compose.yaml", {"bobcat-test"}),
        ("rules/access.py", {"bobcat-test"}),
        ("mypolicy.txt", set()),
    ],
)
def test_files(name: str, hooks: set[str]) -> None:
    assert {each for each, hook in HOOKS.items() if re.search(hook["files"], name)} == hooks
