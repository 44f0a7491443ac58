"""A hook that cannot answer ends with exit code 2 and one line on stderr."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.hosts import NATIVE, Ended, call, native, python

HOOKS = (native, python)
hooks = pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)
COMMANDS = {"native": [str(NATIVE)], "python": [sys.executable, "-m", "bobcat", "hook"]}
commands = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


def assert_refused(ended: Ended) -> None:
    assert (ended.code, ended.err.count(b"\n")) == (2, 1), ended


@hooks
@pytest.mark.parametrize("target", ["/dev/full", "/dev/null"])
def test_an_answer_without_a_reader_is_a_refusal(bundle: Path, hook: Any, target: str) -> None:
    with open(target, "wb") as stdout:
        assert_refused(hook("codex", bundle, call("codex", "denied"), stdout=stdout))


@hooks
def test_a_closed_stdout_is_a_refusal(bundle: Path, hook: Any) -> None:
    assert_refused(hook("codex", bundle, call("codex", "denied"), stdout=None, preexec_fn=lambda: os.close(1)))


@hooks
def test_a_pipe_without_a_reader_is_a_refusal(bundle: Path, hook: Any) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert_refused(hook("codex", bundle, call("codex", "denied"), stdout=writer))
    finally:
        os.close(writer)


@hooks
def test_a_file_above_the_limit_of_the_process_is_a_refusal(bundle: Path, hook: Any, tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

    with open(tmp_path / "out", "wb") as stdout:
        assert_refused(hook("codex", bundle, call("codex", "denied"), stdout=stdout, preexec_fn=limit))


@commands
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_a_refusal(bundle: Path, command: list[str], number: int) -> None:
    with _waiting(command, bundle) as hook:
        time.sleep(1.0)
        hook.send_signal(number)
        out, err = hook.communicate(timeout=10)
    assert_refused(Ended(hook.returncode, out, err))
    assert out == b""


@commands
def test_an_input_that_does_not_end_is_a_refusal_in_time(bundle: Path, command: list[str]) -> None:
    with _waiting(command, bundle) as hook:
        began = time.monotonic()
        hook.wait(timeout=9)
        assert 3 < time.monotonic() - began < 9
        assert hook.stderr is not None
        assert_refused(Ended(hook.returncode, b"", hook.stderr.read()))


def _waiting(command: list[str], bundle: Path) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*command, "codex", "--policy", str(bundle)], stdin=pipe, stdout=pipe, stderr=pipe)


@commands
@pytest.mark.parametrize(
    "arguments",
    [
        [], ["codex"], ["--policy", "POLICY"], ["nobody", "--policy", "POLICY"], ["codex", "--policy"],
        ["codex", "--policy", "POLICY", "--verbose"], ["codex", "gemini", "--policy", "POLICY"],
        ["codex", "--policy", "/does/not/exist"], ["codex", "--policy", "/"], ["Codex", "--policy", "POLICY"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_wrong_command_line_is_a_refusal(bundle: Path, command: list[str], arguments: list[str]) -> None:
    given = [str(bundle) if argument == "POLICY" else argument for argument in arguments]
    ran = subprocess.run([*command, *given], input=call("codex"), capture_output=True)
    assert_refused(Ended(ran.returncode, ran.stdout, ran.stderr))
    assert ran.stdout == b""


@commands
def test_a_policy_may_follow_an_equals_sign(bundle: Path, command: list[str]) -> None:
    ran = subprocess.run([*command, f"--policy={bundle}", "codex"], input=call("codex"), capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
