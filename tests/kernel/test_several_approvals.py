"""Rules that need several approvals: in the language, in decisions, in digests and in runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import (
    ActionRequest,
    ApprovalDecision,
    ApprovalRequest,
    ConfirmationGate,
    Decision,
    ExecutionContext,
    MemoryStore,
    PolicyCompileError,
    Principal,
    Verdict,
    approve_required,
    auto_approve,
    compile_policy,
    run_agent,
)
from bobcat.approvals import Pending
from documents import Documents
from kernel.scripted import Scripted, Tools, call, seen

RULE = "{id: ask, match: {tool: restart}, decision: approve_required, approvers: [alice, bob, carol]MORE}"


def _policy(more: str) -> str:
    return f"rules:\n  - {RULE.replace('MORE', more)}\n"


TWO = _policy(", approvals_needed: 2")


class InTurn:
    """Answers with each of its answers in turn, and notes who had granted by then."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.granted_by: list[tuple[str, ...]] = []

    async def __call__(self, req: ApprovalRequest) -> Any:
        self.granted_by.append(req.granted_by)
        answer = self.answers.pop(0)
        return ApprovalDecision(True, answer) if isinstance(answer, str) else answer


def _run(*answers: object, policy: str = TWO, **options: Any) -> Any:
    return seen(call("restart", targets=["a"]), policy=policy, on_approval=InTurn(*answers), **options)


def test_one_approval_needs_no_word_and_changes_no_digest() -> None:
    assert compile_policy(_policy("")).id == compile_policy(_policy(", approvals_needed: 1")).id
    assert compile_policy(_policy("")).id != compile_policy(TWO).id


@pytest.mark.parametrize(
    ("value", "code"),
    [("0", "E0209"), ("-1", "E0209"), ("101", "E0209"), ("4", "E0213"), ('"2"', "E0204"), ("1.5", "E0204"),
     ("true", "E0204"), ("[2]", "E0204"), ("null", "E0204")],
)  # fmt: skip
def test_an_invalid_number_of_approvals_is_an_error(value: str, code: str) -> None:
    with pytest.raises(PolicyCompileError) as refused:
        compile_policy(_policy(f", approvals_needed: {value}"))
    assert [diagnostic.code for diagnostic in refused.value.diagnostics] == [code]


def test_a_name_counts_once() -> None:
    with pytest.raises(PolicyCompileError, match="needs 2 approvals and names 1 who"):
        compile_policy(
            "rules: [{match: {}, decision: approve_required, approvers: [alice, alice], approvals_needed: 2}]"
        )


def test_the_number_belongs_to_approvals_only() -> None:
    with pytest.raises(PolicyCompileError, match="E0208"):
        compile_policy("rules: [{match: {}, decision: allow, approvals_needed: 2}]")


def test_two_of_three_let_the_action_happen() -> None:
    handler = InTurn("carol", "alice")
    finished = seen(call("restart", targets=["a"]), policy=TWO, on_approval=handler)
    assert finished.tool_messages == ["[ok] restarted"]
    assert handler.granted_by == [(), ("carol",)]
    assert finished.bodies("approval.granted")[0]["approver"] == "carol, alice"


@pytest.mark.parametrize(
    ("answers", "reported"),
    [
        (["alice", "alice"], "'alice' has granted already, and 2 approvers are needed"),
        (["alice", "mallory"], "'mallory' is not among the approvers (alice, bob, carol)"),
        (["alice", ApprovalDecision(False, "bob", "no")], "approval refused by bob — no"),
        ([ApprovalDecision(False, "bob", "no")], "approval refused by bob — no"),
        (
            [ApprovalDecision(True, "alice", args={"targets": ["b"]}), "bob"],
            "arguments cannot be edited where several approvals are needed",
        ),
    ],
)
def test_less_than_two_are_not_enough(answers: list[object], reported: str) -> None:
    finished = _run(*answers)
    assert finished.ran == []
    assert finished.tool_messages == [f"[denied] {reported}"]


def test_a_handler_that_speaks_for_one_cannot_grant_alone() -> None:
    assert seen(call("restart", targets=["a"]), policy=TWO, on_approval=auto_approve("alice")).ran == []


def test_grants_given_ahead_of_time_count_when_they_are_by_different_people() -> None:
    gate = ConfirmationGate()
    for approver in ("alice", "alice", "bob"):
        gate.grant("restart", approver=approver)
    finished = seen(call("restart", targets=["a"]), policy=TWO, on_approval=gate)
    assert finished.tool_messages == ["[ok] restarted"]
    left = gate.consume("restart")
    assert left is not None
    assert left.approver == "alice"


def test_two_different_approvers_are_needed_where_the_rule_names_none() -> None:
    policy = "rules: [{id: ask, match: {tool: restart}, decision: approve_required, approvals_needed: 2}]"
    assert _run("x", "x", policy=policy).ran == []
    assert _run("x", "y", policy=policy).tool_messages == ["[ok] restarted"]


def test_a_python_rule_can_need_several() -> None:
    def careful(request: ActionRequest, context: object) -> Decision | None:
        return approve_required(("alice", "bob"), 60, "careful", approvals_needed=2)

    decided = compile_policy("rules: []", python_rules=[careful])
    tools = Tools()
    result = asyncio.run(
        run_agent(
            Scripted(call("restart", targets=["a"])), "t", tools=tools.toolset(), policy=decided,
            on_approval=InTurn("alice", "alice"),
        )
    )  # fmt: skip
    assert result.error is None
    assert tools.ran == []


@pytest.mark.parametrize("needed", [0, -1, True, 1.5, "2", None])
def test_a_python_rule_that_needs_no_number_of_approvals_denies(needed: Any) -> None:
    def odd(request: ActionRequest, context: object) -> Decision | None:
        return Decision(Verdict.APPROVE_REQUIRED, approvals_needed=needed)

    bundle = compile_policy("rules: []", python_rules=[odd])
    tools = Tools().toolset()
    context = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, Documents().time)
    decision = bundle.evaluate(ActionRequest("restart", {}, tools.get("restart").metadata, context))
    assert decision.verdict is Verdict.DENY
    assert "not_a_decision" in decision.reason


def test_both_grants_are_on_record_and_count_when_the_run_is_resumed() -> None:
    class Breaks(MemoryStore):
        broken = True

        async def append(self, record: Any) -> None:
            if self.broken and record.kind == "action.intent":
                raise OSError("no space left")
            await super().append(record)

    store = Breaks()
    _run("alice", "bob", store=store, run_id="r")
    store.broken = False
    finished = seen(policy=TWO, on_approval=InTurn(), store=store, run_id="r")
    assert finished.tool_messages == ["[ok] restarted"]
    assert finished.ran == [("restart", {"targets": ["a"]})]


def test_an_open_second_approval_suspends_the_run() -> None:
    finished = _run("alice", Pending("a-1"), store=MemoryStore(), run_id="r")
    assert finished.result.status == "suspended"
    assert finished.ran == []
