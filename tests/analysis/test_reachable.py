"""`analysis.can`: a call, a proof, or the reasons that neither was found."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from bobcat import Policy
from bobcat.analysis import Proof, Unknown, Witness, can, surface
from bobcat.analysis.calls import call_data
from bobcat.errors import PolicyCompileError

POLICY = """
rules:
  - {id: no-prod, match: {tool: delete, context.environment: prod}, decision: deny, priority: 5}
  - {id: deletes, match: {tool: delete, args.path.starts_with: /tmp/}, decision: allow}
  - {id: shell, match: {tool: sh, args.cmd.matches: '^(ls|cat) [a-z/]+$'}, decision: allow}
"""


def witness(answer: object) -> Witness:
    assert isinstance(answer, Witness)
    return answer


def test_a_call_is_found_and_decided_by_the_policy() -> None:
    found = witness(can(POLICY, tool="delete"))
    assert found.decision.verdict.value == "allow"
    assert found.request.args["path"].startswith("/tmp/")
    assert found.request.context.environment != "prod"


def test_a_combination_that_a_denial_excludes_is_proved_impossible() -> None:
    assert can(POLICY, tool="delete", when="context.environment: prod") == Proof()


def test_a_pattern_excludes_what_it_does_not_match() -> None:
    assert can(POLICY, tool="sh", when={"args.cmd.contains": "rm"}) != Proof()  # a path may have these letters
    assert can(POLICY, tool="sh", when={"args.cmd.contains": ";"}) == Proof()
    assert can(POLICY, tool="sh", when={"args.cmd.matches": "^rm"}) == Proof()


def test_a_tool_that_no_rule_names_is_never_allowed() -> None:
    assert can(POLICY, tool="other") == Proof()
    assert isinstance(can(POLICY, tool="other", verdict=["deny", "approve_required"]), Witness)


def test_an_answer_is_true_only_if_there_is_a_call() -> None:
    assert can(POLICY, tool="delete")
    assert not can(POLICY, tool="other")
    with pytest.raises(TypeError, match="unknown"):
        bool(Unknown(()))


def test_the_match_is_read_as_a_rule_that_restricts_reads_it() -> None:
    found = witness(can(POLICY, tool="delete", when={"not": {"args.force": True}}))
    assert "force" not in found.request.args or found.request.args["force"] is not True


def test_an_unknown_verdict_and_a_bad_match_are_refused() -> None:
    with pytest.raises(ValueError, match="verdicts are"):
        can(POLICY, verdict="permit")
    with pytest.raises(PolicyCompileError, match="E0"):
        can(POLICY, when="args.path: {starts_with: /}")
    with pytest.raises(PolicyCompileError):
        can(POLICY, when="")


def test_what_the_state_of_a_run_decides_is_unknown_with_its_reason() -> None:
    policy = Policy.compile("rules: [{id: few, match: {tool: pay, run.count.pay.lt: 3}, decision: allow}]")
    answer = can(policy, tool="pay")
    assert isinstance(answer, Unknown)
    assert {(reason.code, reason.rule) for reason in answer.reasons} == {("memory", "few")}
    assert can(policy, tool="read") == Proof()


def test_a_call_has_only_the_values_that_its_decision_needs() -> None:
    """What is left out has its default; a tool that no policy names has a plain name."""
    policy = """
defaults: {on_no_match: allow, on_missing_shadow: approve_required}
rules:
  - {id: prod, match: {context.environment: prod, declared.cost: low}, decision: deny}
  - {id: reads, match: {tool.glob: "github__{get,list}_*"}, decision: allow}
"""
    calls = {}
    for verdict in ("approve_required", "deny"):
        answer = can(policy, verdict=verdict)
        assert isinstance(answer, Witness)
        calls[verdict] = call_data(answer.request)
    assert calls == {
        "approve_required": {"tool": "other_tool", "args": {}},
        "deny": {
            "tool": "other_tool",
            "args": {},
            "declared": {"cost": "low"},
            "context": {"environment": "prod"},
        },
    }


def test_a_policy_of_lynx_is_unknown() -> None:
    policy = Policy.compile({"rules": [{"match": {"tool": "x"}, "decision": "allow"}]}, profile="lynx")
    answer = can(policy)
    assert isinstance(answer, Unknown)
    assert {reason.code for reason in answer.reasons} == {"lynx_profile"}


def test_a_python_callable_is_unknown_where_it_can_be_reached() -> None:
    def asks(request: object, context: object) -> None:
        random.random()

    policy = Policy.compile(
        "rules: [{id: x, match: {tool: x}, decision: deny, priority: 9}]", python_rules=[asks], uncompiled="callable"
    )
    assert policy.python_rules
    answer = can(policy, tool="y")
    assert isinstance(answer, Unknown)
    assert {reason.code for reason in answer.reasons} == {"host_rule"}
    assert can(policy, tool="x") == Proof()


def test_a_budget_that_is_used_up_is_a_reason_and_no_answer() -> None:
    rules = [
        {"id": f"r{n}", "match": {"tool": f"t{n % 5}", "args.x.matches": f"^[a-z]{{1,{n}}}{n}$"}, "decision": "allow"}
        for n in range(1, 60)
    ]
    answer = can({"rules": rules}, when={"args.x.matches": "^0+$"}, budget=1e-9)
    assert isinstance(answer, Unknown)
    assert {reason.code for reason in answer.reasons} == {"budget_seconds"}


def test_progress_is_reported_by_tool_and_can_stop_the_question() -> None:
    seen: list[tuple[int, int, str]] = []

    def note(done: int, total: int, tool: str) -> bool:
        seen.append((done, total, tool))
        return len(seen) < 2

    policy = "rules: [{id: a, match: {tool.in: [a, b, c]}, decision: deny}]"
    answer = can(policy, progress=note)
    assert isinstance(answer, Unknown)
    assert {reason.code for reason in answer.reasons} == {"stopped"}
    assert [item[0] for item in seen] == [0, 1]


def _about_runs(run: Mapping[str, Any], on_rule_error: str) -> dict[str, Any]:
    """A policy that denies payments under a condition on the run, and allows the others."""
    return {
        "defaults": {"on_no_match": "deny", "on_missing_shadow": "deny", "on_rule_error": on_rule_error},
        "rules": [
            {"id": "cap", "match": {"tool": "pay", **run}, "decision": "deny"},
            {"id": "pay", "match": {"tool": "pay"}, "decision": "allow"},
        ],
    }


@pytest.mark.parametrize("on_rule_error", ["deny", "continue"])
def test_a_count_is_a_number_in_every_state_of_a_run(on_rule_error: str) -> None:
    """Without a state the clause is an error; no run has such a state."""
    assert can(_about_runs({"run.count.pay.ge": 0}, on_rule_error)) == Proof()


@pytest.mark.parametrize("on_rule_error", ["deny", "continue"])
@pytest.mark.parametrize(
    "run", [{"run.count.pay.ge": 3}, {"run.after": {"tool": "read"}}, {"not": {"run.after": {"tool": "read"}}}]
)
def test_what_depends_on_the_state_of_a_run_is_unknown(run: Mapping[str, Any], on_rule_error: str) -> None:
    """An error for want of a state is no answer: neither that a rule is passed over, nor that it denies."""
    for verdict in ("allow", "deny"):
        answer = can(_about_runs(run, on_rule_error), tool="pay", verdict=verdict)
        assert isinstance(answer, Unknown), verdict
        assert {reason.code for reason in answer.reasons} == {"memory"}


def test_a_test_of_a_run_that_always_holds_is_no_disagreement() -> None:
    policy = _about_runs({"run.count.pay.ge": 0}, "deny")
    policy["rules"][0]["decision"] = "allow"
    answer = can(policy, tool="pay")
    assert isinstance(answer, Unknown)
    assert {reason.code for reason in answer.reasons} == {"memory"}


def test_errors_for_want_of_a_state_are_no_way_past_rules_of_which_one_always_holds() -> None:
    after = {"run.after": {"tool": "read"}}
    source = {
        "defaults": {"on_no_match": "deny", "on_missing_shadow": "deny", "on_rule_error": "continue"},
        "rules": [
            {"id": "later", "match": {"tool": "pay", **after}, "decision": "deny"},
            {"id": "first", "match": {"tool": "pay", "not": after}, "decision": "deny"},
            {"id": "pay", "match": {"tool": "pay"}, "decision": "allow"},
        ],
    }
    answer = can(source)
    assert isinstance(answer, Unknown)
    assert {reason.code for reason in answer.reasons} == {"memory"}
    assert not any(isinstance(row.answer, Witness) for row in surface(source).rows if row.verdict == "allow")
