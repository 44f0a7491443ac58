"""The command line among other programs: pipes that close, and streams that are full, closed, unusual or not UTF-8."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unit.cli_runner import Run, runner

BOBCAT = [sys.executable, "-m", "bobcat"]
POLICY = "rules: [{id: é, match: {tool: x}, decision: transform, transform: {jsonpath: $.args.q, set: é}}]"
CALL = '{"tool": "x", "args": {"a": 1e999, "b": [-1e999, "\\ud800"], "c": %s}}' % ("9" * 5_000)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "call.json").write_text(CALL)
    return tmp_path


@pytest.fixture
def run(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(here)
    return runner(capsys, monkeypatch)


def process(here: Path, *args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*BOBCAT, *args], cwd=here, check=False, timeout=60, **options)


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", "policy.yaml"],
        ["explain", "policy.yaml", "call.json"],
        ["schema"],
        ["inspect", "policy.yaml", "--ir"],
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_is_no_failure(here: Path, command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = process(here, *command, stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device without space")
@pytest.mark.parametrize(
    "command", [["schema"], ["eval", "policy.yaml", "call.json"], ["explain", "policy.yaml", "call.json"]], ids=" ".join
)
def test_a_full_disk_is_an_error_without_a_traceback(here: Path, command: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = process(here, *command, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (3, b"error: no space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes streams")
@pytest.mark.parametrize(("closing", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), ("<&-", 3)])
def test_streams_that_are_closed_are_no_traceback(here: Path, closing: str, code: int) -> None:
    request = "" if closing == "<&-" else "call.json"
    line = f"exec '{sys.executable}' -m bobcat eval policy.yaml {request} {closing}"
    done = subprocess.run(["sh", "-c", line], cwd=here, capture_output=True, check=False)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_utf_8_and_text_is_shown_as_far_as_it_can_be(here: Path, encoding: str) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = process(here, "eval", "policy.yaml", "call.json", "--format", "json", env=env, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode("utf-8"), parse_int=str)["matched_rules"] == ["é"]
    for command in (["eval", "policy.yaml", "call.json"], ["explain", "policy.yaml", "call.json"]):
        done = process(here, *command, env=env, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_arguments_that_are_shown_are_those_that_came(run: Run) -> None:
    shown = run("eval", "policy.yaml", "call.json", "--format", "json").out
    assert '"a": 1e999' in shown
    assert '"b": [\n      -1e999,\n      "\\ud800"\n    ]' in shown
    args = json.loads(shown, parse_int=str)["transform_args"]
    assert args == {"a": float("inf"), "b": [float("-inf"), "\ud800"], "c": "9" * 5_000, "q": "é"}
    assert "9" * 5_000 in run("eval", "policy.yaml", "call.json").out


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ('{"a": 1, "a": 2}', "the key `a` is written twice"),
        ('{"a": NaN}', "`NaN` is not JSON"),
        ('{}, "context": {"environment": "prod"}', "`--args`: not JSON"),
        ('{"a": ' + "[" * 50_000 + "]" * 50_000 + "}", "`--args`: not JSON"),
        ("[]", "a JSON object is needed"),
        ("", "`--args`: not JSON"),
    ],
)
def test_arguments_on_the_command_line_are_read_as_in_a_file(run: Run, args: str, problem: str) -> None:
    done = run("eval", "policy.yaml", "--tool", "x", "--args", args)
    assert done.code in (2, 3)
    assert problem in done.err


def test_an_output_that_is_a_link_or_a_device_stays_one(run: Run, here: Path) -> None:
    (here / "link").symlink_to("real.bundle")
    assert run("compile", "policy.yaml", "-o", "link").code == 0
    assert (here / "link").is_symlink()
    assert (here / "real.bundle").read_bytes().startswith(b"\x89BOBCAT")
    assert run("compile", "policy.yaml", "-o", os.devnull).code == 0
    assert not Path(os.devnull).is_file()


def test_an_output_is_replaced_as_a_whole_or_not_at_all(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "policy.schema.json").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = run("schema", "-o", "policy.schema.json")
    assert (done.code, done.err) == (3, "error: cannot write `policy.schema.json`: no space left on device\n")
    assert (here / "policy.schema.json").read_text() == "old"
    assert sorted(path.name for path in here.iterdir()) == ["call.json", "policy.schema.json", "policy.yaml"]


def test_a_bundle_is_not_checked_as_if_it_were_a_source(run: Run) -> None:
    run("compile", "policy.yaml", "-o", "out.bundle")
    done = run("check", "out.bundle")
    assert (done.code, done.err) == (3, "error: `out.bundle` is a bundle; `check` reads the sources of policies\n")


@pytest.mark.parametrize("priority", ["--5", "²", "x", "1.5", "9" * 5_000])
def test_a_priority_that_is_no_integer_is_a_usage_error(run: Run, priority: str) -> None:
    done = run("eval", "policy.yaml", "--tool", "x", "--python-rule", f"os:getcwd@{priority}")
    assert done.code == 2
    assert "is not an integer" in done.err


def test_a_module_of_rules_with_a_null_character_has_a_place(run: Run, here: Path) -> None:
    (here / "rules.py").write_bytes(b"\0")
    done = run("check", "rules.py")
    assert done.code == 3
    assert done.err.startswith("error: rules.py:1:1: ")
