"""Gates of `bobcat.lynx` as lynx-agent 2.11: what they do where lynx-agent fails, and what reaches whom.

`test_lynx_2_11_itself.py` compares the rest with lynx-agent.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bobcat.lynx import ToolSet, jsonl_sink, shadow, subprocess_executor, tool
from bobcat.lynx.core.types import ApprovalDecision, ApprovalRequest, AuditEvent, Decision, Principal, Verdict
from bobcat.lynx.v2_11 import GovernedCall, ToolGuard, compile_policy, hash_chained_sink, verify_chain
from bobcat.lynx.v2_11.integrations.openai_agents import governed_function_tools, render_result
from bobcat.lynx.v2_11.proxy.mcp_proxy import GovernedProxy, ToolClassifier, build_toolset, default_classify
from bobcat.model.run import ActionResult

ran: list[dict[str, Any]] = []


@tool(scope=("a",))
async def act(n: int = 0, **more: Any) -> Any:
    ran.append({"n": n, **more})
    if n == 13:
        raise ValueError("thirteen")
    return {"n": n}


@shadow(act)
async def previewed(**args: Any) -> str:
    return "would"


TOOLS = ToolSet.from_functions(act)
ALLOW = compile_policy({"rules": [{"id": "r", "match": {"tool": "act"}, "decision": "allow"}]})
APPROVE = compile_policy({"rules": [{"id": "r", "match": {"tool": "act"}, "decision": "approve_required"}]})


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


class Sink:
    """Keeps events; raises when it is `broken`."""

    def __init__(self, *, broken: bool = False, required: bool = False) -> None:
        self.events: list[AuditEvent] = []
        self.broken, self.required = broken, required

    async def __call__(self, event: AuditEvent) -> None:
        self.events.append(event)
        if self.broken:
            raise OSError("disk full")

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


def check(guard: ToolGuard, name: str, args: Any, **options: Any) -> GovernedCall:
    return asyncio.run(guard.check(name, args, **options))


def test_a_sink_that_fails_is_reported_and_the_call_has_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    broken, sound = Sink(broken=True), Sink()
    call = check(ToolGuard(tools=TOOLS, policy=ALLOW, sinks=[broken, sound]), "act", {"n": 1})
    assert call.allowed
    assert ran == [{"n": 1}]
    assert sound.kinds == broken.kinds == ["step.proposed", "policy.evaluated", "action.completed"]
    assert capsys.readouterr().err.count("[lynx] sink") == 3


def test_nothing_runs_once_a_required_sink_has_failed() -> None:
    for gate in (ToolGuard, GovernedProxy):
        made = gate(tools=TOOLS, policy=ALLOW, sinks=[Sink(broken=True, required=True)])
        done = asyncio.run((made.check if isinstance(made, ToolGuard) else made.call)("act", {"n": 1}))
        assert not done.result.ok
        assert done.result.error is not None
        assert done.result.error.startswith("denied: required sink")
    assert ran == []


def test_each_event_has_a_number_of_its_own() -> None:
    sink = Sink()
    guard = ToolGuard(tools=TOOLS, policy=ALLOW, sinks=[sink])

    async def calls() -> None:
        await asyncio.gather(*(guard.check("act", {"n": number}) for number in range(3)), guard.check("none", {}))

    asyncio.run(calls())
    assert [event.seq for event in sink.events] == list(range(12))
    assert sorted(event.body["seq"] for event in sink.events) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_chained_lines_of_a_guard_verify(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for _ in range(2):
        with path.open("a") as handle:
            guard = ToolGuard(tools=TOOLS, policy=ALLOW, sinks=[hash_chained_sink(handle)])
            check(guard, "act", {"n": 1, "text": "é", "more": {"a": [1.5, None]}})
    assert verify_chain(path).lines == 6


def loop() -> dict[str, Any]:
    args: dict[str, Any] = {}
    args["self"] = args
    return args


@pytest.mark.parametrize("args", [loop(), {"n": json.loads("[" * 200 + "]" * 200)}])
def test_arguments_that_cannot_be_used_are_denied_and_not_executed(args: dict[str, Any]) -> None:
    sink = Sink()
    call = check(ToolGuard(tools=TOOLS, policy=ALLOW, sinks=[sink]), "act", args)
    assert (call.decision.verdict, call.decision.matched_rules) == (Verdict.DENY, ("<invalid_arguments>",))
    assert (call.allowed, ran) == (False, [])
    assert sink.kinds == ["step.proposed", "policy.evaluated", "action.failed"]
    proxy = GovernedProxy(tools=TOOLS, policy=ALLOW, sinks=[sink])
    done = asyncio.run(proxy.call("act", args))
    assert (done.verdict, done.result.ok, ran) == ("deny", False, [])


@pytest.mark.parametrize("args", [None, [], "n=1", 5])
def test_arguments_that_are_no_mapping_are_a_type_error(args: object) -> None:
    with pytest.raises(TypeError, match="args must be a mapping"):
        check(ToolGuard(tools=TOOLS, policy=ALLOW), "act", args)
    with pytest.raises(TypeError, match="args must be a mapping"):
        asyncio.run(GovernedProxy(tools=TOOLS, policy=ALLOW).call("act", args))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tools": [act]}, "tools must be a ToolSet"),
        ({"policy": "rules: []"}, "policy must be a Policy"),
        ({"principal": "alice"}, "principal must be a Principal"),
        ({"environment": None}, "environment must be a string"),
        ({"sinks": jsonl_sink}, "sinks"),
        ({"executor": subprocess_executor}, "subprocess_executor"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused_at_once(options: dict[str, Any], text: str) -> None:
    for gate in (ToolGuard, GovernedProxy):
        with pytest.raises(TypeError, match=text):
            gate(**{"tools": TOOLS, "policy": ALLOW, **options})


def test_a_policy_that_raises_denies() -> None:
    def stop(_: Any, __: Any) -> Any:
        raise SystemExit

    def odd(_: Any, __: Any) -> Any:
        return Decision("yes", "")  # type: ignore[arg-type]

    for rule in (stop, odd):
        policy = compile_policy({"rules": [{"match": {}, "decision": "allow"}]}, python_rules=(rule,),
                                python_rule_priorities=((rule.__name__, 5),))  # fmt: skip
        call = check(ToolGuard(tools=TOOLS, policy=policy), "act", {"n": 1})
        assert (call.decision.verdict, call.allowed) == (Verdict.DENY, False)
    assert ran == []


def test_no_one_can_change_the_call_that_was_decided() -> None:
    async def meddler(event: AuditEvent) -> None:
        event.body.get("args", {})["n"] = 5  # type: ignore[index]

    async def approve(request: ApprovalRequest) -> ApprovalDecision:
        request.request.args["n"] = 6  # type: ignore[index]
        return ApprovalDecision(True, "ops")

    args = {"n": 1, "more": [1]}
    call = check(ToolGuard(tools=TOOLS, policy=APPROVE, sinks=[meddler], on_approval=approve), "act", args)
    assert ran == [{"n": 1, "more": [1]}]
    assert call.request.args == args == {"n": 1, "more": [1]}


@pytest.mark.parametrize("answer", [None, "yes", RuntimeError("gone"), ApprovalDecision(False, "ops", "no")])
def test_an_approval_that_is_not_granted_executes_nothing(answer: Any) -> None:
    async def approve(_: ApprovalRequest) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    for handler in (approve, None):
        call = check(ToolGuard(tools=TOOLS, policy=APPROVE, on_approval=handler), "act", {"n": 1})
        assert (call.allowed, ran) == (False, [])
        assert render_result(call).startswith("[denied] ")


def test_rules_read_the_facts_and_the_number_of_a_call() -> None:
    rule = {"match": {"context.extra.ticket": "T1", "context.step_seq": 1}, "decision": "allow"}
    guard = ToolGuard(tools=TOOLS, policy=compile_policy({"rules": [rule]}))
    assert not check(guard, "act", {}, extra={"ticket": "T1"}).allowed
    call = check(guard, "act", {}, extra={"ticket": "T1"})
    assert call.allowed
    assert call.request.context.correlation_id == guard.correlation_id
    assert call.request.context.timestamp.tzinfo is not None


@pytest.mark.parametrize(
    ("result", "verdict", "text"),
    [
        (ActionResult(True, "x"), "allow", "x"),
        (ActionResult(True, None), "allow", ""),
        (ActionResult(True, 0), "allow", "0"),
        (ActionResult(True, {"a": [1]}), "allow", '{"a": [1]}'),
        (ActionResult(True, {1, 2}), "allow", "{1, 2}"),
        (ActionResult(False, error="denied: no"), "deny", "[denied] denied: no"),
        (ActionResult(False, error="ValueError: x"), "allow", "[error] ValueError: x"),
        (ActionResult(False, error="ValueError: x"), "transform", "[error] ValueError: x"),
        (ActionResult(False), "allow", "[error] no reason given"),
        (ActionResult(False, error="ValueError: x"), "approve_required", "[error] ValueError: x"),
        (ActionResult(False, error="denied: no"), "approve_required", "[denied] denied: no"),
        (ActionResult(False, error="unknown tool: 'x'"), "deny", "[denied] unknown tool: 'x'"),
        (ActionResult(False, error="denied: required sink"), "allow", "[denied] denied: required sink"),
    ],
)
def test_the_model_reads_the_result(result: ActionResult, verdict: str, text: str) -> None:
    call = check(ToolGuard(tools=TOOLS, policy=ALLOW), "act", {})
    assert render_result(GovernedCall(Decision(Verdict(verdict), ""), result, call.request)) == text


def test_a_tool_that_fails_is_not_called_denied() -> None:
    call = check(ToolGuard(tools=TOOLS, policy=ALLOW), "act", {"n": 13})
    assert render_result(call).startswith("[error] ValueError: thirteen")


def test_function_tools_need_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agents", None)
    with pytest.raises(ImportError, match="pip install openai-agents"):
        governed_function_tools(TOOLS, policy=ALLOW)


# The MCP proxy.


def test_the_declaration_of_a_tool_is_the_classifier_s() -> None:
    known = default_classify("read")
    assert (known.cost, known.reversible, known.scope, known.has_shadow) == (
        "medium",
        False,
        ("mcp:tool", "mcp:read"),
        True,
    )
    changed = ToolClassifier(overrides={"read": act.__lynx_meta__.metadata})
    assert changed("read") is act.__lynx_meta__.metadata
    assert changed("write").scope == ("mcp:tool", "mcp:write")


def proxy_of(policy: Mapping[str, Any], sent: list[Any], **options: Any) -> GovernedProxy:
    async def upstream(name: str, args: Mapping[str, Any]) -> str:
        sent.append((name, dict(args)))
        return name

    return GovernedProxy(policy=compile_policy(policy), tools=build_toolset(["read", "write"], upstream), **options)


def test_every_call_of_a_proxy_has_a_decision_on_record() -> None:
    sink, sent = Sink(), list[Any]()
    proxy = proxy_of({"rules": [{"match": {"tool": "read"}, "decision": "allow"}]}, sent, sinks=[sink])
    for name in ("read", "write", "none"):
        asyncio.run(proxy.call(name, {"a": 1}))
    assert sent == [("read", {"a": 1})]
    decided = [event.body for event in sink.events if event.kind == "policy.evaluated"]
    assert [body["verdict"] for body in decided] == ["allow", "deny", "deny"]
    assert sink.kinds[-2:] == ["policy.evaluated", "action.failed"]
    assert [event.seq for event in sink.events] == list(range(len(sink.events)))
    assert all(
        event.correlation_id == proxy.correlation_id and type(event.timestamp) is datetime for event in sink.events
    )
    assert proxy.correlation_id.startswith("mcp-")


def test_a_proxy_has_a_sink_that_fails_reported(capsys: pytest.CaptureFixture[str]) -> None:
    sent = list[Any]()
    proxy = proxy_of({"rules": [{"match": {}, "decision": "allow"}]}, sent, sinks=[Sink(broken=True)])
    assert asyncio.run(proxy.call("read", {})).result.ok
    assert "[lynx] sink" in capsys.readouterr().err


def test_the_arguments_of_a_transform_are_sent() -> None:
    sent = list[Any]()
    rule = {"match": {}, "decision": "transform", "transform": {"jsonpath": "$.args.a", "set": 2}}
    done = asyncio.run(proxy_of({"rules": [rule]}, sent).call("read", {"a": 1}))
    assert (done.verdict, done.result.value, sent) == ("transform", "read", [("read", {"a": 2})])


def test_an_approval_is_asked_once_and_a_preview_sends_nothing() -> None:
    asked, sent, lines = list[Any](), list[Any](), io.StringIO()

    async def approve(request: ApprovalRequest) -> ApprovalDecision:
        asked.append(request.request.tool)
        return ApprovalDecision(True, "ops")

    rules = [{"match": {"tool": "read"}, "decision": "approve_required"}, {"match": {}, "decision": "dry_run"}]
    proxy = proxy_of({"rules": rules}, sent, on_approval=approve, sinks=[jsonl_sink(lines)],
                     principal=Principal("agent", "me"))  # fmt: skip
    assert asyncio.run(proxy.call("read", {})).result.value == "read"
    done = asyncio.run(proxy.call("write", {"a": 1}))
    assert done.result.value == {"dry_run": True, "preview": {"would_call": "write", "args": {"a": 1}}}
    assert (asked, sent) == (["read"], [("read", {})])
    kinds = [json.loads(line)["kind"] for line in lines.getvalue().splitlines()]
    assert kinds[:5] == [
        "policy.evaluated",
        "action.started",
        "approval.requested",
        "approval.granted",
        "action.completed",
    ]
