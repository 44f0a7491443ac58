"""`all_approve`: every handler must grant the same call; one that refuses, edits or leaves it open decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import (
    Allowlist,
    ApprovalDecision,
    ApprovalRequest,
    Approvals,
    ConfirmationGate,
    MemoryStore,
    all_approve,
    auto_approve,
    auto_deny,
    durable_approvals,
)
from kernel.scripted import Seen, call, seen

ASK = "rules: [{id: ask, match: {tool: restart}, decision: approve_required}]"
NAMED = "rules: [{id: ask, match: {tool: restart}, decision: approve_required, approvers: [alice, bob]MORE}]"
TWO = NAMED.replace("MORE", ", approvals_needed: 2")


class Says:
    """Gives the same answer always, and keeps what it was asked."""

    def __init__(self, answer: object) -> None:
        self.answer, self.asked = answer, list[ApprovalRequest]()

    async def __call__(self, req: ApprovalRequest, /) -> Any:
        self.asked.append(req)
        return ApprovalDecision(True, self.answer) if isinstance(self.answer, str) else self.answer


def run(*handlers: Any, policy: str = ASK, **options: Any) -> Seen:
    return seen(call("restart", targets=["a"]), policy=policy, on_approval=all_approve(*handlers), **options)


def granted(approver: str = "gate") -> ConfirmationGate:
    gate = ConfirmationGate()
    gate.grant("restart", approver=approver)
    return gate


def test_both_must_grant() -> None:
    assert run(Allowlist(["restart"]), granted()).tool_messages == ["[ok] restarted"]
    assert run(Allowlist(["restart"]), ConfirmationGate()).ran == []
    assert run(Allowlist(["other"]), granted()).ran == []
    assert run(Allowlist(["other"], otherwise=granted())).tool_messages == ["[ok] restarted"], (
        "`otherwise` is one of the two"
    )
    assert run(auto_deny("no"), auto_approve()).tool_messages == ["[denied] approval refused by system — no"]


@pytest.mark.parametrize("odd", [None, 1, True, ApprovalDecision(1, "x"), ApprovalDecision("yes", "x")])  # type: ignore[arg-type]
@pytest.mark.parametrize("first", [True, False])
def test_an_invalid_grant_is_a_refusal(odd: object, first: bool) -> None:
    handlers = [Says(odd), auto_approve()]
    assert run(*(handlers if first else handlers[::-1])).ran == []


def test_a_grant_is_not_spent_on_a_call_that_another_one_refuses_or_leaves_open() -> None:
    gate, store = granted(), MemoryStore()
    assert run(gate, auto_deny("no")).ran == []
    handler = all_approve(gate, Allowlist(["restart"]), durable_approvals(store))
    journaled: dict[str, Any] = {"policy": ASK, "on_approval": handler, "store": store, "run_id": "r"}
    first = seen(call("restart", targets=["a"]), **journaled)
    assert first.result.status == "suspended"
    asyncio.run(Approvals(store).grant(first.result.approvals[0], approver="alice"))
    assert seen(**journaled).tool_messages == ["[ok] restarted"]
    assert gate.consume("restart") is None


def test_arguments_that_one_of_them_edits_refuse() -> None:
    edits = Says(ApprovalDecision(True, "alice", args={"targets": ["b"]}))
    finished = run(edits, auto_approve())
    assert finished.ran == []
    assert "arguments cannot be edited where several handlers must grant" in finished.tool_messages[0]


def test_all_are_asked_about_the_same_call() -> None:
    one, other = Says("alice"), Says("bob")
    run(one, other)
    assert one.asked == other.asked


def test_the_grant_is_by_one_whom_the_rule_names() -> None:
    policy = NAMED.replace("MORE", "")
    finished = run(Allowlist(["restart"]), granted("bob"), policy=policy)
    assert finished.bodies("approval.granted")[0]["approver"] == "bob"
    assert run(Allowlist(["restart"]), granted("mallory"), policy=policy).ran == []


def test_where_several_are_needed_all_are_asked_for_each() -> None:
    gate = granted("alice")
    gate.grant("restart", approver="bob")
    finished = run(Allowlist(["restart"]), gate, policy=TWO)
    assert finished.bodies("approval.granted")[0]["approver"] == "alice, bob"
    assert run(Says("alice"), Says("bob"), policy=TWO).tool_messages == ["[ok] restarted"]
    assert run(Allowlist(["restart"]), Says("alice"), policy=TWO).ran == []


def test_an_automatic_handler_is_no_second_person() -> None:
    policy = "rules: [{id: ask, match: {tool: restart}, decision: approve_required, approvals_needed: 2}]"
    assert run(Allowlist(["restart"]), Says("alice"), policy=policy).ran == []
    assert run(Says("alice"), auto_approve("bob"), policy=policy).ran == []
    assert run(all_approve(auto_approve("x")), Says("alice"), policy=policy).ran == []


def test_it_needs_handlers() -> None:
    with pytest.raises(ValueError, match="at least one"):
        all_approve()
    with pytest.raises(TypeError, match="takes approval handlers, got str"):
        all_approve("alice")  # type: ignore[arg-type]
