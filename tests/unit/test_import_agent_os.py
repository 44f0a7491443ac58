"""`bobcat import agent-os`: the same decisions as the Agent OS kernel, but for spellings that lead elsewhere."""

from __future__ import annotations

import fnmatch
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import campaign
from bobcat import Policy, Request
from bobcat.cli.importers.agent_os import import_agent_os
from bobcat.cli.importers.fnmatch_patterns import EmptySet, pattern_of
from bobcat.cli.importers.model import ImportFailed, policy_text
from unit.agent_os_requests import bobcat_permits, difference, imported, kernel_permits, made_call, made_policy
from unit.cli_runner import Run, runner

POLICIES = campaign.rounds(100)
CALLS = 100
"""Calls of each policy: 10,000 in all."""

globs = st.text(st.sampled_from("ab*?[]!-^\\.\n/é&~|"), max_size=8)
texts = st.text(st.sampled_from("ab!-^\\.\n/é]["), max_size=5)


@given(globs, st.lists(texts, min_size=1, max_size=8))
def test_a_glob_matches_what_fnmatch_matches(glob: str, names: list[str]) -> None:
    try:
        pattern = pattern_of(glob)
    except EmptySet:
        assert not any(fnmatch.fnmatchcase(name, glob) for name in names)
        return
    rule = {"match": {"args.x.matches": pattern}, "decision": "allow"}
    policy = Policy.compile({"rules": [rule]})
    for name in names:
        found = str(policy.evaluate(Request("t", {"x": name})).verdict) == "allow"
        assert found is fnmatch.fnmatchcase(name, glob), (glob, pattern, name)


def test_decisions_are_those_of_the_kernel_but_for_listed_escapes() -> None:
    counts: Counter[str] = Counter()
    for seed in campaign.seeds(POLICIES, 0, 1):
        rng = random.Random(seed)
        capabilities = made_policy(rng)
        policy = imported(capabilities)
        for _ in range(CALLS):
            call = made_call(rng, capabilities)
            theirs, ours = kernel_permits(capabilities, call), bobcat_permits(policy, call)
            assert theirs or not ours, f"looser: {call} {capabilities}"
            if theirs != ours:
                kind = difference(capabilities, call)
                assert kind is not None, f"not listed: {call} {capabilities}"
                counts[kind] += 1
            else:
                counts[f"both {'permit' if ours else 'deny'}"] += 1
    assert counts["both permit"] > CALLS * POLICIES // 10
    assert counts["both deny"] > CALLS * POLICIES // 10
    print(dict(counts))


def policy_of(*capabilities: dict[str, Any]) -> Policy:
    return imported(capabilities)


@pytest.mark.parametrize(
    ("action", "resource", "argument", "inside", "outside"),
    [
        ("fs.read", "/workspace/**", "path", ["/workspace/a", "/workspace/a/b"],
         ["/workspace/../etc/passwd", "/workspace", "/workspace2/a", "workspace/a", "/workspace/a/../../x"]),
        ("fs.read", "*.md", "path", ["a.md", "/srv/a.md"], ["../a.md", "/srv/../a.md", "a.txt"]),
        ("net.http", "https://api.example.com/**", "url", ["https://api.example.com/a"],
         ["https://api.example.com/../a", "https://api.example.com@evil.example/", "http://api.example.com/a"]),
        ("net.http", "https://api.example.com*", "url", ["https://api.example.com/a"],
         ["https://api.example.com.evil.example/", "https://api.example.com@evil.example/", "https://api.example.com:1/"]),
        ("net.http", "https://*.example.com/*", "url", ["https://a.example.com/x"],
         ["https://evil.example/.example.com/x", "https://a.example.com\\@evil.example/.example.com/"]),
    ],
)  # fmt: skip
def test_a_target_that_leads_elsewhere_is_denied(
    action: str, resource: str, argument: str, inside: list[str], outside: list[str]
) -> None:
    policy = policy_of({"action": action, "resource": resource})
    for target in inside:
        assert str(policy.evaluate(Request(action, {argument: target})).verdict) == "allow", target
    for target in outside:
        assert str(policy.evaluate(Request(action, {argument: target})).verdict) == "deny", target


@pytest.mark.parametrize(
    ("capability", "effect"),
    [
        ({"action": "custom.do", "resource": "*"}, "no provider has this action"),
        ({"action": "fs.read", "resource": "~/x/*"}, "home of a user"),
        ({"action": "fs.read", "resource": "/a/../b/*"}, "it has `.`, `..` or `//`"),
        ({"action": "fs.read", "resource": "/a/[z-a]"}, "a set in brackets is empty"),
        ({"action": "fs.read", "resource": "/a/*", "constraint": {"encoding": "x"}}, "no argument for `encoding`"),
        ({"action": "net.http", "resource": "https://a.example/*", "constraint": {"timeout": 1.5}}, "several forms"),
        ({"action": "net.http", "resource": "ftp://a.example/*"}, "does not begin with"),
        ({"action": "net.http", "resource": "https://[a]b/*"}, "cannot be read with certainty"),
        ({"action": "mcp.call", "resource": "scholar"}, "it names no tool"),
        ({"action": "fs.read", "resource": f"/{'a' * 500}?{'.' * 400}"}, "too long"),
    ],
)
def test_what_does_not_carry_over_is_left_out_with_a_note(capability: dict[str, Any], effect: str) -> None:
    found = import_agent_os([("p.yaml", json.dumps({"capabilities": [capability]}))])
    assert found.rules == ()
    assert effect in found.notes[0].effect
    assert found.notes[0].place == "p.yaml:1"
    Policy.compile(policy_text(found, "test"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "p.yaml:1: not YAML"),
        ("[]", "has a list `capabilities`"),
        ("capabilities: {}", "has a list `capabilities`"),
        ("capabilities:\n  - x", "p.yaml:2: a capability has"),
        ("capabilities:\n  - {action: fs.read}", "p.yaml:2: `resource` is a text"),
        ("capabilities:\n  - {action: fs.read, resource: a, constraint: b}", "`constraint` a mapping"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(ImportFailed, match=words.replace("[", r"\[")):
        import_agent_os([("p.yaml", text)])


def test_the_command_writes_a_policy_and_notes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    run: Run = runner(capsys, monkeypatch)
    Path("kernel.yaml").write_text("capabilities:\n  - {action: fs.read, resource: /workspace/**}\n")
    done = run("import", "agent-os", "kernel.yaml", "-o", "policy.yaml")
    assert (done.code, "kernel.yaml:2: note: fs.read /workspace/**" in done.err) == (0, True)
    for path, code in (("/workspace/a", 0), ("/workspace/../etc/passwd", 4)):
        args = json.dumps({"path": path})
        assert run("eval", "policy.yaml", "--tool", "fs.read", "--args", args, "--exit-code").code == code
