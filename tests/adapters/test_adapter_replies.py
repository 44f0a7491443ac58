"""Fields of a tool call beside its arguments: text, which is kept, and a problem, which keeps the call from running."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import FinalAnswer, MemoryStore, Message, RunResult, ToolCall, ToolSet, compile_policy, run_agent, tool
from kernel.scripted import Scripted

POLICY = "rules: [{id: all, match: {}, decision: allow}]"
ran: list[str] = []


@tool()
async def echo(**words: str) -> str:
    """Any words at all."""
    ran.append("echo")
    return "said"


def _run(agent: Scripted, **more: Any) -> RunResult:
    ran.clear()
    tools = ToolSet.from_functions(echo)
    return asyncio.run(run_agent(agent, "go", tools=tools, policy=compile_policy(POLICY), **more))


# lynx-agent defect 82
def test_text_beside_a_call_stands_in_the_conversation() -> None:
    agent = Scripted(ToolCall("echo", {}, "c1", text="let me see"), FinalAnswer("done"))
    assert _run(agent).error is None
    assert agent.seen[1][1] == Message("assistant", "let me see", "echo", "c1", {})


def test_a_call_with_a_problem_does_not_run_and_the_model_sees_the_problem() -> None:
    events: list[tuple[str, Any]] = []

    async def sink(event: Any) -> None:
        events.append((event.kind, event.body))

    agent = Scripted(ToolCall("echo", {"raw": "{oops"}, "c1", problem="arguments are not JSON"), FinalAnswer("done"))
    assert _run(agent, sinks=[sink]).final_answer == "done"
    assert ran == []
    assert agent.seen[1][-1] == Message("tool", "[error] arguments are not JSON", "echo", "c1")
    ((verdict, code),) = [(body["verdict"], body["code"]) for kind, body in events if kind == "policy.evaluated"]
    assert (verdict, code) == ("deny", "unreadable_arguments")
    assert ("step.proposed", {"seq": 0, "tool": "echo", "args": {"raw": "{oops"}}) in events
    assert ("action.failed", {"seq": 0, "reason": "arguments are not JSON"}) in events


def test_text_and_problem_survive_a_resume() -> None:
    store = MemoryStore()
    reply = (ToolCall("echo", {}, "c1", text="both"), ToolCall("echo", {}, "c2", problem="cut off"))

    def crash(_: object) -> None:
        raise RuntimeError("crash")

    first = Scripted(reply, crash)
    assert _run(first, store=store, run_id="r").error == "agent.step raised: RuntimeError: crash"
    assert ran == ["echo"]
    second = Scripted(FinalAnswer("done"))
    assert _run(second, store=store, run_id="r").final_answer == "done"
    assert ran == []
    assert second.seen[0] == first.seen[1]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (ToolCall("echo", {}, text=None), "agent.step returned a ToolCall whose text is NoneType, not str"),  # type: ignore[arg-type]
        (ToolCall("echo", {}, problem=3), "agent.step returned a ToolCall whose problem is int, not str"),  # type: ignore[arg-type]
    ],
)
def test_text_and_problem_are_strings(call: ToolCall, error: str) -> None:
    assert _run(Scripted(call)).error == error
