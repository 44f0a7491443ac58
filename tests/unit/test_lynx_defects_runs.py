"""Defects of lynx-agent in decisions, execution, audit and approvals, rows U-34 to U-46: no bobcat run has them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from typing import Any

import pytest

import bobcat
from bobcat import (
    ActionRequest,
    ApprovalDecision,
    ApprovalRequest,
    AuditEvent,
    MemoryStore,
    ToolCall,
    auto_approve,
    cli_prompt_approval,
    run_agent,
)
from kernel.scripted import POLICY, Scripted, Seen, Tools, call, seen


def meddle(args: Any) -> None:
    """Change arguments, deep and shallow."""
    for change in (
        lambda: args.__setitem__("version", "10**9"),
        lambda: args["targets"].append("everything"),
        lambda: args.update(version="10**9"),
        lambda: args.pop("targets"),
        lambda: args["targets"].__setitem__(0, "everything"),
    ):
        try:
            change()
        except (TypeError, KeyError, AttributeError):
            continue


# lynx-agent defect 34
def test_an_approval_handler_cannot_change_what_runs() -> None:
    async def handler(request: ApprovalRequest) -> ApprovalDecision:
        meddle(request.request.args)
        return ApprovalDecision(True, "alice")

    run = seen(call("deploy", version="1"), call("restart", targets=["a"]), on_approval=handler)
    assert run.ran == [("deploy", {"version": "1"}), ("restart", {"targets": ["a"]})]


# lynx-agent defect 35
def test_an_agent_cannot_change_arguments_while_an_approval_is_waited_for() -> None:
    targets = ["a"]
    args: dict[str, Any] = {"targets": targets}

    async def handler(request: ApprovalRequest) -> ApprovalDecision:
        targets[0] = "everything"
        args["targets"] = ["everything"]
        return ApprovalDecision(True, "alice")

    run = seen(ToolCall("restart", args), on_approval=handler)
    assert run.ran == [("restart", {"targets": ["a"]})]
    assert run.bodies("step.proposed")[0]["args"] == {"targets": ["a"]}


# lynx-agent defect 36
def test_a_sink_cannot_change_what_runs_or_what_another_sink_sees() -> None:
    def meddler(event: AuditEvent) -> None:
        meddle(event.body)
        meddle(event.body.get("args", {}))

    run = seen(call("restart", targets=["a"]), sinks=[meddler], on_approval=auto_approve())
    assert run.ran == [("restart", {"targets": ["a"]})]
    assert run.bodies("step.proposed")[0]["args"] == {"targets": ["a"]}


# lynx-agent defect 36
def test_a_python_rule_cannot_change_what_runs() -> None:
    def meddler(request: ActionRequest, context: object) -> None:
        meddle(request.args)

    tools, agent = Tools(), Scripted(call("restart", targets=["a"]))
    policy = bobcat.compile_policy(POLICY, python_rules=[meddler], python_rule_priorities=[99], uncompiled="callable")
    asyncio.run(run_agent(agent, "t", tools=tools.toolset(), policy=policy, on_approval=auto_approve()))
    assert tools.ran == [("restart", {"targets": ["a"]})]


# lynx-agent defect 37
def test_the_arguments_that_run_after_a_transform_are_audited_and_journaled() -> None:
    store = MemoryStore()
    run = seen(call("query", text="SELECT 1"), store=store, run_id="r")
    limited = {"text": "SELECT 1 LIMIT 1"}
    assert run.ran == [("query", limited)]
    assert run.bodies("policy.evaluated")[0]["args"] == limited
    assert run.bodies("action.started")[0]["args"] == limited
    intent = next(record for record in journal_of(store) if record.kind == "action.intent")
    assert intent.body["args"] == limited


RECHECKED = """
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: no-drop, priority: 5, match: {args.text.contains: DROP}, decision: deny}
  - {id: more, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.text, append: "; DROP TABLE t"}}
"""


# lynx-agent defect 38
def test_transformed_arguments_are_evaluated_by_the_rules_that_outrank_the_transform() -> None:
    run = seen(call("query", text="SELECT 1"), policy=RECHECKED)
    assert run.ran == []
    assert run.bodies("policy.evaluated")[0]["matched_rules"] == ["more", "no-drop"]


# lynx-agent defect 39
def test_defaults_of_the_signature_are_part_of_what_is_evaluated() -> None:
    policy = "rules: [{id: r, match: {tool: delete, args.force: false}, decision: dry_run}]"
    assert seen(call("delete", path="a"), policy=policy).tool_messages[0].startswith("[dry_run]")
    denied = (
        "defaults: {on_no_match: allow, on_missing_shadow: allow}\n"
        "rules: [{id: r, match: {args.times: 1}, decision: deny}]"
    )
    assert seen(call("echo", text="a"), policy=denied).ran == []


# lynx-agent defect 39
def test_arguments_that_the_tool_does_not_take_never_reach_the_policy() -> None:
    run = seen(call("echo", text="a", sudo=True))
    assert run.kinds[2:4] == ["policy.evaluated", "action.failed"]
    assert run.bodies("policy.evaluated")[0]["matched_rules"] == []
    assert run.tool_messages == ["[error] tool 'echo' takes no argument `sudo`"] or "sudo" in run.tool_messages[0]
    assert run.ran == []


def answered(answer: object, tool: str = "deploy", **args: object) -> Seen:
    async def handler(_: ApprovalRequest) -> Any:
        return answer

    return seen(call(tool, **(args or {"version": "1"})), on_approval=handler)


@pytest.mark.parametrize("approver", ["mallory", "ALICE", "alice ", "", "ali", None, 5, ["alice"]])
# lynx-agent defect 40
def test_only_somebody_among_the_approvers_grants(approver: Any) -> None:
    run = answered(ApprovalDecision(True, approver))
    assert run.ran == []
    assert run.tool_messages[0].startswith("[denied] ")
    assert "is not among the approvers (alice, oncall)" in run.tool_messages[0]
    assert answered(ApprovalDecision(True, "oncall")).ran == [("deploy", {"version": "1"})]


@pytest.mark.parametrize("granted", ["no", "yes", 1, [0], None, object()])
# lynx-agent defect 41
def test_only_true_grants(granted: Any) -> None:
    run = answered(ApprovalDecision(granted, "alice"))
    assert run.ran == []
    assert run.bodies("approval.denied")[0]["ok"] is False
    assert run.result.final_answer == "done"


# lynx-agent defect 42
def test_a_granted_action_that_fails_is_a_failure_in_the_audit_and_for_the_model() -> None:
    run = answered(ApprovalDecision(True, "alice"), version="broken")
    assert run.kinds[-5:-1] == ["action.started", "approval.requested", "approval.granted", "action.failed"]
    assert run.tool_messages[0].startswith("[error] RuntimeError: deployment failed")
    assert "action.denied" not in run.kinds
    assert "approval.denied" not in run.kinds


# lynx-agent defect 43
def test_the_answer_is_audited_before_the_action_runs() -> None:
    order: list[str] = []

    async def sink(event: AuditEvent) -> None:
        order.append(event.kind)

    run = seen(
        call("slow"),
        policy="rules: [{id: r, match: {tool: slow}, decision: approve_required}]",
        tools=Tools(during=lambda: _note(order)),
        sinks=[sink],
        on_approval=auto_approve("ann"),
    )
    assert order.index("approval.granted") < order.index("<tool runs>") < order.index("action.completed")
    assert run.bodies("approval.granted")[0]["approver"] == "ann"


async def _note(order: list[str]) -> None:
    order.append("<tool runs>")


# lynx-agent defect 44
def test_a_timeout_of_zero_asks_no_approver() -> None:
    asked: list[object] = []

    async def handler(request: ApprovalRequest) -> ApprovalDecision:
        asked.append(request)
        return ApprovalDecision(True, "ann")

    policy = "rules: [{id: r, match: {tool: slow}, decision: approve_required, timeout_seconds: 0}]"
    run = seen(call("slow"), policy=policy, on_approval=handler)
    assert (asked, run.ran) == ([], [])
    assert run.tool_messages == ["[denied] approval handler timed out after 0s"]


# lynx-agent defect 44
def test_a_timeout_that_is_no_number_is_an_error_of_the_policy() -> None:
    with pytest.raises(bobcat.PolicyCompileError) as found:
        bobcat.compile_policy("rules: [{id: r, match: {}, decision: approve_required, timeout_seconds: '30'}]")
    assert "timeout_seconds" in str(found.value)


# lynx-agent defect 45
def test_a_prompt_that_timed_out_eats_no_answer_and_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    policy = "rules: [{id: r, match: {tool: slow}, decision: approve_required, timeout_seconds: 0.2}]"
    before = threading.active_count()
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)

        def answer(_: object) -> ToolCall:
            os.write(writing, b"y\n")
            return call("slow")

        run = seen(call("slow"), answer, policy=policy, on_approval=cli_prompt_approval())
        os.close(writing)
    assert run.tool_messages == ["[denied] approval handler timed out after 0.2s", "[ok] slept"]
    assert threading.active_count() == before


# lynx-agent defect 46
def test_an_answer_that_was_given_is_not_asked_for_again() -> None:
    store, asked = MemoryStore(), 0

    async def handler(request: ApprovalRequest) -> ApprovalDecision:
        nonlocal asked
        asked += 1
        return ApprovalDecision(True, "alice", "looks good")

    class DiesAtIntent(MemoryStore):
        async def append(self, record: Any) -> None:
            if record.kind == "action.intent":
                raise ConnectionError("the process died")
            await store.append(record)

        async def load(self, run_id: str) -> Any:
            return await store.load(run_id)

    first = seen(call("deploy", version="1"), store=DiesAtIntent(), run_id="r", on_approval=handler)
    assert first.ran == []
    second = seen(store=store, run_id="r", on_approval=handler)
    assert second.ran == [("deploy", {"version": "1"})]
    assert asked == 1
    assert second.bodies("approval.granted")[0]["approver"] == "alice"


# lynx-agent defect 46
def test_a_pending_approval_is_on_record() -> None:
    store = MemoryStore()
    pending: list[Mapping[str, Any]] = []

    async def handler(request: ApprovalRequest) -> ApprovalDecision:
        pending.extend(record.body for record in await store.load("r") if record.kind == "approval.requested")
        return ApprovalDecision(False, "alice", "no")

    seen(call("deploy", version="1"), store=store, run_id="r", on_approval=handler)
    assert [(dict(body)["step"], dict(body)["tool"]) for body in pending] == [(0, "deploy")]


# lynx-agent defect 46
def test_a_grant_covers_one_execution_of_what_was_granted() -> None:
    store, asked = MemoryStore(), []

    async def handler(request: ApprovalRequest) -> ApprovalDecision:
        asked.append(dict(request.request.context.extra))
        return ApprovalDecision(True, "alice")

    class DiesAtResult(MemoryStore):
        async def append(self, record: Any) -> None:
            if record.kind == "action.result":
                raise ConnectionError("the process died")
            await store.append(record)

        async def load(self, run_id: str) -> Any:
            return await store.load(run_id)

    seen(call("deploy", version="1"), store=DiesAtResult(), run_id="r", on_approval=handler)
    seen(store=store, run_id="r", on_approval=handler)
    assert asked == [{}, {"uncertain_retry": True}]


def journal_of(store: MemoryStore) -> Any:
    return asyncio.run(store.load("r"))
