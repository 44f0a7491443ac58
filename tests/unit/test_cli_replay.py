"""`bobcat replay` on logs that real guards and runs have written."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bobcat import FinalAnswer, Guard, Policy, ToolCall, ToolSet, jsonl_sink, run_agent, tool
from bobcat.decision_log import open_log
from unit.cli_runner import Run, runner

OLD = """
rules:
  - {id: no-rm, match: {tool: sh, args.cmd.starts_with: rm}, decision: deny, priority: 5}
  - {id: sh, match: {tool: sh}, decision: allow}
  - {id: small, match: {tool: pay, args.amount.lt: 100}, decision: allow}
  - {id: large, match: {tool: pay}, decision: approve_required}
"""
NEW = """
rules:
  - {id: sh, match: {tool: sh}, decision: allow}
  - {id: pay, match: {tool: pay}, decision: deny}
"""
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("sh", {"cmd": "ls"}), ("sh", {"cmd": "rm -rf a"}), ("sh", {"cmd": "rm -rf b"}), ("sh", {"wrong": "x"}),
    ("pay", {"to": "ann", "amount": 5, "token": "t0p"}), ("pay", {"to": "ann", "amount": 500}), ("absent", {}),
)  # fmt: skip


@tool()
async def sh(cmd: str) -> str:
    return "done"


@tool(cost="low")
async def pay(to: str, amount: int, token: str = "") -> str:
    return "paid"


TOOLS = ToolSet.from_functions(sh, pay)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(OLD)
    Path("new.yaml").write_text(NEW)
    return runner(capsys, monkeypatch)


def guarded(log: str, policy: str = OLD, calls: Any = CALLS, **options: Any) -> None:
    """Submit the calls to a guard with this log."""

    async def main() -> None:
        async with Guard(Policy.compile(policy), tools=TOOLS, log=log, **options) as guard:
            for name, args in calls:
                await guard.submit(name, args)

    asyncio.run(main())


def audited(policy: str = OLD, calls: Any = CALLS, **options: Any) -> str:
    """The audit events of a run with the calls."""

    class Agent:
        async def step(self, conversation: Any) -> Any:
            done = sum(message.role == "tool" for message in conversation)
            return ToolCall(*calls[done]) if done < len(calls) else FinalAnswer("over")

    with open("audit.jsonl", "w", encoding="utf-8") as file:
        sink = jsonl_sink(file, **options)
        asyncio.run(run_agent(Agent(), "work", tools=TOOLS, policy=Policy.compile(policy), sinks=[sink]))
    return "audit.jsonl"


def groups(done: Any) -> list[tuple[Any, ...]]:
    """The groups of a report in JSON."""
    return [
        (group["direction"], group["old"], group["new"], group["old_rules"], group["new_rules"], group["tool"],
         group["args"], group["count"])
        for group in done.json()["groups"]
    ]  # fmt: skip


CHANGES = [
    ("loosened", "deny", "allow", ["no-rm"], ["sh"], "sh", ["cmd"], 2),
    ("tightened", "allow", "deny", ["small"], ["pay"], "pay", ["amount", "to", "token"], 1),
    ("tightened", "approve_required", "deny", ["large"], ["pay"], "pay", ["amount", "to", "token"], 1),
]


@pytest.mark.parametrize("medium", ["decisions.jsonl", "decisions.db", "database"])
def test_a_decision_log_of_a_guard_shows_what_a_new_policy_changes(
    medium: str, run: Run, request: pytest.FixtureRequest
) -> None:
    log = request.getfixturevalue("database") if medium == "database" else medium
    guarded(log)
    done = run("replay", log, "--policy", "new.yaml", "--format", "json")
    assert groups(done) == CHANGES
    assert done.code == 1
    report = done.json()
    assert report["decided"] == 5
    assert [(each["code"], each["count"]) for each in report["not_decided"]] == [("before_policy", 2)]
    assert "t0p" not in done.out


def test_the_policy_of_a_log_changes_nothing(run: Run) -> None:
    guarded("decisions.jsonl")
    done = run("replay", "decisions.jsonl", audited(), "--policy", "old.yaml", "--fail-on", "any")
    assert done.code == 0
    assert "0 of 10 decisions change" in done.out


def test_audit_events_are_decided_again_as_the_log_is(run: Run) -> None:
    done = run("replay", audited(), "--policy", "new.yaml", "--format", "json")
    assert groups(done) == CHANGES
    assert done.code == 1


def test_an_example_names_its_line_and_hides_secrets(run: Run) -> None:
    done = run("replay", audited(), "--policy", "new.yaml", "--redact", "to")
    number = next(
        index
        for index, line in enumerate(Path("audit.jsonl").read_text().splitlines(), 1)
        if '"policy.evaluated"' in line and "rm -rf a" in line
    )
    assert f'    audit.jsonl:{number}  {{"cmd": "rm -rf a"}}' in done.out.splitlines()
    assert '"to": "[redacted]", "token": "[redacted]"' in done.out


def test_two_policies_are_compared_on_the_recorded_calls(run: Run) -> None:
    guarded("decisions.jsonl", policy=NEW)
    done = run("replay", "decisions.jsonl", "--policy", "new.yaml", "--against", "old.yaml", "--format", "json")
    assert groups(done) == CHANGES
    assert done.json()["recorded_unlike_old"] == 4


def test_a_compressed_log_is_read_as_it_is(run: Run) -> None:
    guarded("decisions.jsonl")
    Path("old.gz").write_bytes(gzip.compress(Path("decisions.jsonl").read_bytes()))
    done = run("replay", "old.gz", "--policy", "new.yaml", "--format", "json")
    assert groups(done) == CHANGES
    assert done.json()["groups"][0]["examples"][0]["place"] == "old.gz:3"


def test_a_transform_is_decided_again_from_the_evaluated_arguments(run: Run) -> None:
    policy = """
rules:
  - {id: cap, match: {tool: pay}, decision: transform, transform: {jsonpath: $.args.amount, set: 5}}
"""
    other = policy.replace("set: 5", "set: 6")
    Path("cap.yaml").write_text(policy)
    Path("other.yaml").write_text(other)
    log = audited(policy, [("pay", {"to": "ann", "amount": 500})])
    assert run("replay", log, "--policy", "cap.yaml", "--fail-on", "any").code == 0
    done = run("replay", log, "--policy", "other.yaml", "--format", "json")
    assert done.code == 1
    assert [group["direction"] for group in done.json()["groups"]] == ["unclear"]
    guarded("decisions.jsonl", policy, [("pay", {"to": "ann", "amount": 500})])
    assert run("replay", "decisions.jsonl", "--policy", "cap.yaml", "--fail-on", "any").code == 0
    done = run("replay", "decisions.jsonl", "--policy", "other.yaml", "--format", "json", "--fail-on", "any")
    assert [group["direction"] for group in done.json()["groups"]] == ["unclear"]
    # a log of an earlier release has the arguments after the transform only
    lines = [json.loads(line) for line in Path("decisions.jsonl").read_text().splitlines()]
    for line in lines:
        line["body"].pop("proposed_args", None)
    Path("earlier.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("replay", "earlier.jsonl", "--policy", "cap.yaml", "--format", "json", "--fail-on", "any")
    assert [each["code"] for each in done.json()["not_decided"]] == ["transformed"]
    assert done.code == 1


def test_a_record_without_the_declaration_is_not_guessed(run: Run) -> None:
    guarded("decisions.jsonl")
    Path("cost.yaml").write_text("""
rules:
  - {id: sh, match: {tool: sh}, decision: allow}
  - {id: cheap, match: {tool: pay, declared.cost: low, args.amount.lt: 100}, decision: allow}
  - {id: rest, match: {}, decision: deny, priority: -1}
""")
    report = run("replay", "decisions.jsonl", "--policy", "cost.yaml", "--format", "json").json()
    # The payment of 500 is decided: the amount alone excludes the rule.
    assert report["decided"] == 4
    codes = {each["code"]: each["count"] for each in report["not_decided"]}
    assert codes == {"before_policy": 2, "missing_field": 1}
    assert run("replay", audited(), "--policy", "cost.yaml", "--format", "json").json()["decided"] == 5


def test_a_tool_set_gives_the_declarations_that_a_log_lacks(run: Run) -> None:
    guarded("decisions.jsonl")
    Path("declared.yaml").write_text("rules: [{id: cheap, match: {declared.cost: low}, decision: allow}]")
    Path("replayed_tools.py").write_text(
        "from bobcat import ToolSet, tool\n\n@tool(cost='low')\nasync def sh(cmd: str) -> str:\n    return ''\n\n"
        "@tool(cost='high', reversible=False)\nasync def pay(to: str) -> str:\n    return ''\n\n"
        "tools = ToolSet.from_functions(sh, pay)\n"
    )
    options = ("--policy", "declared.yaml", "--format", "json")
    assert run("replay", "decisions.jsonl", *options).json()["decided"] == 0
    done = run("replay", "decisions.jsonl", *options, "--tools", "replayed_tools.py:tools")
    assert [(group["old"], group["new"], group["new_rules"], group["count"]) for group in done.json()["groups"]] == [
        ("deny", "allow", ["cheap"], 2), ("allow", "approve_required", ["<default:on_missing_shadow>"], 1),
    ]  # fmt: skip


def test_a_default_is_decided_again_only_where_the_record_shows_it(run: Run) -> None:
    Path("pay.yaml").write_text("rules: [{id: pay, match: {tool: pay, args.amount.lt: 10}, decision: allow}]")
    guarded("decisions.jsonl", policy=Path("pay.yaml").read_text())
    done = run("replay", "decisions.jsonl", "--policy", "pay.yaml", "--format", "json", "--fail-on", "any")
    assert (done.code, done.json()["decided"], done.json()["changed"]) == (0, 5, 0)
    Path("less.yaml").write_text("rules: [{id: pay, match: {tool: pay, args.amount.lt: 1}, decision: allow}]")
    done = run("replay", "decisions.jsonl", "--policy", "less.yaml", "--format", "json")
    codes = {each["code"]: each["count"] for each in done.json()["not_decided"]}
    assert codes == {"before_policy": 2, "no_declaration": 1}


def test_redacted_arguments_are_not_guessed(run: Run) -> None:
    guarded("decisions.jsonl", redact=["args.to"])
    Path("to.yaml").write_text(
        "rules: [{id: ann, match: {tool: pay, args.to: ann}, decision: allow}, {id: sh, match: {tool: sh}, "
        "decision: allow}]"
    )
    report = run("replay", "decisions.jsonl", "--policy", "to.yaml", "--format", "json").json()
    assert {each["code"]: each["count"] for each in report["not_decided"]} == {"before_policy": 2, "redacted": 2}
    assert groups(run("replay", "decisions.jsonl", "--policy", "new.yaml", "--format", "json")) == CHANGES


def test_digests_are_not_guessed(run: Run) -> None:
    done = run("replay", audited(args="digest"), "--policy", "new.yaml", "--format", "json")
    assert {each["code"] for each in done.json()["not_decided"]} == {"digested", "before_policy"}
    assert done.code == 0
    assert run("replay", "audit.jsonl", "--policy", "new.yaml", "--fail-on", "any").code == 1


def test_a_policy_that_remembers_needs_a_state(run: Run) -> None:
    guarded("decisions.jsonl")
    Path("few.yaml").write_text("""
rules: [{id: few, match: {tool: sh, run.count.sh.lt: 3}, decision: allow}]
""")
    done = run("replay", "decisions.jsonl", "--policy", "few.yaml", "--format", "json")
    codes = {each["code"]: each["count"] for each in done.json()["not_decided"]}
    assert codes == {"before_policy": 2, "needs_state": 5}


def test_times_choose_records(run: Run) -> None:
    guarded("decisions.jsonl")
    lines = [json.loads(line) for line in Path("decisions.jsonl").read_text().splitlines()]
    at = next(line["at"] for line in lines if line["body"].get("args") == {"cmd": "rm -rf b"})
    done = run("replay", "decisions.jsonl", "--policy", "new.yaml", "--since", at, "--format", "json")
    assert groups(done)[0][-1] == 1
    done = run("replay", "decisions.jsonl", "--policy", "new.yaml", "--until", at, "--format", "json")
    assert groups(done) == [(*CHANGES[0][:-1], 1)]


def test_what_fails_the_command_is_chosen(run: Run) -> None:
    guarded("decisions.jsonl", calls=[("pay", {"to": "ann", "amount": 5})])
    assert run("replay", "decisions.jsonl", "--policy", "new.yaml").code == 0
    assert run("replay", "decisions.jsonl", "--policy", "new.yaml", "--fail-on", "changed").code == 1


def test_entries_that_a_pruning_kept_are_decided_again(run: Run) -> None:
    with open_log("decisions.jsonl") as log:
        body = {"tool": "sh", "args": {"cmd": "rm x"}, "verdict": "deny", "matched_rules": ["no-rm"],
                "principal": {"kind": "user", "id": "ann"}, "environment": "dev"}  # fmt: skip
        log.append("r1", "decision", body)
        log.append("r2", "decision", body)
        log.append("r2", "outcome", {"status": "ok"})
    assert run("log", "prune", "decisions.jsonl", "--before", "2200-01-01").code == 0
    done = run("replay", "decisions.jsonl", "--policy", "new.yaml", "--format", "json")
    assert [group["count"] for group in done.json()["groups"]] == [1]
    assert "pruning" in done.json()["groups"][0]["examples"][0]["place"]


def opa_line(tool: str, result: Any, **more: Any) -> str:
    given = {"decision_id": "d1", "timestamp": "2026-11-01T10:00:00.123456789Z", "result": result, **more}
    return json.dumps(
        {"input": {"tool": tool, "args": {"cmd": "rm"}, "principal": "ann", "environment": "dev"}, **given}
    )


def test_a_decision_log_of_opa_is_decided_again(run: Run) -> None:
    lines = [
        opa_line("sh", False), opa_line("sh", {"allow": False}), opa_line("sh", "approve_required"),
        opa_line("sh", True), opa_line("sh", None), opa_line("pay", True, erased=["/input/args/cmd"]),
        opa_line("sh", False, erased=["/input/args"]), json.dumps({"input": {"args": {}}, "result": True}),
    ]  # fmt: skip
    Path("opa.json").write_text("\n".join(lines) + "\n")
    done = run("replay", "opa.json", "--policy", "new.yaml", "--format", "json")
    report = done.json()
    assert [(group["old"], group["new"], group["count"]) for group in report["groups"]] == [
        ("deny", "allow", 2), ("approve_required", "allow", 1), ("allow", "deny", 1),
    ]  # fmt: skip
    assert {each["code"]: each["count"] for each in report["not_decided"]} == {
        "no_args": 1, "no_verdict": 1, "not_mapped": 1,
    }  # fmt: skip


def test_fields_of_another_log_are_mapped(run: Run) -> None:
    line = {
        "input": {"action": {"name": "sh", "with": {"cmd": "x"}}},
        "outcome": "deny",
        "when": "2026-11-01T10:00:00Z",
    }
    Path("own.json").write_text(json.dumps(line) + "\n")
    maps = ["tool=input.action.name", "args=input.action.with", "verdict=outcome", "time=when"]
    options = [word for text in maps for word in ("--map", text)]
    done = run("replay", "own.json", "--policy", "new.yaml", "--format", "json", *options)
    assert [(group["old"], group["new"], group["first"]) for group in done.json()["groups"]] == [
        ("deny", "allow", "2026-11-01T10:00:00+00:00")
    ]
    assert run("replay", "own.json", "--policy", "new.yaml", "--map", "nonsense=a").code == 2
    assert run("replay", "own.json", "--policy", "new.yaml", "--map", "tool=a..b").code == 2
