"""The door of LangChain: other middleware, tools of a provider, jumps to the tools, agents that are continued."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bobcat import Guard, Policy
from bobcat.decision_log import open_log
from bobcat.guards.langchain import GuardMiddleware, guarded_agent
from doors.adapter import Proposal
from doors.cases import policy_text
from doors.langchain.door import model
from doors.langgraph.door import THREAD, as_tool, message
from doors.tools import Tools

POLICY = Policy.compile(policy_text(""))
PAY = Proposal("c1", "pay", {"amount": 40})
ECHO = Proposal("c2", "echo", {"text": "a"})
SECRET = Proposal("c3", "echo", {"text": "secret"})
GO = {"messages": [("user", "go")]}
GRANT = {"granted": True, "approver": "alice"}


def listed(tools: Tools) -> list[StructuredTool]:
    return [as_tool(each) for each in tools.functions(is_async=False)]


def answers(state: Any) -> list[str]:
    return [str(each.content) for each in state["messages"] if isinstance(each, ToolMessage)]


@pytest.fixture(params=[True, False], ids=["sync", "async"])
def sync(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def invoked(agent: Any, value: Any, *, sync: bool) -> Any:
    return agent.invoke(value, THREAD) if sync else asyncio.run(agent.ainvoke(value, THREAD))


class Changing(AgentMiddleware):
    """Changes the text of each call."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tool_call={**request.tool_call, "args": {"text": "secret"}}))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(tool_call={**request.tool_call, "args": {"text": "secret"}}))


def test_a_call_that_another_middleware_changes_is_decided(sync: bool) -> None:
    tools = Tools()
    with Guard(POLICY) as guard:
        agent = guarded_agent(model([[ECHO]]), listed(tools), guard=guard, middleware=[Changing()])
        assert answers(invoked(agent, GO, sync=sync)) == ["[denied] not permitted"]
    assert tools.ran == []


def test_tools_of_a_middleware_are_guarded(sync: bool) -> None:
    tools = Tools()

    class Bringing(AgentMiddleware):
        def __init__(self) -> None:
            super().__init__()
            self.tools = listed(tools)

    with Guard(POLICY) as guard:
        agent = guarded_agent(model([[ECHO, SECRET]]), guard=guard, middleware=[Bringing()])
        assert answers(invoked(agent, GO, sync=sync)) == ["a", "[denied] not permitted"]
    assert tools.ran == [("echo", {"text": "a"})]


SEARCH = {"type": "web_search"}


class Adding(AgentMiddleware):
    """Adds a tool that the provider executes."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tools=[*request.tools, SEARCH]))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(tools=[*request.tools, SEARCH]))


def test_a_tool_that_the_provider_executes_is_refused(sync: bool) -> None:
    with Guard(POLICY) as guard:
        with pytest.raises(TypeError, match="'web_search' cannot be guarded"):
            guarded_agent(model([]), [SEARCH], guard=guard)
        agent = guarded_agent(model([[ECHO]]), listed(Tools()), guard=guard, middleware=[Adding()])
        with pytest.raises(TypeError, match="'web_search' cannot be guarded"):
            invoked(agent, GO, sync=sync)


def test_a_guard_is_required_once() -> None:
    with pytest.raises(TypeError, match="guard must be a Guard"):
        GuardMiddleware(None)  # type: ignore[arg-type]
    with Guard(POLICY) as guard, pytest.raises(TypeError, match="last middleware already"):
        guarded_agent(model([]), guard=guard, middleware=[GuardMiddleware(guard)])


class Jumping(AgentMiddleware):
    """Goes to the tools with all calls of a message in one task."""

    @hook_config(can_jump_to=["tools"])
    def before_agent(self, state: Any, runtime: Any) -> Any:
        return {"messages": [message([PAY, ECHO])], "jump_to": "tools"}

    @hook_config(can_jump_to=["tools"])
    async def abefore_agent(self, state: Any, runtime: Any) -> Any:
        return self.before_agent(state, runtime)


def test_calls_that_share_a_task_are_not_interrupted(sync: bool) -> None:
    tools = Tools()
    with Guard(POLICY) as guard:
        options: Any = {"middleware": [Jumping()], "checkpointer": InMemorySaver()}
        agent = guarded_agent(model([]), listed(tools), guard=guard, **options)
        with pytest.raises(RuntimeError, match="several calls in one task"):
            invoked(agent, GO, sync=sync)
    assert tools.ran == []


def test_an_agent_that_another_process_continues_repeats_no_call(sync: bool, tmp_path: Path) -> None:
    tools, saver = Tools(), InMemorySaver()
    for value in (GO, Command(resume=GRANT)):
        with Guard(POLICY, log=tmp_path / "log.db", store=f"sqlite:///{tmp_path}/gate.db") as guard:
            agent = guarded_agent(model([[PAY, ECHO]]), listed(tools), guard=guard, checkpointer=saver)
            state = invoked(agent, value, sync=sync)
    assert sorted(answers(state)) == ["a", "paid 40"]
    assert sorted(tools.ran, key=str) == [("echo", {"text": "a"}), ("pay", {"amount": 40})]
    with open_log(tmp_path / "log.db") as log:
        assert [each.status for each in log.records()] == ["ok", "ok"]


def test_a_command_that_a_tool_returns_reaches_the_agent(sync: bool) -> None:
    def echo(text: str) -> Any:
        """Echo."""
        return Command(update={"messages": [ToolMessage(f"sent {text}", tool_call_id="c2")]})

    with Guard(POLICY) as guard:
        agent = guarded_agent(model([[ECHO]]), [StructuredTool.from_function(echo)], guard=guard)
        state = invoked(agent, GO, sync=sync)
    assert answers(state) == ["sent a"]
    assert isinstance(state["messages"][-1], AIMessage)


def test_without_interrupts_the_guards_handler_answers(sync: bool) -> None:
    tools = Tools()
    with Guard(POLICY) as guard:
        agent = guarded_agent(model([[PAY]]), listed(tools), guard=guard, interrupts=False)
        assert "[denied]" in answers(invoked(agent, GO, sync=sync))[0]
    assert tools.ran == []
