"""The door of Strands: its place among middleware, direct calls, interruptions of tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

strands = pytest.importorskip("strands", reason="Strands has an environment of its own: `make check-doors`")

from strands import Agent, ToolContext  # noqa: E402
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent  # noqa: E402
from strands.middleware import ExecuteToolStage  # noqa: E402

from bobcat import Guard, Policy  # noqa: E402
from bobcat.decision_log import open_log  # noqa: E402
from bobcat.guards.strands import guard_agent  # noqa: E402
from doors.adapter import Proposal  # noqa: E402
from doors.strands.door import FakeModel  # noqa: E402

POLICY = Policy.compile(
    """
rules:
  - {id: small, match: {tool: pay, args.amount.between: [1, 9]}, decision: allow}
  - {id: large, match: {tool: pay, args.amount.between: [10, 99]}, decision: approve_required, approvers: [alice]}
  - {id: ask, match: {tool: ask}, decision: allow}
"""
)
paid: list[int] = []


@strands.tool
def pay(amount: int) -> str:
    """Pay an amount."""
    paid.append(amount)
    return f"paid {amount}"


@strands.tool(context=True)
def ask(tool_context: ToolContext) -> str:
    """Ask a person."""
    return str(tool_context.interrupt("question", reason="which?"))


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


def agent_of(*calls: Proposal, **options: Any) -> Agent:
    return Agent(model=FakeModel([calls] if calls else []), tools=[pay, ask], callback_handler=None, **options)


def answers(agent: Agent) -> list[tuple[str, str]]:
    results = [each["toolResult"] for message in agent.messages for each in message["content"] if "toolResult" in each]
    return [(each["status"], each["content"][0]["text"]) for each in results]


def run(agent: Agent, prompt: Any = "go") -> Any:
    return asyncio.run(agent.invoke_async(prompt))


def test_a_middleware_that_could_change_a_decided_call_stops_all_calls() -> None:
    async def change(context: Any, execute: Any) -> AsyncIterator[Any]:
        async for event in execute(context.replace(tool_use={**context.tool_use, "input": {"amount": 1000}})):
            yield event

    with Guard(POLICY) as guard:
        agent = guard_agent(agent_of(Proposal("c", "pay", {"amount": 4})), guard)
        agent.add_middleware(ExecuteToolStage, change)
        run(agent)
    ((status, text),) = answers(agent)
    assert (status, "after the guard" in text, paid) == ("error", True, [])


@pytest.mark.parametrize(("amount", "ran"), [(4, [4]), (1000, [])])
def test_a_call_is_decided_as_hooks_and_other_middleware_leave_it(amount: int, ran: list[int]) -> None:
    def change(event: BeforeToolCallEvent) -> None:
        event.tool_use["input"] = {"amount": amount}

    with Guard(POLICY) as guard:
        agent = guard_agent(agent_of(Proposal("c", "pay", {"amount": 5})), guard)
        agent.add_hook(change, BeforeToolCallEvent)
        agent.add_middleware(ExecuteToolStage.Input, lambda context: context)
        run(agent)
    assert paid == ran


@pytest.mark.parametrize(("amount", "ran"), [(4, [4]), (1000, [])])
def test_a_direct_call_passes_the_guard(amount: int, ran: list[int]) -> None:
    with Guard(POLICY) as guard:
        agent = guard_agent(agent_of(), guard)
        result = agent.tool.pay(amount=amount)
    assert (result["status"], paid) == ("success" if ran else "error", ran)


def test_a_direct_call_that_needs_an_approval_does_not_run() -> None:
    with Guard(POLICY) as guard:
        agent = guard_agent(agent_of(), guard)
        with pytest.raises(RuntimeError, match="interrupt"):
            agent.tool.pay(amount=40)
    assert paid == []


def test_a_retry_of_a_hook_is_a_new_submission(tmp_path: Path) -> None:
    def retry(event: AfterToolCallEvent) -> None:
        event.retry = len(paid) < 2

    with Guard(POLICY, log=tmp_path / "log.db") as guard:
        agent = guard_agent(agent_of(Proposal("c", "pay", {"amount": 4})), guard)
        agent.add_hook(retry, AfterToolCallEvent)
        run(agent)
    with open_log(tmp_path / "log.db") as log:
        assert [each.status for each in log.records()] == ["ok", "ok"]
    assert paid == [4, 4]


def test_a_tool_that_interrupts_is_decided_again_when_it_is_resumed(tmp_path: Path) -> None:
    with Guard(POLICY, log=tmp_path / "log.db") as guard:
        agent = guard_agent(agent_of(Proposal("c", "ask", {})), guard)
        (asked,) = run(agent).interrupts
        run(agent, [{"interruptResponse": {"interruptId": asked.id, "response": "this one"}}])
    assert answers(agent) == [("success", "this one")]
    with open_log(tmp_path / "log.db") as log:
        assert sorted(each.status for each in log.records()) == ["failed", "ok"]


def test_without_interrupts_the_handler_of_the_guard_is_asked() -> None:
    with Guard(POLICY) as guard:
        agent = guard_agent(agent_of(Proposal("c", "pay", {"amount": 40})), guard, interrupts=False)
        assert run(agent).stop_reason == "end_turn"
    ((status, text),) = answers(agent)
    assert (status, "no on_approval handler" in text, paid) == ("error", True, [])


def test_anything_but_an_agent_without_a_guard_is_refused() -> None:
    with Guard(POLICY) as guard:
        with pytest.raises(TypeError, match="Agent of Strands"):
            guard_agent([agent_of()], guard)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="already"):
            guard_agent(guard_agent(agent_of(), guard), guard)
