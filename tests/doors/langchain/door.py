"""LangChain: an agent of `create_agent` with the middleware, a fake model and a checkpointer."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from bobcat.guards.langchain import guarded_agent
from doors.adapter import Observed, Setup
from doors.langgraph.door import THREAD, as_tool, finish, message, resumption

PREFIX = ""
INTERRUPTS = True
MODES = [("async", "async"), ("async", "plain"), ("sync", "plain")]


class FakeModel(BaseChatModel):
    """Proposes the calls of its turns, and then says `done`."""

    turns: Any

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        turn = sum(isinstance(each, AIMessage) for each in messages)
        answer = message(list(self.turns[turn])) if turn < len(self.turns) else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=answer)])


def model(turns: Any) -> FakeModel:
    """A model that proposes the calls of its turns, and then says `done`."""
    return FakeModel(turns=turns)


def _agent(setup: Setup) -> Any:
    tools = [as_tool(each) for each in setup.functions]
    return guarded_agent(model(setup.turns), tools, guard=setup.guard, checkpointer=InMemorySaver())


async def run(setup: Setup) -> Observed:
    """Run the agent, answering interruptions."""
    observed, value = Observed(), {"messages": [("user", "go")]}
    try:
        agent = _agent(setup)
        state = await agent.ainvoke(value, THREAD)
        while state.get("__interrupt__"):
            command = resumption(setup, state, observed)
            if command is None:
                return observed
            state = await agent.ainvoke(command, THREAD)
    except Exception as error:
        observed.error = error
        return observed
    return finish(observed, state)


def run_sync(setup: Setup) -> Observed:
    """Run the agent synchronously."""
    observed, value = Observed(), {"messages": [("user", "go")]}
    try:
        agent = _agent(setup)
        state = agent.invoke(value, THREAD)
        while state.get("__interrupt__"):
            command = resumption(setup, state, observed)
            if command is None:
                return observed
            state = agent.invoke(command, THREAD)
    except Exception as error:
        observed.error = error
        return observed
    return finish(observed, state)
