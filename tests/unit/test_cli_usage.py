"""`bobcat usage`: rules and permissions that recorded calls do not use, and tighter rules for those that they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import Policy, Request
from bobcat.decision_log import open_log, redact
from bobcat.traffic.replaying import Options, Replay
from bobcat.traffic.sources import open_source
from bobcat.traffic.tighten import tightened
from unit.cli_runner import Run, runner

POLICY = """
rules:
  - {id: shells, match: {tool.in: [sh, bash]}, decision: allow}
  - {id: pay, match: {tool: pay, args.amount.lt: 1000, context.environment.in: [dev, prod]}, decision: allow}
  - {id: mail, match: {tool: mail}, decision: deny}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    return runner(capsys, monkeypatch)


def logged(*calls: tuple[str, dict[str, Any]], path: str = "decisions.jsonl", secret: tuple[str, ...] = ()) -> str:
    """A decision log of these calls in the environment `prod`."""
    with open_log(path) as log:
        for index, (tool, args) in enumerate(calls):
            body = {"tool": tool, "args": args, "verdict": "allow", "matched_rules": ["shells"],
                    "principal": {"kind": "user", "id": "ann"}, "environment": "prod"}  # fmt: skip
            log.append(f"r{index}", "decision", redact(body, secret, b"key") if secret else body)
    return path


def test_unused_rules_and_permissions_are_listed(run: Run) -> None:
    logged(("sh", {"cmd": "ls"}), ("sh", {"cmd": "cat a"}), ("pay", {"to": "ann", "amount": 5}))
    done = run("usage", "decisions.jsonl", "--policy", "policy.yaml", "--format", "json")
    report = done.json()
    assert done.code == 0
    assert report["hottest"] == [{"rule": "shells", "count": 2}, {"rule": "pay", "count": 1}]
    assert report["never_fired"] == ["mail"]
    assert report["never_used"] == [
        {"rule": "shells", "path": "tool", "value": "bash"},
        {"rule": "pay", "path": "context.environment", "value": "dev"},
    ]


def test_a_broad_rule_is_tightened_to_its_calls(run: Run) -> None:
    calls = [
        ("sh", {"cwd": f"/srv/app/{index}", "cmd": "ls", "depth": index, "token": f"t{index}"}) for index in range(20)
    ]
    logged(*calls, ("sh", {"cwd": "/srv/app/x", "cmd": "du", "depth": 3, "quiet": True}))
    [found] = run("usage", "decisions.jsonl", "--policy", "policy.yaml", "--format", "json").json()["suggestions"]
    assert (found["rule"], found["covered"], found["calls"]) == ("shells", 21, 21)
    _, limit = found["suggestion"]["match"]["all_of"]
    assert limit == {
        "tool": "sh", "args.cmd.in": ["du", "ls"], "args.cwd.starts_with": "/srv/app/", "args.depth.between": [0, 19],
        "any_of": [{"args.quiet.exists": False}, {"args.quiet.eq": True}],
    }  # fmt: skip


def test_the_suggestion_is_yaml_to_paste(run: Run) -> None:
    logged(("sh", {"cmd": "no"}), ("bash", {"cmd": "017"}), ("bash", {"odd name.x": "y"}))
    out = run("usage", "decisions.jsonl", "--policy", "policy.yaml").out
    block = out[out.index("  - id: ") :]
    policy = Policy.compile("rules:\n" + block)
    for tool, args, verdict in (
        ("sh", {"cmd": "no"}, "allow"), ("bash", {"cmd": "017"}, "allow"), ("bash", {"odd name.x": "y"}, "allow"),
        ("sh", {"cmd": "017"}, "approve_required"), ("bash", {"cmd": 17}, "approve_required"),
    ):  # fmt: skip
        assert policy.evaluate(Request(tool, args)).verdict == verdict


def test_secrets_and_digests_are_in_no_suggestion(run: Run) -> None:
    logged(("pay", {"to": "ann", "amount": 5, "api_key": "k3y"}), secret=("args.to",))
    done = run("usage", "decisions.jsonl", "--policy", "policy.yaml", "--tighten", "pay", "--format", "json")
    [found] = done.json()["suggestions"]
    assert found["suggestion"]["match"]["all_of"][1] == {"tool": "pay", "args.amount.eq": 5}
    assert "k3y" not in done.out
    assert "hmac" not in done.out


def test_a_rule_that_the_policy_does_not_have_is_an_error(run: Run) -> None:
    logged(("sh", {"cmd": "ls"}))
    done = run("usage", "decisions.jsonl", "--policy", "policy.yaml", "--tighten", "absent")
    assert done.code == 2
    assert "no such rule" in done.err


def test_a_damaged_line_is_named(run: Run) -> None:
    logged(("sh", {"cmd": "ls"}))
    with open("decisions.jsonl", "a") as file:
        file.write("torn")
    done = run("usage", "decisions.jsonl", "--policy", "policy.yaml")
    assert done.code == 2
    assert "decisions.jsonl:2: damaged" in done.err


ARGS = st.dictionaries(
    st.sampled_from(["a", "b", "c d", 'e"f']),
    st.one_of(
        st.booleans(), st.integers(-5, 5), st.floats(-2, 2), st.sampled_from(["/a/b", "/a/c", "", "no"]), st.none()
    ),
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(calls=st.lists(st.tuples(st.sampled_from(["sh", "bash"]), ARGS), min_size=1, max_size=25), other=ARGS)
def test_a_tighter_rule_covers_its_calls_and_permits_no_more(
    calls: list[tuple[str, dict[str, Any]]], other: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = logged(*calls, path=str(tmp_path_factory.mktemp("log") / "decisions.jsonl"))
    usage = Replay(Policy.compile(POLICY), None, Options(usage=True)).run([open_source(path)], processes=1).usage
    found = tightened(yaml.safe_load(POLICY), "shells", usage)
    assert found is not None
    tighter, broad = Policy.compile(json.loads(json.dumps(found[1]))), Policy.compile(POLICY)
    assert all(tighter.evaluate(Request(*call)).matched_rules == ("shells",) for call in calls)
    for tool in ("sh", "bash", "pay"):
        if tighter.evaluate(Request(tool, other)).verdict == "allow":
            assert broad.evaluate(Request(tool, other)).verdict == "allow"
