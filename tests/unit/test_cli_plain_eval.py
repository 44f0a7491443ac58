"""`bobcat eval` without click, beside the command itself: the same output, messages and exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from bobcat import compile_policy
from bobcat.cli import main as entry
from bobcat.cli.group import cli
from bobcat.cli.plain_eval import plain_eval
from unit.cli_runner import Run, runner

POLICY = """
rules:
  - {id: rm, match: {tool: shell, args.cmd.matches: "rm -rf"}, decision: deny, reason: "no\\u202e way"}
  - {id: ls, match: {tool: shell, args.cmd: ls}, decision: allow}
  - {id: pay, match: {tool: pay}, decision: approve_required, approvers: [alice, b\u00f6b], approvals_needed: 2,
     timeout_seconds: 90, obligations: [{tag: {team: ops}}]}
  - {id: cut, match: {tool: cut}, decision: transform, transform: {jsonpath: $.args.n, set: [1.5, "\u00e9\u0430"]}}
"""
REQUEST = {"tool": "shell", "args": {"cmd": "ls"}}

PLAIN = (
    ("b.bobcat", "--tool", "shell", "--args", '{"cmd": "ls"}'),
    ("b.bobcat", "--tool=shell", '--args={"cmd": "rm -rf /"}', "--format=json"),
    ("b.bobcat", "--tool", "shell", "--args", '{"cmd": "rm -rf /"}', "--exit-code"),
    ("--exit-code", "--format", "text", "--tool", "pay", "b.bobcat"),
    ("b.bobcat", "--tool", "pay", "--format", "json", "--exit-code"),
    ("b.bobcat", "--tool", "cut", "--args", '{"n": 1e400, "m": 123456789012345678901234567890}'),
    ("b.bobcat", "--tool", "cut", "--format", "json", "--exit-code"),
    ("b.bobcat", "--tool", "cut", "--args", '{"n": 2}', "--declared", '{"reversible": true}', "--context", "{}"),
    ("b.bobcat", "--tool", "\u0440ay\u202e", "--format", "json"),
    ("b.bobcat", "request.json"),
    ("b.bobcat", "bom.json", "--format", "json"),
    ("b.bobcat",),
    ("b.bobcat", "-", "--format", "json"),
)
"""Arguments that are answered without click; standard input is a request."""
FOR_THE_COMMAND = (
    (),
    ("--help",),
    ("-",),
    ("b.bobcat", "--format", "xml"),
    ("b.bobcat", "--format"),
    ("b.bobcat", "--tool"),
    ("b.bobcat", "--tool", "--exit-code"),
    ("b.bobcat", "--tool", "a", "--tool", "shell"),
    ("b.bobcat", "--tool", "shell", "request.json"),
    ("b.bobcat", "request.json", "more.json"),
    ("b.bobcat", "--args", "{}"),
    ("b.bobcat", "--tool", "shell", "--args", "[]"),
    ("b.bobcat", "--tool", "shell", "--args", '{"cmd": '),
    ("b.bobcat", "--tool", "shell", "--args", "@args.json"),
    ("b.bobcat", "--tool", "shell", "--args", "@missing.json"),
    ("b.bobcat", "--tool", "shell", "--declared", '{"cost": 3}'),
    ("b.bobcat", "--tool", "shell", "--no-such-option"),
    ("b.bobcat", "--tool", "shell", "-x"),
    ("b.bobcat", "--tool", "shell", "--"),
    ("b.bobcat", "--profile", "lynx", "--tool", "shell"),
    ("b.bobcat", "--expected-id", "00", "--tool", "shell"),
    ("b.bobcat", "--exit-code=1", "--tool", "shell"),
    ("missing.bobcat", "--tool", "shell"),
    ("cut.bobcat", "--tool", "shell"),
    ("lynx.bobcat", "--tool", "shell"),
    ("policy.yaml", "--tool", "shell"),
    (".", "--tool", "shell"),
    ("b.bobcat", "missing.json"),
    ("b.bobcat", "broken.json"),
    ("b.bobcat", "latin.json"),
    ("b.bobcat", "tools.json"),
    ("b.bobcat", "twice.json"),
)
"""Arguments that the command has to answer."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    bundle = compile_policy(POLICY)
    bundle.save("b.bobcat")
    compile_policy("rules: [{match: {tool: shell}, decision: deny}]", profile="lynx").save("lynx.bobcat")
    data = bundle.to_bytes()
    for name, content in {
        "cut.bobcat": data[:-1],
        "policy.yaml": POLICY.encode(),
        "request.json": json.dumps(REQUEST).encode(),
        "bom.json": b"\xef\xbb\xbf" + json.dumps(REQUEST).encode(),
        "broken.json": b'{"tool": "shell"',
        "latin.json": b'{"tool": "\xe9"}',
        "tools.json": b'{"tool": "shell", "tools": "missing.py"}',
        "twice.json": b'{"tool": "shell", "tool": "shell"}',
        "args.json": b'{"cmd": "ls"}',
    }.items():
        Path(name).write_bytes(content)
    return runner(capsys, monkeypatch)


@pytest.mark.parametrize("words", [*PLAIN, *FOR_THE_COMMAND], ids=" ".join)
@pytest.mark.parametrize("stdin", [json.dumps(REQUEST), "{", ""], ids=["request", "broken", "empty"])
def test_the_answer_is_that_of_the_command(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], stdin: str
) -> None:
    found = run("eval", *words, stdin=stdin)
    monkeypatch.setattr(entry, "_without_click", lambda _: None)
    assert found == run("eval", *words, stdin=stdin)


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_a_plain_call_needs_no_click(run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.setattr(cli, "main", lambda **_: pytest.fail("the command was asked"))
    assert run("eval", *words, stdin=json.dumps(REQUEST)).out


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("words", FOR_THE_COMMAND, ids=" ".join)
def test_the_command_answers_all_others(words: tuple[str, ...]) -> None:
    assert plain_eval(list(words)) is None


@pytest.mark.usefixtures("run")
def test_a_terminal_gets_colours_from_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert plain_eval(list(PLAIN[0])) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("name", ["b.bobcat", "policy.yaml", "request.json", "broken.json"])
def test_a_pipe_in_place_of_a_file_is_read_once(name: str) -> None:
    os.mkfifo("pipe")
    given = ["pipe" if each == name else each for each in ("b.bobcat", "request.json")]
    if "pipe" not in given:
        given = ["pipe", "request.json"] if name == "policy.yaml" else ["b.bobcat", "pipe"]
    command = [sys.executable, "-m", "bobcat", "eval"]
    expected = subprocess.run(
        [*command, *(name if each == "pipe" else each for each in given)], capture_output=True, text=True, check=False
    )
    with subprocess.Popen([*command, *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        Path("pipe").write_bytes(Path(name).read_bytes())
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (expected.returncode, expected.stdout, expected.stderr)


def test_an_interrupt_while_the_call_is_read_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bobcat.cli.plain_eval._request", interrupted)
    done = run("eval", "b.bobcat")
    assert (done.code, done.out, done.err) == (130, "", "aborted\n")


@pytest.mark.parametrize("words", [("--help",), ("eval", *PLAIN[0])], ids=" ".join)
def test_a_stream_of_the_caller_gets_the_output(run: Run, words: tuple[str, ...]) -> None:
    expected = run(*words).out
    with redirect_stdout(io.StringIO()) as given, pytest.raises(SystemExit):
        entry.main(list(words))
    assert given.getvalue() == expected


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
@pytest.mark.usefixtures("run")
def test_output_that_cannot_be_written_is_an_error() -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "bobcat", "eval", *PLAIN[0]]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "error: no space left on device\n")


@pytest.mark.usefixtures("run")
def test_a_reader_that_has_left_is_no_error() -> None:
    writer = f"sleep 1; {sys.executable} -m bobcat eval b.bobcat --tool shell"
    command = ["bash", "-o", "pipefail", "-c", f"({writer}) | true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
