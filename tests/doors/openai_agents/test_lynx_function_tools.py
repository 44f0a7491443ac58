"""`governed_function_tools` of `bobcat.lynx` as lynx-agent 2.11, in a run of the SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, FunctionTool, Runner
from agents.testing import ScriptedModel
from openai.types.responses import ResponseFunctionToolCall

from bobcat.lynx import ToolSet, auto_approve, shadow, tool
from bobcat.lynx.v2_11 import ToolGuard, compile_policy
from bobcat.lynx.v2_11.integrations.openai_agents import governed_function_tools
from bobcat.model.run import AuditEvent
from doors.openai_agents.door import DONE

POLICY = compile_policy("""
rules:
  - {id: read, match: {tool: read}, decision: allow}
  - id: cap
    match: {tool: pay, args.amount.gt: 100}
    decision: transform
    transform: {jsonpath: $.args.amount, set: 100}
  - {id: small, match: {tool: pay, args.amount.lt: 0}, decision: deny, reason: not negative}
  - {id: ask, match: {tool: pay}, decision: approve_required}
  - {id: preview, match: {tool: wipe}, decision: dry_run}
""")
ran: list[Any] = []


@tool(scope=("fs:read",))
async def read(path: str, lines: int = 10) -> dict[str, Any]:
    """Read a file."""
    ran.append(path)
    return {"path": path, "lines": lines}


@tool(reversible=False)
async def pay(amount: int) -> str:
    """Pay."""
    ran.append(amount)
    if amount == 13:
        raise ValueError("no")
    return f"paid {amount}"


@tool(reversible=False)
async def wipe() -> None:
    """Wipe the disk."""
    ran.append("wiped")


@shadow(wipe)
async def would_wipe() -> str:
    return "everything"


TOOLS = ToolSet.from_functions(read, pay, wipe)


def replies(calls: list[tuple[str, str]], **options: Any) -> list[str]:
    """The outputs of the calls that a model proposes, tool and arguments as text."""
    ran.clear()
    tools: list[Any] = governed_function_tools(TOOLS, policy=POLICY, **options)
    proposed = [
        ResponseFunctionToolCall(type="function_call", call_id=f"c{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(calls)
    ]
    model = ScriptedModel([*([each] for each in proposed), [DONE]])
    result = asyncio.run(Runner.run(Agent(name="a", tools=tools, model=model), "go"))
    return [str(item["output"]) for item in result.to_input_list() if item.get("type") == "function_call_output"]


def test_each_verdict_reaches_the_model() -> None:
    calls = [
        ("read", {"path": "a"}),
        ("pay", {"amount": 500}),
        ("pay", {"amount": -1}),
        ("pay", {"amount": 5}),
        ("wipe", {}),
    ]
    found = replies([(name, json.dumps(args)) for name, args in calls])
    assert json.loads(found[0]) == {"path": "a", "lines": 10}
    assert found[1:3] == ["paid 100", "[denied] denied: not negative"]
    assert found[3].startswith("[denied] denied: approval refused by system")
    assert json.loads(found[4]) == {"dry_run": True, "preview": "everything"}
    assert ran == ["a", 100]


def test_an_approval_is_that_of_the_guard_and_a_failure_is_an_error() -> None:
    found = replies([("pay", '{"amount": 5}'), ("pay", '{"amount": 13}')], on_approval=auto_approve())
    assert found[0] == "paid 5"
    assert found[1].startswith("[error] ValueError: no")
    assert ran == [5, 13]


@pytest.mark.parametrize("text", ["[1]", "{", '"a"', '{"amount": NaN}'])
def test_arguments_that_are_no_object_reach_no_tool(text: str) -> None:
    events: list[AuditEvent] = []

    async def sink(event: AuditEvent) -> None:
        events.append(event)

    (found,) = replies([("pay", text)], on_approval=auto_approve(), sinks=[sink])
    assert found.startswith("[denied] arguments ")
    assert [event.kind for event in events] == ["step.proposed", "policy.evaluated", "action.failed"]
    assert events[1].body["matched_rules"] == ["<invalid_arguments>"]
    assert ran == []


def test_arguments_of_another_kind_than_declared_reach_no_tool() -> None:
    (found,) = replies([("read", '{"path": "a", "mode": "w"}')])
    assert found.startswith("[error] ")
    assert ran == []


def test_a_shared_guard_counts_the_calls_of_all_agents() -> None:
    guard = ToolGuard(tools=TOOLS, policy=POLICY)
    for _ in range(2):
        replies([("read", '{"path": "a"}')], guard=guard)
    assert asyncio.run(guard.check("read", {"path": "b"})).request.context.step_seq == 2


def test_the_sdk_sees_the_schema_of_each_function() -> None:
    tools = governed_function_tools(TOOLS, policy=POLICY)
    assert all(type(each) is FunctionTool for each in tools)
    assert [each.name for each in tools] == ["pay", "read", "wipe"]
    (shown,) = (each for each in tools if each.name == "read")
    assert shown.description == "Read a file."
    assert {*shown.params_json_schema["properties"]} == {"path", "lines"}
    assert shown.params_json_schema["required"] == ["path"]
