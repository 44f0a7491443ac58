"""`bobcat can`, `prove`, `dead`, `holes` and `surface`: output, formats and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unit.cli_runner import Run, runner

POLICY = """
predicates:
  unused: {tool: never}
rules:
  - {id: no-secrets, match: {tool: read, args.path.starts_with: /etc/}, decision: deny, priority: 5}
  - {id: reads, match: {tool: read}, decision: allow}
  - {id: reads-again, match: {tool: read, args.path.ends_with: .txt}, decision: allow}
  - {id: pays, match: {tool: pay, args.amount.le: 100}, decision: allow}
"""
INVARIANTS = """
invariants:
  - {id: small, reason: large payments need a person, only_if: {match: {tool: pay}, when: {args.amount.le: %d}}}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("bad.yaml").write_text("rules: [{match: {}}]")
    Path("max.yaml").write_text("rules: [{id: r, match: {tool.in: [read, pay]}, decision: allow}]")
    Path("holds.yaml").write_text(INVARIANTS % 100)
    Path("fails.yaml").write_text(INVARIANTS % 50)
    return runner(capsys, monkeypatch)


def test_can_shows_a_call_or_a_proof(run: Run) -> None:
    done = run("can", "policy.yaml", "--tool", "pay")
    assert done.code == 0
    assert done.out.startswith("yes: pay {")
    assert "allow by `pays`  policy.yaml:8:5" in done.out
    done = run("can", "policy.yaml", "--tool", "pay", "--when", "args.amount.gt: 100")
    assert (done.code, done.out) == (1, "no: proved, no call gets allow\n")


def test_can_finds_one_of_several_verdicts(run: Run) -> None:
    done = run("can", "policy.yaml", "--tool", "read", "--verdict", "dry_run", "--verdict", "deny", "--format", "json")
    assert done.code == 0
    assert done.json()["decisions"][0]["verdict"] == "deny"


def test_can_tells_a_mistake_from_an_answer(run: Run) -> None:
    assert run("can", "policy.yaml", "--when", "args.x: {gt: 1}").code == 2
    assert run("can", "bad.yaml").code == 3
    assert run("can", "no-such.yaml").code == 3
    assert run("can", "policy.yaml", "--verdict", "permit").code == 2


def test_a_mistake_in_a_match_has_its_place_and_a_suggestion(run: Run) -> None:
    done = run("can", "policy.yaml", "--when", "args.amount.betwen: [1, 2]")
    assert done.code == 2
    assert "error[E0303]: `betwen` is not an operator" in done.err
    assert "--> when:1:1" in done.err
    assert "did you mean `args.amount.between`?" in done.err
    done = run("trace-can", "policy.yaml", "--after", "tol: read")
    assert done.code == 2
    assert "--> after:1:1" in done.err
    assert "did you mean `tool`?" in done.err


@pytest.mark.parametrize("command", ["can", "trace-can"])
def test_a_tool_that_is_not_utf_8_is_a_mistake_in_the_command_line(run: Run, command: str) -> None:
    done = run(command, "policy.yaml", "--tool", "a\udcff")
    assert done.code == 2
    assert "'a\\udcff' is not UTF-8" in done.err


def test_can_has_a_code_for_an_unknown(run: Run) -> None:
    Path("memory.yaml").write_text("rules: [{id: few, match: {tool: pay, run.count.pay.lt: 3}, decision: allow}]")
    done = run("can", "memory.yaml", "--tool", "pay")
    assert done.code == 5
    assert "memory: " in done.out


def test_prove_lists_invariants_with_a_call_for_each_violation(run: Run) -> None:
    done = run("prove", "policy.yaml", "holds.yaml")
    assert (done.code, done.out.splitlines()[0]) == (0, "policy.yaml: 1 proved")
    done = run("prove", "policy.yaml", "fails.yaml")
    assert done.code == 1
    assert "violated  small: large payments need a person   fails.yaml:3:5" in done.out
    assert "    call  pay {" in done.out


def test_prove_compares_a_child_with_its_parent(run: Run) -> None:
    assert run("prove", "--child", "policy.yaml", "--parent", "max.yaml").code == 0
    done = run("prove", "--child", "max.yaml", "--parent", "policy.yaml")
    assert done.code == 1
    assert "violated" in done.out
    assert "    policy.yaml: " in done.out


def test_prove_shows_the_decisions_of_the_policy_and_of_the_envelope(run: Run) -> None:
    Path("envelope.yaml").write_text("invariants: [{id: most, within: policy.yaml}, {id: no, never: {tool: pay}}]")
    done = run("prove", "max.yaml", "envelope.yaml")
    assert "    allow by `r`  max.yaml:1:9" in done.out
    assert "    policy.yaml: deny by default" in done.out
    within, never = run("prove", "max.yaml", "envelope.yaml", "--format", "json").json()["invariants"]
    assert [item["verdict"] for item in within["decisions"]] == ["allow", "deny"]
    assert [item["verdict"] for item in never["decisions"]] == ["allow"]


def test_prove_shows_the_terms_that_a_child_exceeds(run: Run) -> None:
    ask = "rules: [{{id: pay, match: {{tool: pay}}, decision: approve_required, approvers: [ann, bob]{}}}]"
    Path("one.yaml").write_text(ask.format(""))
    Path("two.yaml").write_text(ask.format(", approvals_needed: 2"))
    done = run("prove", "--child", "one.yaml", "--parent", "two.yaml")
    assert done.code == 1
    assert done.out.endswith("    2 -> 1 approvals\n")


def test_prove_tells_mistakes_apart(run: Run) -> None:
    Path("wrong.yaml").write_text("invariants: [{id: a}]")
    done = run("prove", "policy.yaml", "wrong.yaml")
    assert done.code == 2
    assert "error[E1303]" in done.err
    done = run("prove", "policy.yaml", "wrong.yaml", "--format", "json")
    assert (done.code, done.json()["diagnostics"][0]["code"]) == (2, "E1303")
    assert run("prove", "bad.yaml", "holds.yaml").code == 3
    assert run("prove", "policy.yaml").code == 2
    assert run("prove", "--child", "policy.yaml").code == 2


def test_prove_writes_json_and_sarif(run: Run) -> None:
    done = run("prove", "policy.yaml", "fails.yaml", "--format", "json")
    (found,) = done.json()["invariants"]
    assert (found["id"], found["holds"], found["answer"]) == ("small", False, "witness")
    log = run("prove", "policy.yaml", "fails.yaml", "--format", "sarif").json()
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "violated"
    assert result["partialFingerprints"]


def test_dead_lists_rules_with_the_rules_that_take_their_calls(run: Run) -> None:
    done = run("dead", "policy.yaml")
    assert done.code == 1
    assert "the rule `reads-again` decides no call: each one that it matches goes to" in done.out
    assert "`reads`" in done.out
    assert "predicate `unused`" in done.out
    assert run("dead", "max.yaml").code == 0


def test_dead_writes_json_and_sarif(run: Run) -> None:
    rules = run("dead", "policy.yaml", "--format", "json").json()["rules"]
    assert [(item["rule"], item["why"]) for item in rules] == [("reads-again", "shadowed")]
    results = run("dead", "policy.yaml", "--format", "sarif").json()["runs"][0]["results"]
    assert {item["ruleId"] for item in results} == {"dead-rule", "W0107"}


def test_holes_shows_what_a_denial_misses(run: Run) -> None:
    done = run("holes", "policy.yaml", "no-secrets")
    assert done.code == 1
    for kind in ("case", "blanks", "quotes", "dot segments", "absent"):
        assert f"  {kind} at args.path: allow read" in done.out
    assert run("holes", "policy.yaml", "reads").code == 2
    done = run("holes", "policy.yaml", "no-secret")
    assert done.code == 2
    assert "the policy has no rule `no-secret`; did you mean `no-secrets`?" in done.err


def test_holes_of_a_denial_that_covers_everything_are_not_found(run: Run) -> None:
    Path("tight.yaml").write_text("""
rules:
  - {id: no, match: {tool: read, not: {args.path.matches: "^/data/[a-z]+$"}}, decision: deny, priority: 1}
  - {id: read, match: {tool: read, args.path.exists: true}, decision: allow}
""")
    done = run("holes", "tight.yaml")
    assert (done.code, done.out) == (0, "tight.yaml: no near misses\n")


def test_surface_lists_verdicts_by_tool(run: Run) -> None:
    rows = {(row["tool"], row["verdict"]) for row in run("surface", "policy.yaml", "--format", "json").json()["rows"]}
    assert {("read", "allow"), ("read", "deny"), ("pay", "allow"), ("pay", "deny")} <= rows
    assert (None, "allow") not in rows
    assert (None, "deny") in rows


def test_surface_shows_permissions_that_no_recorded_call_uses(run: Run) -> None:
    calls = [{"tool": "read", "args": {"path": "/data/a"}}]
    Path("calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    done = run("surface", "policy.yaml", "--unused", "--traffic", "calls.jsonl", "--format", "json")
    assert done.code == 1
    unused = {(row["tool"], rule["rule"]) for row in done.json()["rows"] for rule in row["rules"]}
    assert ("pay", "pays") in unused
    assert ("read", "reads") not in unused
    assert run("surface", "policy.yaml", "--unused").code == 2


def test_explain_shows_what_a_call_lacks_and_the_smallest_change(run: Run) -> None:
    call = ("--tool", "pay", "--args", '{"amount": 150}')
    done = run("explain", "policy.yaml", *call, "--flip")
    assert "nearest to allowing it: `pays` (allow)" in done.out
    assert "  lacks args.amount <= 100   read 150" in done.out
    assert "smallest change to allow: args.amount 150 -> " in done.out
    found = run("explain", "policy.yaml", *call, "--flip", "--format", "json").json()
    assert found["nearest"]["rule"] == "pays"
    assert [item["path"] for item in found["flip"]["changes"]] == ["args.amount"]
    allowed = run("explain", "policy.yaml", "--tool", "pay", "--args", '{"amount": 5}')
    assert "nearest" not in allowed.out


def test_check_proves_that_a_rule_never_fires(run: Run) -> None:
    Path("joint.yaml").write_text("""
rules:
  - {id: low, match: {tool: t, args.n.lt: 5}, decision: allow}
  - {id: high, match: {tool: t, args.n.ge: 5}, decision: deny}
  - {id: some, match: {tool: t, args.n.between: [1, 9]}, decision: deny}
""")
    done = run("check", "joint.yaml")
    assert "W0101" in done.out
    assert "the rule `some` can never fire" in done.out
    assert "W0101" in run("check", "joint.yaml", "--exact").out
    assert "W0101" not in run("check", "joint.yaml", "--no-exact").out


def test_check_writes_fingerprints_that_lines_do_not_change(run: Run) -> None:
    first = run("check", "policy.yaml", "--format", "sarif").json()["runs"][0]["results"]
    Path("policy.yaml").write_text("# a comment\n\n" + POLICY)
    second = run("check", "policy.yaml", "--format", "sarif").json()["runs"][0]["results"]
    assert first
    assert [item["partialFingerprints"] for item in first] == [item["partialFingerprints"] for item in second]
    assert len({str(item["partialFingerprints"]) for item in first}) == len(first)


def test_the_schema_of_invariants_is_printed(run: Run) -> None:
    assert run("schema", "--invariants").json()["title"] == "Bobcat invariants"
    assert run("schema", "--invariants", "--tests").code == 2
