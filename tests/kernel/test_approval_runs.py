"""Approvals in a run: who may grant, how long it may take, and what exactly is granted."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import pytest

from bobcat import ApprovalDecision, ApprovalRequest, Decision, MemoryStore, Verdict, auto_approve
from bobcat.approvals import Answer, Pending, ask
from kernel.scripted import call, run, seen

TIMED = """
rules:
  - {{id: ask, match: {{tool: restart}}, decision: approve_required, timeout_seconds: {seconds}}}
"""


def test_somebody_who_is_not_named_cannot_approve() -> None:
    finished = seen(call("deploy", version="1"), on_approval=auto_approve("mallory"))
    assert finished.ran == []
    assert finished.tool_messages == ["[denied] 'mallory' is not among the approvers (alice, oncall)"]


class Anybody(str):
    """A name that is equal to every other."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def test_a_name_that_is_equal_to_every_other_is_not_among_the_approvers() -> None:
    finished = seen(call("deploy", version="1"), on_approval=auto_approve(Anybody("mallory")))
    assert finished.ran == []
    assert finished.tool_messages == ["[denied] 'mallory' is not among the approvers (alice, oncall)"]


def test_an_answer_that_cannot_be_read_refuses() -> None:
    class Torn:
        def __bool__(self) -> bool:
            raise ValueError("torn")

    async def handler(_: object) -> ApprovalDecision:
        return ApprovalDecision(False, "alice", Torn())  # type: ignore[arg-type]

    finished = seen(call("deploy", version="1"), on_approval=handler)
    assert finished.tool_messages == ["[denied] the approval handler's answer cannot be read: ValueError: torn"]


def test_any_approver_can_grant_where_the_rule_names_none() -> None:
    assert seen(call("restart", targets=["a"]), on_approval=auto_approve("x")).tool_messages == ["[ok] restarted"]


def test_a_timeout_of_zero_asks_no_approver() -> None:
    asked: list[object] = []

    async def handler(request: object) -> ApprovalDecision:
        asked.append(request)
        return ApprovalDecision(True, "alice")

    finished = seen(call("restart", targets=[]), policy=TIMED.format(seconds=0), on_approval=handler)
    assert finished.tool_messages == ["[denied] approval handler timed out after 0s"]
    assert asked == []


def test_an_approver_who_takes_too_long_refuses() -> None:
    async def sleeps(_: object) -> Any:
        await asyncio.sleep(60)

    started = time.monotonic()
    finished = seen(call("restart", targets=[]), policy=TIMED.format(seconds=0.05), on_approval=sleeps)
    assert time.monotonic() - started < 5
    assert finished.tool_messages == ["[denied] approval handler timed out after 0.05s"]


def test_an_approver_who_swallows_the_timeout_is_late_all_the_same() -> None:
    async def late(_: object) -> ApprovalDecision:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return ApprovalDecision(True, "alice")

    finished = seen(call("restart", targets=[]), policy=TIMED.format(seconds=0.05), on_approval=late)
    assert finished.ran == []


def test_the_handler_sees_the_effective_arguments_and_cannot_change_what_runs() -> None:
    async def meddler(request: ApprovalRequest) -> ApprovalDecision:
        assert request.request.args == {"targets": ["a"]}
        with pytest.raises(TypeError):
            request.request.args["targets"].append("b")
        list.append(request.request.args["targets"], "c")  # by force
        dict.__setitem__(request.request.args, "targets", ["d"])  # type: ignore[arg-type]
        return ApprovalDecision(True, "x")

    assert seen(call("restart", targets=["a"]), on_approval=meddler).ran == [("restart", {"targets": ["a"]})]


@pytest.mark.parametrize("seconds", [float("nan"), -1, True, "60"])
def test_an_invalid_timeout_asks_no_approver(seconds: Any) -> None:
    asked: list[object] = []

    async def handler(request: object) -> ApprovalDecision:
        asked.append(request)
        return ApprovalDecision(True, "alice")

    question = ApprovalRequest(None, Decision(Verdict.APPROVE_REQUIRED, timeout_seconds=seconds), "c")  # type: ignore[arg-type]
    answer = asyncio.run(ask(handler, question))
    assert answer == Answer("system", f"denied: the approval timeout {seconds!r} is not a number of seconds")
    assert asked == []


def test_a_question_that_is_kept_nowhere_is_a_refusal() -> None:
    async def nowhere(_: object) -> Pending:
        return Pending("")

    finished = seen(call("restart", targets=["a"]), on_approval=nowhere, store=MemoryStore(), run_id="r")
    assert finished.tool_messages == ["[denied] approval handler returned Pending, not ApprovalDecision"]


def test_an_agent_that_changes_its_arguments_while_waiting_changes_nothing() -> None:
    targets = ["a"]

    async def waits(_: object) -> ApprovalDecision:
        targets.append("everything")
        return ApprovalDecision(True, "x")

    assert seen(call("restart", targets=targets), on_approval=waits).ran == [("restart", {"targets": ["a"]})]


EDIT = """
rules:
  - {id: never, match: {args.version: evil}, decision: deny, reason: not that one, priority: 5}
  - {id: free, match: {args.version: safe}, decision: allow, priority: 5}
  - {id: other, match: {args.version: odd}, decision: approve_required, priority: 5}
  - {id: new, match: {args.version: old}, decision: transform, transform: {jsonpath: $.args.version, set: "9"}}
  - {id: ask, match: {tool: deploy}, decision: approve_required}
"""


@pytest.mark.parametrize(
    ("edited", "ran", "reported"),
    [
        ({"version": "2"}, [("deploy", {"version": "2"})], "[ok] deployed 2"),
        ({"version": "safe"}, [("deploy", {"version": "safe"})], "[ok] deployed safe"),
        ({"version": "evil"}, [], "[denied] the arguments as edited by alice are decided deny — not that one"),
        ({"version": "odd"}, [], "[denied] the arguments as edited by alice are decided approve_required"),
        ({"version": "old"}, [], "[denied] the arguments as edited by alice are decided transform"),
        ({"verzion": "2"}, [], "[denied] the approver's args cannot be used: unknown argument `verzion`"),
        ("2", [], "[denied] the approver's args must be a mapping, got str"),
    ],
)
def test_arguments_edited_by_the_approver_are_evaluated_again(edited: Any, ran: list[Any], reported: str) -> None:
    async def edits(_: object) -> ApprovalDecision:
        return ApprovalDecision(True, "alice", "", edited)

    finished = seen(call("deploy", version="1"), policy=EDIT, on_approval=edits)
    assert finished.ran == ran
    assert finished.tool_messages[0].startswith(reported)


def test_what_an_approver_granted_is_in_the_audit_before_it_runs() -> None:
    async def edits(_: object) -> ApprovalDecision:
        return ApprovalDecision(True, "alice", "", {"version": "2"})

    finished = seen(call("deploy", version="1"), policy=EDIT, on_approval=edits)
    granted = finished.bodies("approval.granted")
    assert granted == [{"seq": 0, "ok": True, "error": None, "approver": "alice", "args": {"version": "2"}}]
    for kind, version in (("policy.evaluated", "1"), ("policy.reevaluated", "2")):
        (decided,) = finished.bodies(kind)
        assert (decided["verdict"], decided["args"]) == ("approve_required", {"version": version})


def test_approvals_of_two_runs_do_not_wait_for_each_other() -> None:
    async def main() -> float:
        async def half(_: object) -> ApprovalDecision:
            await asyncio.sleep(0.5)
            return ApprovalDecision(True, "x")

        started = time.monotonic()
        await asyncio.gather(*(run(call("restart", targets=[]), on_approval=half) for _ in range(5)))
        return time.monotonic() - started

    assert asyncio.run(main()) < 2
