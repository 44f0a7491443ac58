"""A log that cannot be written is a refusal: exit code 2, one line on stderr, no answer."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat.decision_log import verify
from hooks.hosts import NATIVE, Ended, call, native, python

HOOKS = (native, python)
hooks = pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)


def refused(ended: Ended) -> bytes:
    assert (ended.code, ended.out, ended.err.count(b"\n")) == (2, b"", 1), ended
    assert ended.err.startswith(b"bobcat-hook: ")
    assert b"Traceback" not in ended.err
    return ended.err


def full(directory: Path, log: Path) -> None:
    log.symlink_to("/dev/full")


def a_directory(directory: Path, log: Path) -> None:
    log.mkdir()


def head_is_damaged(directory: Path, log: Path) -> None:
    head = log.with_name(f"{log.name}-head")
    head.write_bytes(head.read_bytes().replace(b"0", b"1", 1))


def head_is_missing(directory: Path, log: Path) -> None:
    log.with_name(f"{log.name}-head").unlink()


def log_is_missing(directory: Path, log: Path) -> None:
    log.unlink()


def log_is_cut(directory: Path, log: Path) -> None:
    data = log.read_bytes()
    log.write_bytes(data[: data.index(b"\n") + 1])


def log_is_empty(directory: Path, log: Path) -> None:
    log.write_bytes(b"")


def a_foreign_line(directory: Path, log: Path) -> None:
    with log.open("ab") as file:
        file.write(b'{"seq": 3}\n')


def a_repeated_line(directory: Path, log: Path) -> None:
    with log.open("ab") as file:
        file.write(log.read_bytes().splitlines(keepends=True)[-1])


def a_padded_line(directory: Path, log: Path) -> None:
    head = log.with_name(f"{log.name}-head")
    before = head.read_bytes()
    assert python("codex", BUNDLES[-1], call("codex"), "--log", str(log)).code == 0
    log.write_bytes(log.read_bytes()[:-1] + b" \n")
    head.write_bytes(before)


BUNDLES: list[Path] = []
NEW: list[Callable[[Path, Path], None]] = [full, a_directory]
DAMAGED: list[Callable[[Path, Path], None]] = [
    head_is_damaged, head_is_missing, log_is_missing, log_is_cut, log_is_empty, a_foreign_line, a_repeated_line,
    a_padded_line,
]  # fmt: skip


@hooks
@pytest.mark.parametrize("prepare", NEW, ids=lambda each: each.__name__)
def test_a_log_that_cannot_begin_is_a_refusal(
    bundle: Path, tmp_path: Path, hook: Any, prepare: Callable[[Path, Path], None]
) -> None:
    log = tmp_path / "log.jsonl"
    prepare(tmp_path, log)
    assert b"log.jsonl" in refused(hook("codex", bundle, call("codex"), "--log", str(log)))


@hooks
@pytest.mark.parametrize("damage", DAMAGED, ids=lambda each: each.__name__)
def test_a_damaged_log_is_a_refusal_and_stays_as_it_is(
    bundle: Path, tmp_path: Path, hook: Any, damage: Callable[[Path, Path], None]
) -> None:
    log = tmp_path / "log.jsonl"
    BUNDLES.append(bundle)
    for _ in range(2):
        assert native("codex", bundle, call("codex"), "--log", str(log)).code == 0
    damage(tmp_path, log)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert b"log.jsonl" in refused(hook("codex", bundle, call("codex"), "--log", str(log)))
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


@hooks
@pytest.mark.parametrize(
    "target",
    [
        "/does/not/exist/log.jsonl", "/does/not/exist/log.db", "/sys/log.jsonl", "/sys/log.db", "/dev/full", "/",
        "", "redis://h/1", "sqlite://", "postgresql://127.0.0.1:1/none", "/dev/null/log.jsonl",
    ],
)  # fmt: skip
def test_a_place_without_a_log_is_a_refusal(bundle: Path, hook: Any, target: str) -> None:
    refused(hook("codex", bundle, call("codex"), f"--log={target}"))


@hooks
def test_a_text_is_not_taken_for_a_log(bundle: Path, tmp_path: Path, hook: Any) -> None:
    log = tmp_path / "notes.db"
    log.write_text("shopping list")
    refused(hook("codex", bundle, call("codex"), "--log", str(log)))
    assert log.read_text() == "shopping list"


@hooks
def test_a_quota_in_the_middle_of_a_line_leaves_the_log_as_it_was(bundle: Path, tmp_path: Path, hook: Any) -> None:
    log = tmp_path / "log.jsonl"
    assert native("codex", bundle, call("codex"), "--log", str(log)).code == 0
    before = log.read_bytes()
    size = len(before) + 200

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    refused(hook("codex", bundle, call("codex"), "--log", str(log), preexec_fn=limit))
    assert log.read_bytes() == before
    assert hook("codex", bundle, call("codex"), "--log", str(log)).code == 0
    report = verify(log)
    assert (report.ok, report.entries, report.notes) == (True, 2, ())


@hooks
def test_a_locked_log_is_a_refusal_in_time(bundle: Path, tmp_path: Path, hook: Any) -> None:
    log = tmp_path / "log.jsonl"
    assert native("codex", bundle, call("codex"), "--log", str(log)).code == 0
    with (tmp_path / "log.jsonl-head").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        began = time.monotonic()
        refused(hook("codex", bundle, call("codex"), "--log", str(log)))
        assert 3 < time.monotonic() - began < 7


@hooks
def test_a_locked_database_is_a_refusal_in_time(bundle: Path, tmp_path: Path, hook: Any) -> None:
    import sqlite3

    log = tmp_path / "log.db"
    assert hook("codex", bundle, call("codex"), "--log", str(log)).code == 0
    with sqlite3.connect(log, isolation_level=None) as held:
        held.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        refused(hook("codex", bundle, call("codex"), "--log", str(log)))
        assert 3 < time.monotonic() - began < 8
    held.close()


@hooks
def test_an_option_without_a_value_is_a_refusal(bundle: Path, hook: Any) -> None:
    refused(hook("codex", bundle, call("codex"), "--log"))
    refused(hook("codex", bundle, call("codex"), "--approvals"))


PROGRAMS = {
    "missing": None,
    "not executable": "",
    "killed": "#!/bin/sh\nkill -9 $$\n",
    "another code": "#!/bin/sh\necho '{}'; exit 1\n",
    "a refusal": "#!/bin/sh\ncat >/dev/null; echo '{}'; echo 'bobcat-hook: no disk' >&2; exit 2\n",
    "not UTF-8": "#!/bin/sh\ncat >/dev/null; printf '\\377'\n",
    "a traceback": "#!/bin/sh\ncat >/dev/null; printf 'one\\ntwo\\n' >&2; exit 2\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_broken_hook_in_python_is_a_refusal(bundle: Path, tmp_path: Path, name: str) -> None:
    shutil.copy(NATIVE, tmp_path / "bobcat-hook")
    program = PROGRAMS[name]
    if program is not None:
        (tmp_path / "bobcat").write_text(program)
        (tmp_path / "bobcat").chmod(0o755 if program else 0o600)
    command = [str(tmp_path / "bobcat-hook"), "codex", "--policy", str(bundle), "--log", str(tmp_path / "log.db")]
    ran = subprocess.run(command, input=call("codex"), capture_output=True, timeout=30)
    line = refused(Ended(ran.returncode, ran.stdout, ran.stderr))
    assert b"no disk" in line or str(tmp_path / "bobcat").encode() in line
    # Without a database, Python is not needed.
    log = tmp_path / "log.jsonl"
    ran = subprocess.run([*command[:-1], str(log)], input=call("codex"), capture_output=True, timeout=30)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_slow_hook_in_python_is_a_refusal_in_time(bundle: Path, tmp_path: Path) -> None:
    shutil.copy(NATIVE, tmp_path / "bobcat-hook")
    (tmp_path / "bobcat").write_text(f"#!{sys.executable}\nimport time\ntime.sleep(6)\n")
    (tmp_path / "bobcat").chmod(0o755)
    command = [str(tmp_path / "bobcat-hook"), "codex", "--policy", str(bundle), "--log", os.fspath(tmp_path / "x.db")]
    ran = subprocess.run(command, input=call("codex"), capture_output=True, timeout=30)
    assert b"5 s" in refused(Ended(ran.returncode, ran.stdout, ran.stderr))
