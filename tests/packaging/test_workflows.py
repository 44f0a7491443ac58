"""The workflows of GitHub: they run what exists, pin their actions, and hold no rights that they do not need."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHECK = Path(__file__).with_name("workflows.py")

_spec = importlib.util.spec_from_file_location("workflows", CHECK)
assert _spec is not None
assert _spec.loader is not None
workflows = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(workflows)

SOUND = """\
on: {push: {}}
permissions: {contents: read}
concurrency: {group: one}
jobs:
  first:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    strategy: {matrix: {os: [a, b], include: [{train: "1"}]}}
    env: {OS: "${{ matrix.os }}"}
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683  # v4.2.2
      - {id: made, run: .ci/preflight "$OS" && make setup}
  second:
    needs: first
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps: [{run: echo done}]
"""
MISTAKES = {
    "no timeout": ("    timeout-minutes: 5\n    steps: [", "    steps: ["),
    "which is no job": ("needs: first", "needs: third"),
    "needs itself": ("    strategy:", "    needs: second\n    strategy:"),
    "is not pinned": ("@11bd71901bbe5b1630ceea73d27597364c9af683", "@v4"),
    "names the release": ("  # v4.2.2", ""),
    "is no executable file": (".ci/preflight", ".ci/requirements-dev"),
    "there is no such target": ("make setup", "make set-up"),
    "bash refuses": ("echo done", '"echo $(done"'),
    "is not in the matrix": ("matrix.os", "matrix.system"),
    "is no step": ("echo done", 'echo done, env: {A: "${{ steps.made.outputs.b }}"}'),
    "pass it in `env`": ("echo done", "'echo ${{ github.event.pull_request.title }}'"),
    "`contents: read`": ("permissions: {contents: read}", "permissions: write-all"),
    "no concurrency group": ("concurrency: {group: one}\n", ""),
    "not one of `uses` and `run`": ("{run: echo done}", "{name: nothing}"),
}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_sound(path: Path) -> None:
    assert workflows.problems(path, ROOT) == []


def test_a_sound_workflow_has_no_problems(tmp_path: Path) -> None:
    path = tmp_path / "sound.yml"
    path.write_text(SOUND)
    assert workflows.problems(path, ROOT) == []


@pytest.mark.parametrize("problem", MISTAKES)
def test_a_mistake_is_found(problem: str, tmp_path: Path) -> None:
    before, after = MISTAKES[problem]
    assert before in SOUND
    path = tmp_path / "mistaken.yml"
    path.write_text(SOUND.replace(before, after))
    assert any(problem in found for found in workflows.problems(path, ROOT)), workflows.problems(path, ROOT)


def test_the_matrix_has_every_supported_python_on_every_platform() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    systems = {re.match(r"[a-z]+", each).group() for each in matrix["os"]}  # type: ignore[union-attr]
    assert systems == {"ubuntu", "macos", "windows"}
    assert any(each.endswith("-arm") for each in matrix["os"])


def test_every_slow_part_runs_at_night() -> None:
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    targets = set(nightly["jobs"]["slow"]["strategy"]["matrix"]["target"])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [parts] = re.findall(r"^check-slow: (.*?)  ##", makefile, re.MULTILINE)
    assert targets == set(parts.split()) - {"check"}


def test_only_the_publishing_jobs_hold_rights() -> None:
    holders = {
        (path.stem, name)
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
        if "permissions" in job
    }
    publishing = ("attest", "pypi", "crates-io", "github")
    assert holders == {("docs", "publish"), *(("release", name) for name in publishing)}


@pytest.mark.parametrize(
    "script",
    sorted(path for path in (ROOT / ".ci").iterdir() if path.stat().st_mode & 0o100),
    ids=lambda path: path.name,
)
def test_a_script_is_readable_by_its_interpreter(script: Path) -> None:
    first = script.read_text(encoding="utf-8").splitlines()[0]
    command = {
        "#!/bin/sh": ["sh", "-n"],
        "#!/usr/bin/env bash": ["bash", "-n"],
        "#!/usr/bin/env python3": [
            sys.executable,
            "-c",
            "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')",
        ],
    }[first]
    done = subprocess.run([*command, str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
