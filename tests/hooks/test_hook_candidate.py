"""`--candidate`: what another policy would decide is in the log, and never in an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy
from hooks.hosts import Ended, call, native, prompt, python
from hooks.test_hook_log import HOOKS, bodies, hooks

ENFORCED = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - {id: read, match: {tool: read}, decision: allow}
  - {id: write, match: {tool: write}, decision: allow}
  - {id: ask, match: {tool: ask}, decision: approve_required, reason: who, approvers: [a, b]}
  - {id: two, match: {tool: two}, decision: approve_required, approvers: [a, b, c], approvals_needed: 2}
  - {id: try, match: {tool: try}, decision: dry_run}
  - {id: move, match: {tool: move}, decision: transform, transform: {jsonpath: $.args.path, set: /safe}}
  - {id: same, match: {tool: same}, decision: transform, transform: {jsonpath: $.args.path, set: /safe}}
  - {id: words, match: {tool: words, args.path.occurs_in: {ref: context.task}}, decision: allow}
"""
CANDIDATE = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - {id: reads, match: {tool: read}, decision: allow}
  - {id: ask, match: {tool: ask}, decision: approve_required, approvers: [b, a, c]}
  - {id: two, match: {tool: two}, decision: approve_required, approvers: [c, b, a]}
  - {id: try, match: {tool: try}, decision: allow}
  - {id: move, match: {tool: move}, decision: transform, transform: {jsonpath: $.args.path, set: /other}}
  - {id: same, match: {tool: same}, decision: transform, transform: {jsonpath: $.args.path, set: /safe}}
  - {id: broken, match: {tool: none, args.path.gt: 3}, decision: deny, reason: "\\u00fc"}
  - {id: words, match: {tool: words, args.path.occurs_in: {ref: context.task}}, decision: allow}
"""
KINDS = {
    "read": None,
    "write": "tightened",
    "ask": "unclear",
    "two": "loosened",
    "try": "loosened",
    "move": "unclear",
    "same": None,
    "none": "error",
    "other": None,
    "words": None,
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    Policy.compile(ENFORCED).save(tmp_path / "policy.bobcat")
    Policy.compile(CANDIDATE).save(tmp_path / "candidate.bobcat")
    return tmp_path


def ask(hook: Any, place: Path, text: bytes, log: str = "log.jsonl", host: str = "claude-code") -> Ended:
    flags = ("--log", str(place / log), "--candidate", str(place / "candidate.bobcat"), "--state", str(place / "state"))
    ended: Ended = hook(host, place / "policy.bobcat", text, *flags)
    return ended


@pytest.mark.parametrize("tool", KINDS)
def test_both_hooks_record_the_same_divergence(place: Path, tool: str) -> None:
    text = call("claude-code", tool, {"path": "/tmp"})
    plain = native("claude-code", place / "policy.bobcat", text, "--state", str(place / "state"))
    for hook in HOOKS:
        ended = ask(hook, place, text)
        assert (ended.code, ended.out, ended.err) == (0, plain.out, b"")
    ours, theirs = bodies(place / "log.jsonl")
    assert ours == theirs
    found = ours.get("diverged", [])
    assert [each["kind"] for each in found] == [KINDS[tool]] * len(found)
    assert bool(found) is (KINDS[tool] is not None)
    for each in found:
        assert each["bundle_id"] == Policy.load(place / "candidate.bobcat").id
        assert (each["verdict"] is None) is (each["kind"] == "error")


def test_a_candidate_reads_the_words_of_the_user(place: Path) -> None:
    ask(native, place, prompt("claude-code", "look at /tmp"))
    for hook in HOOKS:
        assert ask(hook, place, call("claude-code", "words", {"path": "/tmp"})).out == b""
    assert ["diverged" in body for body in bodies(place / "log.jsonl")] == [False, False]


def test_a_log_in_a_database_has_divergences(place: Path) -> None:
    assert ask(native, place, call("claude-code", "write", {}), "log.db").code == 0
    (body,) = bodies(place / "log.db")
    assert body["diverged"][0]["kind"] == "tightened"


REMEMBERS = "rules: [{match: {tool: write, run.count.write.lt: 1}, decision: allow}]"


@hooks
@pytest.mark.parametrize("problem", ["missing", "source", "damaged", "remembers", "lynx"])
def test_a_candidate_that_cannot_be_used_is_reported_and_changes_nothing(place: Path, hook: Any, problem: str) -> None:
    path = place / "candidate.bobcat"
    match problem:
        case "missing":
            path.unlink()
        case "source":
            path.write_text(CANDIDATE)
        case "damaged":
            path.write_bytes(path.read_bytes()[:-9])
        case "remembers":
            Policy.compile(REMEMBERS).save(path)
        case "lynx":
            path.write_bytes(path.read_bytes().replace(b'"strict"', b'"lynx"  '))
    ended = ask(hook, place, call("claude-code", "write", {}))
    assert (ended.code, ended.out, ended.err.count(b"\n")) == (0, b"", 1)
    assert ended.err.startswith(b"bobcat-hook: the candidate is not compared: ")
    assert str(path).encode() in ended.err
    (body,) = bodies(place / "log.jsonl")
    assert (body["status"], "diverged" in body) == ("permitted", False)


@hooks
def test_a_candidate_without_a_log_is_a_usage_error(place: Path, hook: Any) -> None:
    flags = ("--candidate", str(place / "candidate.bobcat"))
    ended = hook("codex", place / "policy.bobcat", call("codex", "read", {}), *flags)
    assert (ended.code, ended.out) == (2, b"")
    assert b"--candidate needs --log" in ended.err
    assert json.loads(python("codex", place / "policy.bobcat", call("codex", "none", {})).out)
