"""The audit of decisions: one event for each proposal, with what it takes to decide again."""

from __future__ import annotations

import asyncio
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bobcat
from bobcat import (
    ApprovalDecision,
    AuditError,
    Budget,
    Decision,
    Principal,
    ToolCall,
    ToolSet,
    auto_approve,
    compile_policy,
    decide_again,
    jsonl_sink,
    run_agent,
    tool,
)
from bobcat.runtime.decide_again import parse_line, recorded
from kernel.scripted import Scripted, Seen, call, seen
from kernel.test_uncertain_outcomes import Shop

POLICY = """
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: frozen, match: {context.environment: frozen}, decision: deny, priority: 9}
  - {id: night, match: {context.timestamp.lt: 2026-01-31T06:00:00Z}, decision: deny, priority: 8}
  - {id: costly, match: {declared.cost: high}, decision: approve_required, approvers: [alice, bob], approvals_needed: 2}
  - {id: late, match: {context.step_seq.gt: 2, tool: echo}, decision: deny, reason: too many}
  - {id: guests, match: {context.principal.kind: agent, tool: query}, decision: deny}
  - {id: echo, match: {tool: echo}, decision: allow, reason: harmless}
  - {id: preview, match: {tool: delete}, decision: dry_run}
  - {id: ask, match: {tool: deploy}, decision: approve_required}
  - {id: drop, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.limit, delete: true}}
  - {id: cap, match: {args.limit.gt: 9}, decision: transform, priority: 5, transform: {jsonpath: $.args.limit, set: 9}}
"""
BUNDLE = compile_policy(POLICY)


def tools() -> ToolSet:
    @tool()
    async def echo(text: str, times: int = 1) -> str:
        return text * times

    @tool(cost="medium")
    async def delete(path: str) -> str:
        return path

    @tool(cost="high", reversible=False, scope=("fs:write",), effect="idempotent")
    async def purge(paths: list[str]) -> str:
        return "purged"

    @tool()
    async def deploy(version: str, options: dict[str, Any] | None = None) -> str:
        return version

    @tool()
    async def query(text: str, limit: int = 1000) -> str:
        return text

    return ToolSet.from_functions(echo, delete, purge, deploy, query)


def lines_of(replies: list[object], *, args: Any = "plain", **options: Any) -> list[str]:
    """The audit lines of a run under `POLICY`."""
    file = io.StringIO()
    given = {"tools": tools(), "policy": BUNDLE, "sinks": [jsonl_sink(file, args=args)], **options}
    asyncio.run(run_agent(Scripted(*replies), "task", **given))
    return file.getvalue().splitlines()


def decisions(lines: list[str]) -> list[str]:
    return [line for line in lines if json.loads(line)["kind"] in ("policy.evaluated", "policy.reevaluated")]


def assert_decided_alike(line: str, decision: Decision) -> None:
    then = recorded(parse_line(line))
    assert (decision.verdict, decision.reason) == (then.verdict, then.reason)
    assert decision.matched_rules == then.matched_rules
    assert decision.approvals_needed == then.approvals_needed
    assert decision.transform_args == then.transform_args


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
CALL = st.builds(
    ToolCall,
    st.sampled_from(["echo", "delete", "purge", "deploy", "query", "missing"]),
    st.fixed_dictionaries(
        {},
        optional={
            "text": TEXT, "path": TEXT, "version": TEXT, "times": st.integers(0, 3), "limit": st.integers(0, 2000),
            "paths": st.lists(TEXT, max_size=2), "options": st.dictionaries(TEXT, VALUE, max_size=2), "odd": VALUE,
        },
    ),
    problem=st.sampled_from([None, None, None, "arguments are not JSON"]),
)  # fmt: skip
REPLY = CALL | st.lists(CALL, min_size=1, max_size=3)


@given(
    replies=st.lists(REPLY, max_size=4),
    environment=st.sampled_from(["dev", "frozen"]),
    kind=st.sampled_from(["user", "agent"]),
    hour=st.sampled_from([3, 12]),
    repeats=st.sampled_from([None, 1]),
    edited=st.none() | st.dictionaries(st.sampled_from(["version", "paths"]), TEXT, max_size=1),
)
def test_every_decision_of_a_run_is_decided_alike_from_its_line(
    replies: list[object], environment: str, kind: Any, hour: int, repeats: int | None, edited: Any
) -> None:
    async def approve(request: bobcat.ApprovalRequest) -> ApprovalDecision:
        return ApprovalDecision(True, "bob" if request.granted_by else "alice", "", edited)

    lines = lines_of(
        replies, environment=environment, principal=Principal(kind, "p", "P"), on_approval=approve,
        clock=lambda: datetime(2026, 1, 31, hour, tzinfo=UTC), budget=Budget(steps=6, max_repeated_calls=repeats),
    )  # fmt: skip
    for line in decisions(lines):
        assert_decided_alike(line, decide_again(line, BUNDLE))
    proposed = [json.loads(line)["body"] for line in lines if json.loads(line)["kind"] == "step.proposed"]
    evaluated = [json.loads(line)["body"] for line in lines if json.loads(line)["kind"] == "policy.evaluated"]
    assert [(body["seq"], body["tool"]) for body in evaluated] == [(body["seq"], body["tool"]) for body in proposed]


def decided(run: Seen) -> list[tuple[str, str, str | None]]:
    return [(body["tool"], body["verdict"], body.get("code")) for body in run.bodies("policy.evaluated")]


def test_an_unknown_tool_is_a_denial_with_a_code() -> None:
    run = seen(call("nope", a=1))
    assert decided(run) == [("nope", "deny", "unknown_tool")]
    (body,) = run.bodies("policy.evaluated")
    assert (body["args"], body["declared"], body["reason"]) == ({"a": 1}, None, "unknown tool: 'nope'")


def test_unfitting_arguments_are_a_denial_with_a_code() -> None:
    run = seen(call("echo", txt="a"), call("echo"))
    assert [(name, verdict) for name, verdict, _ in decided(run)] == [("echo", "deny")] * 2
    assert all(code for _, _, code in decided(run))


def test_unreadable_arguments_are_a_denial_with_a_code() -> None:
    run = seen(ToolCall("echo", {"raw": "{oops"}, problem="arguments are not JSON"))
    assert decided(run) == [("echo", "deny", "unreadable_arguments")]


def test_arguments_that_are_no_mapping_are_a_denial_with_a_code() -> None:
    run = seen(ToolCall("echo", 5))  # type: ignore[arg-type]
    assert decided(run) == [("echo", "deny", "unreadable_arguments")]


def test_a_repetition_that_ends_the_run_is_a_denial_with_a_code() -> None:
    run = seen(call("echo", text="a"), call("echo", text="a"), budget=Budget(max_repeated_calls=1))
    assert decided(run) == [("echo", "allow", None), ("echo", "deny", "repeated_call")]
    assert run.kinds[-2:] == ["policy.evaluated", "run.failed"]


def test_each_call_of_a_reply_has_its_own_decision() -> None:
    run = seen([call("echo", text="a"), call("nope"), call("echo", text="force")])
    assert decided(run) == [("echo", "allow", None), ("nope", "deny", "unknown_tool"), ("echo", "deny", None)]


def test_a_transform_that_cannot_be_used_is_a_denial_with_a_code() -> None:
    @tool(effect="keyed")
    async def pay(amount: int, idempotency_key: str) -> str:
        return "paid"

    policy = compile_policy(
        "rules: [{id: t, match: {tool: pay}, decision: transform, transform: {set: {amount: 1, idempotency_key: x}}}]"
    )
    (line,) = decisions(lines_of([call("pay", amount=5)], tools=ToolSet.from_functions(pay), policy=policy))
    assert json.loads(line)["body"]["code"] == "transform_refused"
    assert_decided_alike(line, decide_again(line, policy))


def test_an_edited_approval_leaves_one_evaluated_event_and_one_reevaluated() -> None:
    async def edits(_: object) -> ApprovalDecision:
        return ApprovalDecision(True, "alice", "", {"version": "2"})

    run = seen(call("deploy", version="1"), on_approval=edits)
    assert [body["args"] for body in run.bodies("policy.evaluated")] == [{"version": "1"}]
    assert [body["args"] for body in run.bodies("policy.reevaluated")] == [{"version": "2"}]


def test_the_event_shows_what_was_evaluated_and_what_runs() -> None:
    run = seen(call("query", text="SELECT 1"))
    (body,) = run.bodies("policy.evaluated")
    assert (body["judged_args"], body["args"]) == ({"text": "SELECT 1"}, {"text": "SELECT 1 LIMIT 1"})
    assert body["context"]["principal"] == {"kind": "user", "id": "anonymous", "name": None}
    assert (body["context"]["environment"], body["context"]["step_seq"]) == ("dev", 0)
    assert body["declared"]["cost"] == "low"


def test_the_start_of_a_run_says_what_the_run_was_given() -> None:
    run = seen(
        call("echo", text="a"), environment="prod", principal=Principal("service", "s", "S"), budget=Budget(steps=3)
    )
    (body,) = run.bodies("run.started")
    assert body["bundle_id"] == run.result.bundle_id
    assert (body["environment"], body["principal"]) == ("prod", {"kind": "service", "id": "s", "name": "S"})
    assert body["budget"]["steps"] == 3
    assert body["tools"]["delete"]["reversible"] is False
    assert set(body["tools"]) == {"echo", "delete", "deploy", "restart", "query", "slow", "broken"}


def test_an_uncertain_unsafe_action_is_decided_alike_from_its_event() -> None:
    for rule in ("allow", "transform, transform: {jsonpath: $.args.amount, set: 4}"):
        policy = f"rules: [{{id: pay, match: {{tool: pay}}, decision: {rule}}}]"
        shop = Shop().died(policy=policy)
        shop.run(policy=policy)
        bundle = compile_policy(policy)
        events = [event for event in shop.events if event.kind == "policy.evaluated"]
        again = decide_again(events[-1], bundle)
        assert again.matched_rules == ("pay", "<default:on_uncertain>")
        assert (again.verdict.value, again.reason) == (events[-1].body["verdict"], events[-1].body["reason"])


def test_a_line_with_digests_shows_no_arguments_and_is_decided_again_with_them() -> None:
    secret = {"text": "hunter2", "times": 1}
    lines = lines_of([call("echo", **secret), call("query", text="hunter2")], args="digest")
    assert "hunter2" not in "".join(lines)
    first, _ = decisions(lines)
    assert len(json.loads(first)["body"]["args_sha256"]) == 64
    with pytest.raises(AuditError) as error:
        decide_again(first, BUNDLE)
    assert error.value.code == "digested"
    with pytest.raises(AuditError) as error:
        decide_again(first, BUNDLE, args={"text": "other", "times": 1})
    assert error.value.code == "other_args"
    assert_decided_alike(first, decide_again(first, BUNDLE, args=secret))


ODD = {
    "nan": float("nan"), "infinity": float("inf"), "set": {1, 2}, "bytes": b"x", "halves": "\ud83d\ude00",
    "long": 10**5000,
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_a_line_that_shows_a_value_json_cannot_hold_says_so(odd: object) -> None:
    @tool()
    async def take(value: Any) -> str:
        return "taken"

    policy = compile_policy("rules: [{id: t, match: {tool: take}, decision: allow}]")
    lines = decisions(lines_of([call("take", value=odd)], tools=ToolSet.from_functions(take), policy=policy))
    for line in lines:
        body = json.loads(line)["body"]
        if "code" not in body:  # a value that is refused has no decision of the policy
            assert body["inexact"] is True
            with pytest.raises(AuditError) as error:
                decide_again(line, policy)
            assert error.value.code == "inexact"


def test_lines_that_are_no_decisions_are_refused_with_codes() -> None:
    lines = lines_of([call("echo", text="a")])
    (evaluated,) = decisions(lines)
    old = json.loads(evaluated)
    old["body"] = {name: old["body"][name] for name in ("seq", "verdict", "reason", "matched_rules")}
    for line, code in (
        (lines[0], "not_a_decision"),
        (json.dumps(old), "incomplete"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ("{}", "damaged"),
        (evaluated.replace('"cost":"low"', '"cost":7'), "damaged"),
        (evaluated.replace('"args":', '"code":"unknown_tool","args":'), "damaged"),
        (evaluated.replace("T", "t ", 1), "damaged"),
    ):
        with pytest.raises(AuditError) as error:
            decide_again(line, BUNDLE)
        assert error.value.code == code, line


def test_another_bundle_decides_in_its_own_way() -> None:
    (line,) = decisions(lines_of([call("echo", text="a")]))
    stricter = compile_policy("rules: [{id: no, match: {tool: echo}, decision: deny}]")
    assert decide_again(line, stricter).matched_rules == ("no",)


def test_a_granted_call_is_decided_alike() -> None:
    (line,) = decisions(lines_of([call("deploy", version="1")], on_approval=auto_approve("alice")))
    assert_decided_alike(line, decide_again(line, BUNDLE))
