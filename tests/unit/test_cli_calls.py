"""Calls that `eval` and `explain` read: evaluated with tools, read from files, and never waited for in silence."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from unit.cli_runner import Run, runner

POLICY = """\
rules:
  - {id: undoable, match: {tool: note, declared.reversible: true, args.loud: false}, decision: allow}
  - {id: costly, match: {tool: pay, declared.cost: high, args.cents.between: [1, 100]}, decision: allow}
"""
TOOLS = '''\
from bobcat import ToolSet, tool

@tool()
async def note(text: str, loud: bool = False) -> str:
    """Keep a note."""
    return text

@tool(cost="high", reversible=False)
async def pay(cents: int) -> str:
    """Pay."""
    return str(cents)

tools = ToolSet.from_functions(note, pay)
others = ToolSet.from_functions(pay)
wrong = [note]
'''


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("mytools",):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "mytools.py").write_text(TOOLS)
    return runner(capsys, monkeypatch)


def _request(path: Path, **keys: object) -> str:
    path.write_text(json.dumps(keys))
    return str(path)


def test_a_request_file_that_names_tools_is_evaluated_as_in_a_run(run: Run, tmp_path: Path) -> None:
    call = _request(tmp_path / "call.json", tools="mytools.py", tool="note", args={"text": "x"})
    assert run("eval", "policy.yaml", call).out.splitlines()[0] == "allow"
    without = _request(tmp_path / "without.json", tool="note", args={"text": "x"})
    assert run("eval", "policy.yaml", without).out.splitlines()[0] == "approve_required"


@pytest.mark.parametrize("spec", ["mytools.py", "mytools.py:tools", "mytools", "mytools:tools", "mytools:others"])
def test_tools_are_named_by_file_or_by_module(run: Run, spec: str) -> None:
    done = run("eval", "policy.yaml", "--tools", spec, "--tool", "pay", "--args", '{"cents": 100}')
    assert done.out.splitlines()[0] == "allow"


@pytest.mark.parametrize(
    ("tool", "args", "reason"),
    [
        ("pya", {}, "unknown tool: 'pya'"),
        ("note", {}, "missing argument"),
        ("note", {"text": "x", "volume": 3}, "unknown argument"),
    ],
)
@pytest.mark.parametrize("command", ["eval", "explain"])
def test_a_call_that_the_tools_refuse_is_a_deny(run: Run, command: str, tool: str, args: object, reason: str) -> None:
    done = run(command, "policy.yaml", "--tools", "mytools.py", "--tool", tool, "--args", json.dumps(args))
    assert done.code == 0
    assert done.out.startswith("deny")
    assert reason in done.out


def test_what_tools_declare_cannot_be_declared_otherwise(run: Run) -> None:
    done = run("eval", "policy.yaml", "--tools", "mytools.py", "--tool", "pay", "--declared", '{"cost": "low"}')
    assert done.code == 3
    assert "the tools of `mytools.py` already set `declared`" in done.err


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("nowhere.py", "no file at `nowhere.py`"),
        ("no.such.module", "cannot be loaded"),
        ("mytools.py:missing", "`missing` is missing in `mytools.py`"),
        ("mytools.py:wrong", "`wrong` is a list"),
    ],
)
def test_tools_that_cannot_be_loaded_are_an_input_error(run: Run, spec: str, problem: str) -> None:
    done = run("eval", "policy.yaml", "--tools", spec, "--tool", "pay")
    assert done.code == 3
    assert problem in done.err


@pytest.mark.parametrize("named", [5, None, ["mytools.py"], 1.5, {}])
def test_the_tools_of_a_request_file_are_a_string(run: Run, tmp_path: Path, named: object) -> None:
    call = _request(tmp_path / "call.json", tools=named, tool="note")
    done = run("eval", "policy.yaml", call)
    assert done.code == 3
    assert "`tools` must be a string" in done.err


def test_a_request_with_tools_keeps_its_other_keys_as_they_are_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "call.json").write_text(
        '{"tools": "mytools.py", "tool": "pay", "args": {"cents": 100}, "context": {"extra": {"big": 1e400, "no": {}}}}'
    )
    assert run("eval", "policy.yaml", "call.json").out.splitlines()[0] == "allow"
    (tmp_path / "twice.json").write_text('{"tools": "mytools.py", "tool": "pay", "args": {"cents": 1, "cents": 2}}')
    done = run("eval", "policy.yaml", "twice.json")
    assert (done.code, "written twice" in done.err) == (3, True)


def test_arguments_are_read_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "args.json").write_text('{"text": "x", "loud": false}')
    declared = '{"reversible": true}'
    done = run("eval", "policy.yaml", "--tool", "note", "--args", "@args.json", "--declared", declared)
    assert done.out.splitlines()[0] == "allow"
    assert "cannot read `gone.json`" in run("eval", "policy.yaml", "--tool", "note", "--args", "@gone.json").err


def test_one_standard_input_has_one_reader(run: Run) -> None:
    done = run("eval", "-", "--tool", "note", "--args", "@-")
    assert done.code == 2
    assert "`--args` cannot be" in done.err


def test_a_short_option_prints_the_version(run: Run) -> None:
    assert run("-V").out == run("--version").out


@pytest.mark.parametrize("command", ["eval", "explain"])
def test_a_call_that_is_missing_on_a_terminal_is_an_error_and_no_silent_wait(
    run: Run, tmp_path: Path, command: str
) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bobcat", command, "policy.yaml"],
            stdin=theirs, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert "give a REQUEST file, `--tool NAME`, or `-`" in done.stderr
