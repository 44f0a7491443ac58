"""`--log`: one chained record for each call, before its answer, by both hooks and beside a guard."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Policy
from bobcat.decision_log import open_log, verify
from hooks.cases import ANSWERS
from hooks.hosts import HOSTS, NATIVE, POLICY, call, native, python

HOOKS = (native, python)
hooks = pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)
targets = pytest.mark.parametrize("name", ["log.jsonl", "log.db"])


def bodies(log: Path) -> list[Any]:
    with open_log(log, must_exist=True, read_only=True) as opened:
        return [{**entry.body, "kind": entry.kind} for entry in opened.entries()]


@targets
@pytest.mark.parametrize("host", HOSTS)
def test_both_hooks_record_the_same(bundle: Path, tmp_path: Path, host: str, name: str) -> None:
    log, cases = tmp_path / name, [key for key in ANSWERS if key[0] == host]
    for _, tool_name, flags in cases if name.endswith(".jsonl") else cases[:3]:
        for hook in HOOKS:
            ended = hook(host, bundle, call(host, tool_name, agent_id="a1"), "--log", str(log), *flags)
            assert (ended.code, ended.answer) == (0, ANSWERS[host, tool_name, flags])
    found = bodies(log)
    assert found[::2] == found[1::2]
    assert verify(log).ok
    with open_log(log) as opened:
        assert len(opened.records()) == len(found)


RECORDED = [
    ("claude-code", "allowed", {"status": "permitted", "verdict": "allow", "matched_rules": ["ls"], "reason": ""}),
    ("codex", "denied", {"status": "denied", "verdict": "deny", "matched_rules": ["denied"], "reason": "not here"}),
    ("claude-code", "person", {"status": "asked", "verdict": "approve_required", "matched_rules": ["person"]}),
    ("gemini", "person", {"status": "denied", "verdict": "approve_required",
                          "error": "approval required (a person looks); gemini cannot ask for it here"}),
    ("codex", "preview", {"status": "denied", "verdict": "dry_run"}),
    ("codex", "other", {"status": "denied", "matched_rules": ["<default:on_missing_shadow>"]}),
    ("codex", "broken", {"status": "denied", "matched_rules": ["<rule_error:broken:wrong_type>"]}),
    ("codex", "moved", {"status": "permitted", "verdict": "transform", "matched_rules": ["moves"],
                        "args": {"path": "/safe", "force": True}, "proposed_args": {"path": "/etc", "force": True}}),
    ("claude-code", "raised", {"status": "asked", "matched_rules": ["moves", "outranks"]}),
    ("codex", "refused", {"status": "denied", "verdict": "deny", "args": {"path": "/etc", "force": True}}),
    ("gemini", "stripped", {"status": "denied", "verdict": "transform", "args": {"path": "/etc"}}),
]  # fmt: skip


@hooks
@pytest.mark.parametrize(("host", "tool_name", "expected"), RECORDED, ids=lambda value: str(value)[:20])
def test_a_record_has_the_decision_and_a_status(
    bundle: Path, tmp_path: Path, hook: Any, host: str, tool_name: str, expected: dict[str, Any]
) -> None:
    log = tmp_path / "log.jsonl"
    assert hook(host, bundle, call(host, tool_name), "--log", str(log)).code == 0
    [body] = bodies(log)
    assert {key: body[key] for key in expected} == expected
    assert ("error" in body) == (body["status"] == "denied" and body["verdict"] != "deny")
    assert body["principal"] == {"kind": "agent", "id": host}
    assert (body["tool"], body["workspace"], body["environment"]) == (tool_name, "/w", "dev")
    assert body["bundle_id"] == Policy.load(bundle).id
    assert body["extra"]["host"] == host
    assert body["kind"] == "outcome"


@hooks
def test_unusual_text_and_numbers_are_recorded_exactly(bundle: Path, tmp_path: Path, hook: Any) -> None:
    log, text = tmp_path / "log.jsonl", "\0\x7f\u2028\U0001f600\"\\/\b\f'é"
    args = {text: [1e16, -0.0, 1e-5, 0.1, 5e-324, 1 << 4000, -(1 << 64), 1.0, True, None, text]}
    assert hook("codex", bundle, call("codex", text, args), "--log", str(log)).code == 0
    [body] = bodies(log)
    assert (body["tool"], repr(body["args"])) == (text, repr(args))
    assert verify(log).ok


@hooks
@pytest.mark.parametrize("value", [float("inf"), "\ud800", 1 << 4097], ids=["infinity", "surrogate", "huge"])
def test_arguments_without_an_exact_text_are_refused(bundle: Path, tmp_path: Path, hook: Any, value: Any) -> None:
    log = tmp_path / "log.jsonl"
    text = call("codex", "denied", {"x": value}).replace(b"Infinity", b"1e999")
    ended = hook("codex", bundle, text, "--log", str(log))
    assert (ended.code, ended.out, ended.err.count(b"\n")) == (2, b"", 1)
    assert hook("codex", bundle, text).code == 0


@targets
@hooks
def test_new_files_belong_to_their_owner_alone(bundle: Path, tmp_path: Path, hook: Any, name: str) -> None:
    log = tmp_path / name
    ended = hook("codex", bundle, call("codex"), f"--log={log}", preexec_fn=lambda: os.umask(0))
    assert ended.code == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}, modes


def allowed(path: str) -> str:
    return path


def test_hooks_and_a_guard_share_a_log(bundle: Path, tmp_path: Path) -> None:
    log, count = tmp_path / "log.jsonl", 12

    def ask(number: int) -> int:
        hook = native if number % 4 else python
        return hook("codex", bundle, call("codex", session_id=f"s{number}"), "--log", str(log)).code

    async def submit() -> None:
        async with Guard(Policy.compile(POLICY), [allowed], log=log) as guard:
            for _ in range(count):
                assert (await guard.submit("allowed", {"path": "a"})).ok

    with ThreadPoolExecutor(8) as pool:
        codes = [pool.submit(ask, number) for number in range(4 * count)]
        asyncio.run(submit())
        assert [each.result() for each in codes] == [0] * (4 * count)
    report = verify(log)
    assert (report.ok, report.entries, report.notes) == (True, 6 * count, ())
    with open_log(log) as opened:
        assert len(opened.records("permitted")) == 4 * count
        assert len(opened.records("ok")) == count
        assert {each.body["extra"]["session_id"] for each in opened.records("permitted")} == {
            f"s{number}" for number in range(4 * count)
        }


def test_hooks_share_a_database(bundle: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.db"

    def ask(number: int) -> int:
        return (native, python)[number % 2]("codex", bundle, call("codex"), "--log", f"sqlite:///{log}").code

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(8))) == [0] * 8
    report = verify(log)
    assert (report.ok, report.entries) == (True, 8)


@hooks
def test_the_record_is_there_before_the_answer(bundle: Path, tmp_path: Path, hook: Any) -> None:
    log = tmp_path / "log.jsonl"
    with open("/dev/full", "wb") as stdout:
        assert hook("codex", bundle, call("codex", "denied"), "--log", str(log), stdout=stdout).code == 2
    assert [body["status"] for body in bodies(log)] == ["denied"]


def test_killed_hooks_leave_a_log_that_goes_on(bundle: Path, tmp_path: Path) -> None:
    log, answered = tmp_path / "log.jsonl", 0
    command = [str(NATIVE), "codex", "--policy", str(bundle), "--log", str(log)]
    for number in range(60):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hook:
            assert hook.stdin is not None
            assert hook.stdout is not None
            hook.stdin.write(call("codex", "denied"))
            hook.stdin.close()
            time.sleep(number * 0.0001)
            hook.send_signal(signal.SIGKILL)
            answered += bool(hook.stdout.read())
    assert native("codex", bundle, call("codex"), "--log", str(log)).code == 0
    report = verify(log)
    assert report.ok
    assert answered + 1 <= report.entries <= 61


# what a crash leaves: the bytes behind the last entry that the head knows


def _torn(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b'{"at":"2026')


def _head_behind(log: Path) -> None:
    before = _head(log).read_bytes()
    assert python("codex", POLICIES[-1], call("codex"), "--log", str(log)).code == 0
    _head(log).write_bytes(before)


def _head_behind_and_torn(log: Path) -> None:
    _head_behind(log)
    _torn(log)


def _pruning(log: Path) -> None:
    from bobcat.decision_log.entry import Head
    from bobcat.decision_log.head_file import HeadFile, Mark

    head = HeadFile(str(log))
    mark = head.current()
    assert mark is not None
    head.write(Mark(Head(*mark.head), 0), sync=True)
    head.close()


def _head(log: Path) -> Path:
    return log.with_name(f"{log.name}-head")


POLICIES: list[Path] = []
CRASHES = {"torn": _torn, "head behind": _head_behind, "both": _head_behind_and_torn, "pruning": _pruning}


@hooks
@pytest.mark.parametrize("crash", CRASHES)
def test_the_next_hook_repairs_what_a_crash_left(bundle: Path, tmp_path: Path, hook: Any, crash: str) -> None:
    log = tmp_path / "log.jsonl"
    POLICIES.append(bundle)
    for _ in range(3):
        assert native("codex", bundle, call("codex"), "--log", str(log)).code == 0
    CRASHES[crash](log)
    assert hook("codex", bundle, call("codex", "denied"), "--log", str(log)).code == 0
    report = verify(log)
    assert (report.ok, report.entries) == (True, 5 if "behind" in crash or crash == "both" else 4)
    torn = tmp_path / "log.jsonl-torn"
    assert torn.exists() == (crash in ("torn", "both"))
    if torn.exists():
        assert torn.read_bytes() == b'{"at":"2026\n'
        assert stat.S_IMODE(torn.stat().st_mode) == 0o600
