"""`bobcat submit`: the exit codes, what runs, and what is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bobcat.decision_log import open_log
from unit.cli_runner import Run, runner

TOOLS = """
from pathlib import Path

def read(path: str, lines: int = 1) -> str:
    Path("ran").write_text(path)
    return f"{lines} of {path}"

def broken():
    raise ValueError("broken pipe")

def remove(path: str):
    raise AssertionError

TOOLS = [read, broken, remove]
tools = TOOLS
"""
POLICY = """
rules:
  - {id: read, match: {tool: read, args.path.starts_with: notes}, decision: allow}
  - {id: broken, match: {tool: broken}, decision: allow}
  - {id: ask, match: {tool: remove}, decision: approve_required}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools.py").write_text(TOOLS)
    Path("policy.yaml").write_text(POLICY)


CALL = ("submit", "policy.yaml", "--tools", "tools.py:TOOLS")


def test_a_permitted_call_runs_and_is_recorded(run: Run) -> None:
    done = run(*CALL, "--tool", "read", "--args", '{"path": "notes/a"}', "--log", "log.db", "--format", "json")
    assert (done.code, done.err) == (0, "")
    found = done.json()
    assert (found["status"], found["value"]) == ("ok", "1 of notes/a")
    assert found["args"] == {"path": "notes/a", "lines": 1}
    assert Path("ran").read_text() == "notes/a"
    with open_log("log.db") as log:
        assert [(each.record_id, each.status) for each in log.records()] == [(found["record_id"], "ok")]


@pytest.mark.parametrize(
    ("tool", "args", "code", "status"),
    [
        ("read", '{"path": "secret"}', 4, "denied"),
        ("remove", '{"path": "a"}', 4, "denied"),
        ("nothing", "{}", 4, "unknown"),
        ("read", "{}", 4, "invalid"),
        ("broken", "{}", 1, "failed"),
    ],
)
def test_other_statuses_have_their_codes(run: Run, tool: str, args: str, code: int, status: str) -> None:
    done = run(*CALL, "--tool", tool, "--args", args)
    assert done.code == code
    assert done.out.startswith(f"{status}  {tool}\n")
    assert not Path("ran").exists()


def test_a_key_and_a_store_make_it_happen_once(run: Run) -> None:
    Path("args.json").write_text('{"path": "notes/b"}')
    call = (*CALL, "--tool", "read", "--args", "@args.json", "--store", "sqlite:///gate.db", "--key", "k")
    first, second = run(*call, "--format", "json"), run(*call, "--format", "json")
    assert first.json() == second.json()


def test_an_approval_waits_in_the_store(run: Run) -> None:
    done = run(*CALL, "--tool", "remove", "--args", '{"path": "a"}', "--store", "sqlite:///gate.db")
    assert done.code == 4
    assert done.out.startswith("waiting  remove\n")


def test_redacted_values_are_not_in_the_log(run: Run) -> None:
    done = run(*CALL, "--tool", "read", "--args", '{"path": "notes/x77"}', "--log", "log.db", "--redact", "args.path",
               "--redact", "value")  # fmt: skip
    assert done.code == 0
    assert b"x77" not in b"".join(each.read_bytes() for each in Path().glob("log.db*"))


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--args", "[1]"), 2, "must be a JSON object"),
        (("--args", "{"), 2, "not JSON"),
        (("--args", '{"a": 1, "a": 2}'), 2, "the key `a` is written twice"),
        (("--args", "@missing.json"), 3, "missing.json"),
        (("--log", "missing/log.db"), 3, "log"),
        (("--store", "nothing:x"), 3, "does not name a store"),
        (("--redact", "args.x"), 3, "redact"),
    ],
)
def test_mistakes_have_messages(run: Run, arguments: tuple[str, ...], code: int, text: str) -> None:
    done = run(*CALL, "--tool", "read", *arguments)
    assert (done.code, done.out) == (code, "")
    assert text in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("policy", ["rules: 3", None])
def test_a_policy_that_cannot_be_used_is_unreadable(run: Run, policy: str | None) -> None:
    if policy is None:
        Path("policy.yaml").unlink()
    else:
        Path("policy.yaml").write_text(policy)
    done = run(*CALL, "--tool", "read")
    assert (done.code, done.out) == (3, "")


def test_a_missing_tool_list_is_named(run: Run) -> None:
    done = run("submit", "policy.yaml", "--tools", "tools.py:NONE", "--tool", "read")
    assert done.code == 3
    assert "`NONE` is missing" in done.err


def test_json_holds_every_field(run: Run) -> None:
    found = json.loads(run(*CALL, "--tool", "nothing", "--format", "json").out)
    assert sorted(found) == sorted(
        "status record_id tool args value error code verdict reason matched_rules approvals duration_ms".split()
    )
