"""The door of Google ADK: the place of its gate, tools that no callback sees, confirmations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="Google ADK has an environment of its own: `make check-doors`")

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.code_executors import BuiltInCodeExecutor, UnsafeLocalCodeExecutor
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, BaseTool, FunctionTool, google_search, url_context
from google.genai import types

from bobcat import Guard, Policy
from bobcat.guards.adk import GuardPlugin
from doors.adapter import Proposal
from doors.adk.door import CONFIRMATION, Conversation, FakeModel

POLICY = Policy.compile(
    """
rules:
  - {id: small, match: {tool: pay, args.amount.between: [1, 9]}, decision: allow}
  - {id: large, match: {tool: pay, args.amount.between: [10, 99]}, decision: approve_required, approvers: [alice]}
  - {id: helpers, match: {tool.in: [helper, transfer_to_agent, watch]}, decision: allow}
"""
)
paid: list[int] = []


def pay(amount: int) -> str:
    """Pay an amount."""
    paid.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


def agent_of(*turns: list[Proposal], name: str = "agent", **options: Any) -> LlmAgent:
    options.setdefault("tools", [pay])
    return LlmAgent(name=name, description=name, model=FakeModel(turns=iter(turns)), **options)


def runner_of(agent: LlmAgent, *plugins: BasePlugin) -> InMemoryRunner:
    return InMemoryRunner(app=App(name="app", root_agent=agent, plugins=list(plugins)))


def call(amount: int, name: str = "pay") -> list[Proposal]:
    return [Proposal("c", name, {"amount": amount})]


def talk(agent: LlmAgent, *plugins: BasePlugin, answer: Any = None, hosted: bool = False) -> list[str]:
    """Run an agent behind a guard; return the texts that its model gets."""

    async def main() -> list[Any]:
        async with Guard(POLICY) as guard:
            door = GuardPlugin(guard, hosted_tools=hosted)
            conversation = Conversation(runner_of(agent, door, *plugins))
            await conversation.begin()
            asked = await conversation.send(types.Part(text="go"))
            if answer is not None:
                response = types.FunctionResponse(id=asked[0].id, name=CONFIRMATION, response=answer)
                await conversation.send(types.Part(function_response=response))
            return conversation.events

    events = asyncio.run(main())
    found = [each for event in events for each in event.get_function_responses()]
    return [str(each.response.get("error", each.response.get("result"))) for each in found]


@pytest.mark.parametrize(("amount", "ran"), [(4, [4]), (1000, [])])
def test_a_call_is_decided_as_callbacks_and_other_plugins_leave_it(amount: int, ran: list[int]) -> None:
    class Changes(BasePlugin):
        async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
            tool_args["amount"] = 5

    def change(tool: BaseTool, args: dict[str, Any], tool_context: Any) -> None:
        args["amount"] = amount

    talk(agent_of(call(7), before_tool_callback=change), Changes("changes"))
    assert paid == ran


@pytest.mark.parametrize(
    ("answer", "ran"),
    [
        ({"confirmed": True, "payload": {"granted": True, "approver": "alice"}}, [40]),
        ({"confirmed": True, "payload": {"granted": True, "approver": "mallory"}}, []),
        ({"confirmed": True}, []),
        ({"confirmed": False, "payload": {"granted": True, "approver": "alice"}}, []),
    ],
)
def test_an_approval_needs_a_confirmation_and_its_payload(answer: Any, ran: list[int]) -> None:
    talk(agent_of(call(40)), answer=answer)
    assert paid == ran


@pytest.mark.parametrize(("amount", "confirmed", "ran"), [(4, True, [4]), (4, False, []), (1000, True, [])])
def test_a_confirmation_of_the_tool_itself_holds(amount: int, confirmed: bool, ran: list[int]) -> None:
    agent = agent_of(call(amount), tools=[FunctionTool(pay, require_confirmation=True)])
    talk(agent, answer={"confirmed": confirmed})
    assert paid == ran


@pytest.mark.parametrize(("amount", "ran"), [(4, [4]), (1000, [])])
@pytest.mark.parametrize("way", ["sub-agent", "agent as a tool"])
def test_the_tools_of_other_agents_pass_the_guard(way: str, amount: int, ran: list[int]) -> None:
    helper = agent_of(call(amount), name="helper")
    if way == "sub-agent":
        turn = [Proposal("t", "transfer_to_agent", {"agent_name": "helper"})]
        agent = agent_of(turn, tools=[], sub_agents=[helper])
    else:
        agent = agent_of([Proposal("t", "helper", {"request": "go"})], tools=[AgentTool(helper)])
    talk(agent)
    assert paid == ran


@pytest.mark.parametrize(
    "options",
    [
        {"tools": [google_search]},
        {"tools": [pay, url_context]},
        {"code_executor": BuiltInCodeExecutor()},
        {"code_executor": UnsafeLocalCodeExecutor()},
    ],
    ids=["search", "url", "code of the model", "code of the agent"],
)
def test_an_agent_with_tools_that_no_callback_sees_is_refused(options: dict[str, Any]) -> None:
    def agent() -> LlmAgent:
        found = agent_of(call(4), **options)
        found.model.model = "gemini-2.5-flash"
        return found

    with pytest.raises(RuntimeError, match="does not see"):
        talk(agent())
    talk(agent(), hosted=True)


def test_a_streaming_tool_is_refused() -> None:
    async def watch(amount: int) -> AsyncIterator[str]:
        """Watch."""
        paid.append(amount)
        yield "seen"

    (text,) = talk(agent_of(call(4, "watch"), tools=[watch]))
    assert "streaming" in text
    assert paid == []


def test_a_tool_in_two_runners_is_decided_by_the_guard_of_the_call() -> None:
    shared = FunctionTool(pay)
    none = Policy.compile("rules: []")

    async def main(policy: Policy) -> None:
        async with Guard(policy) as guard:
            conversation = Conversation(runner_of(agent_of(call(4), tools=[shared]), GuardPlugin(guard)))
            await conversation.begin()
            await conversation.send(types.Part(text="go"))

    for policy in (POLICY, none, POLICY):
        asyncio.run(main(policy))
    assert paid == [4, 4]
