"""Approvals on record: what a resumed run takes from them, and what it asks for again."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from bobcat import ApprovalDecision, ApprovalRequest, MemoryStore, StepRecord, compile_policy
from bobcat.journal.records import step_record_from_json, step_record_to_json
from kernel.scripted import POLICY, Seen, call, seen


class Shelf:
    """A journal that survives a process: what it is given, it gives back read from text."""

    def __init__(self, dies_at: str = "") -> None:
        self.lines: list[str] = []
        self.dies_at = dies_at

    async def append(self, record: StepRecord) -> None:
        if record.kind == self.dies_at:
            raise ConnectionError("the power went")
        self.lines.append(step_record_to_json(record))

    async def load(self, run_id: str) -> list[StepRecord]:
        return [step_record_from_json(line) for line in self.lines]


class Approver:
    """Grants, and counts how often it is asked."""

    def __init__(self, **answer: Any) -> None:
        self.answer = {"granted": True, "approver": "alice", **answer}
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(dict(request.request.args))
        return ApprovalDecision(**self.answer)


def cut_off(approver: Approver, at: str = "action.intent") -> Shelf:
    """The journal of a run that ended between the grant and the action."""
    shelf = Shelf(at)
    first = seen(call("deploy", version="1"), store=shelf, run_id="r", on_approval=approver)
    assert first.ran == []
    shelf.dies_at = ""
    return shelf


def resumed(shelf: Shelf, approver: Approver, **options: Any) -> Seen:
    return seen(store=shelf, run_id="r", on_approval=approver, **options)


def test_a_grant_on_record_is_not_asked_for_again() -> None:
    approver = Approver()
    run = resumed(cut_off(approver), approver)
    assert run.ran == [("deploy", {"version": "1"})]
    assert len(approver.asked) == 1
    assert run.bodies("approval.granted")[0]["approver"] == "alice"


def test_the_arguments_as_the_approver_edited_them_run_after_a_resume() -> None:
    approver = Approver(args={"version": "2"})
    run = resumed(cut_off(approver), approver)
    assert run.ran == [("deploy", {"version": "2"})]
    assert len(approver.asked) == 1


def test_a_request_without_an_answer_is_asked_again() -> None:
    approver = Approver()
    run = resumed(cut_off(approver, "approval.granted"), approver)
    assert run.ran == [("deploy", {"version": "1"})]
    assert len(approver.asked) == 2


def unchained(line: str) -> str:
    """A record as an older journal has it, without a hash."""
    return re.sub(r'"chain":"[0-9a-f]{64}",?', "", line)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("approvers: [alice, oncall], reason: prod", "approvers: [oncall], reason: prod"),
        ("{id: ask,", "{id: ask-anew,"),
    ],
)
def test_a_grant_that_would_not_count_today_is_asked_for_again(old: str, new: str) -> None:
    first, second = Approver(), Approver(approver="oncall")
    run = resumed(cut_off(first), second, policy=POLICY.replace(old, new))
    assert len(second.asked) == 1
    assert run.bodies("approval.granted")[0]["approver"] == "oncall"


def test_a_grant_under_another_rule_of_the_same_policy_is_asked_for_again() -> None:
    both = POLICY.replace(
        "  - {id: ask, match: {tool: deploy},",
        "  - {id: ask-in-prod, match: {tool: deploy, context.environment: prod}, decision: approve_required}\n"
        "  - {id: ask, match: {tool: deploy},",
    )
    approver, shelf = Approver(), Shelf("action.intent")
    assert seen(call("deploy", version="1"), store=shelf, run_id="r", on_approval=approver, policy=both).ran == []
    shelf.dies_at = ""
    run = resumed(shelf, approver, policy=both, environment="prod")
    assert run.bodies("policy.evaluated")[0]["matched_rules"] == ["ask-in-prod"]
    assert len(approver.asked) == 2


def test_a_policy_that_denies_by_now_denies_what_was_granted() -> None:
    approver = Approver()
    denying = POLICY.replace("decision: approve_required, approvers: [alice, oncall]", "decision: deny")
    run = resumed(cut_off(approver), approver, policy=denying)
    assert run.ran == []
    assert len(approver.asked) == 1


def test_an_action_that_may_have_run_needs_a_grant_of_its_own() -> None:
    approver, shelf = Approver(), Shelf("action.result")
    seen(call("deploy", version="1"), store=shelf, run_id="r", on_approval=approver)
    shelf.dies_at = ""
    resumed(shelf, approver)
    assert len(approver.asked) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"tool":"deploy"', '"tool":"restart"'),
        ('"args":{"version":"1"}', '"args":{"version":"9"}'),
        ('"approver":"alice"', '"approver":"mallory"'),
        ('"approver":"alice"', '"approver":["alice"]'),
    ],
)
def test_a_grant_for_something_else_is_no_grant(old: str, new: str) -> None:
    approver = Approver()
    shelf = cut_off(approver)
    whole, shelf.lines = (
        shelf.lines,
        [line.replace(old, new) if "approval.granted" in line else line for line in shelf.lines],
    )
    forged = resumed(shelf, approver)
    assert str(forged.result.error).startswith("journal refused: ")
    assert (len(approver.asked), forged.ran) == (1, [])
    shelf.lines = [line.replace(old, new) if "approval.granted" in line else line for line in map(unchained, whole)]
    resumed(shelf, approver)
    assert len(approver.asked) == 2


def test_a_refusal_on_record_stays_a_refusal() -> None:
    approver = Approver(granted=False)
    shelf = Shelf()
    seen(call("deploy", version="1"), lambda _: 1 / 0, store=shelf, run_id="r", on_approval=approver)
    run = resumed(shelf, approver)
    assert run.ran == []
    assert len(approver.asked) == 1
    assert run.tool_messages[0].startswith("[denied] approval refused by alice")


def test_records_of_approvals_name_what_is_asked() -> None:
    store = MemoryStore()
    seen(call("deploy", version="1"), store=store, run_id="r", on_approval=Approver())
    asked, granted = [
        {name: value for name, value in record.body.items() if name != "chain"}
        for record in asyncio.run(store.load("r"))
        if record.kind.startswith("approval.")
    ]
    policy = compile_policy(POLICY).id
    who = {"matched_rules": ["ask"], "approvers": ["alice", "oncall"], "bundle_id": policy}
    assert asked == {"step": 0, "tool": "deploy", "args": {"version": "1"}, **who}
    assert granted == {**asked, "approver": "alice", "edited": None}
