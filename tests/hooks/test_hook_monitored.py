"""Monitored rules and candidates in a hook: the log has what they would change, from both hooks alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy
from hooks.hosts import call, native, python
from hooks.test_hook_log import HOOKS, bodies, hooks

POLICY = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - {id: all, match: {tool.in: [read, write]}, decision: allow}
  - {id: etc, match: {args.path.starts_with: /etc}, decision: deny, priority: 1, mode: monitor}
  - {id: tmp, match: {args.path: /tmp}, decision: approve_required, priority: 2, mode: monitor}
  - {id: odd, match: {args.mode: monitor}, decision: deny, reason: '"mode":"monitor",'}
"""
COUNTED = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - {id: few, match: {tool: write, run.count.write.lt: 9}, decision: allow}
  - {id: fewer, match: {tool: write, run.count.write.ge: 1}, decision: deny, priority: 1, mode: monitor}
"""


def monitored(
    hook: Any, place: Path, path: str, *flags: str, policy: str = "policy.bobcat", tool: str = "write"
) -> Any:
    options = ("--log", str(place / "log.jsonl"), "--state", str(place / "state"), *flags)
    return hook("claude-code", place / policy, call("claude-code", tool, {"path": path}), *options)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/etc/x", ("tightened", "deny", ["etc"])),
        ("/tmp", ("tightened", "approve_required", ["tmp"])),
        ("/home", None),
    ],
)
def test_both_hooks_record_what_monitored_rules_would_change(tmp_path: Path, path: str, expected: Any) -> None:
    compiled = Policy.compile(POLICY)
    compiled.save(tmp_path / "policy.bobcat")
    for hook in HOOKS:
        ended = monitored(hook, tmp_path, path)
        assert (ended.code, ended.out, ended.err) == (0, b"", b"")
    ours, theirs = bodies(tmp_path / "log.jsonl")
    assert ours == theirs
    assert ours["matched_rules"] == ["all"]
    if expected is None:
        assert "diverged" not in ours
        return
    (found,) = ours["diverged"]
    assert (found["kind"], found["verdict"], found["matched_rules"]) == expected
    assert compiled.monitored is not None
    assert found["bundle_id"] == compiled.monitored.id


def test_monitored_rules_of_layers_are_compared(tmp_path: Path) -> None:
    layered = Policy.layered({"org": Policy.compile(POLICY)})
    layered.save(tmp_path / "policy.bobcat")
    for hook in HOOKS:
        assert monitored(hook, tmp_path, "/etc/x").code == 0
    ours, theirs = bodies(tmp_path / "log.jsonl")
    assert ours == theirs
    assert [each["matched_rules"] for each in ours["diverged"]] == [["org:etc"]]


@pytest.mark.parametrize("hook", HOOKS, ids=["native", "python"])
def test_monitored_rules_count_the_calls_of_the_session(tmp_path: Path, hook: Any) -> None:
    Policy.compile(COUNTED).save(tmp_path / "policy.bobcat")
    for _ in range(3):
        assert monitored(hook, tmp_path, "/a").code == 0
    kinds = [[each["kind"] for each in body.get("diverged", [])] for body in bodies(tmp_path / "log.jsonl")]
    assert kinds == [[], ["tightened"], ["tightened"]]


@hooks
def test_a_candidate_that_remembers_what_the_policy_does_is_compared(tmp_path: Path, hook: Any) -> None:
    stricter = COUNTED.replace("lt: 9", "lt: 1").replace(", mode: monitor", "").replace("ge: 1", "ge: 7")
    Policy.compile(COUNTED.replace(", mode: monitor", "").replace("ge: 1", "ge: 20")).save(tmp_path / "policy.bobcat")
    Policy.compile(stricter).save(tmp_path / "candidate.bobcat")
    for _ in range(2):
        assert monitored(hook, tmp_path, "/a", "--candidate", str(tmp_path / "candidate.bobcat")).code == 0
    kinds = [[each["kind"] for each in body.get("diverged", [])] for body in bodies(tmp_path / "log.jsonl")]
    assert kinds == [[], ["tightened"]]


def test_a_candidate_and_monitored_rules_are_both_on_record(tmp_path: Path) -> None:
    Policy.compile(POLICY).save(tmp_path / "policy.bobcat")
    Policy.compile("defaults: {on_no_match: deny, on_missing_shadow: deny}\nrules: []").save(tmp_path / "c.bobcat")
    for hook in HOOKS:
        assert monitored(hook, tmp_path, "/etc/x", "--candidate", str(tmp_path / "c.bobcat")).code == 0
    ours, theirs = bodies(tmp_path / "log.jsonl")
    assert ours == theirs
    assert [each["matched_rules"] for each in ours["diverged"]] == [["<default:on_missing_shadow>"], ["etc"]]


def test_other_obligations_are_a_divergence(tmp_path: Path) -> None:
    def allowing(duties: str) -> Policy:
        return Policy.compile(f"rules: [{{id: w, match: {{tool: write}}, decision: allow{duties}}}]")

    allowing("").save(tmp_path / "policy.bobcat")
    allowing(", obligations: [{notify: boss}]").save(tmp_path / "c.bobcat")
    for hook in (native, python):
        assert monitored(hook, tmp_path, "/a", "--candidate", str(tmp_path / "c.bobcat")).code == 0
    ours, theirs = bodies(tmp_path / "log.jsonl")
    assert ours == theirs
    assert [each["kind"] for each in ours["diverged"]] == ["unclear"]
