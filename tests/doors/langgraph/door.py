"""LangGraph: a graph of a fake model and the guarded tool node, with a checkpointer."""

from __future__ import annotations

import inspect
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from bobcat.guards.langgraph import guarded_tool_node
from doors.adapter import Observed, Proposal, Setup

PREFIX = ""
INTERRUPTS = True
MODES = [("async", "async"), ("async", "plain"), ("sync", "plain")]
THREAD = {"configurable": {"thread_id": "t"}}


def as_tool(function: Any) -> StructuredTool:
    """A tool of LangChain."""
    if inspect.iscoroutinefunction(function):
        return StructuredTool.from_function(coroutine=function)
    return StructuredTool.from_function(function)


def message(turn: list[Proposal]) -> AIMessage:
    """The message of a model that proposes the calls of a turn."""
    calls = [{"name": each.tool, "args": dict(each.args), "id": each.id, "type": "tool_call"} for each in turn]
    return AIMessage("", tool_calls=calls)


def _graph(setup: Setup) -> Any:
    def model(state: MessagesState) -> dict[str, Any]:
        turn = sum(isinstance(each, AIMessage) for each in state["messages"])
        answer = message(list(setup.turns[turn])) if turn < len(setup.turns) else AIMessage("done")
        return {"messages": [answer]}

    def after_model(state: MessagesState) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    tools = [as_tool(each) for each in setup.functions]
    builder.add_node("tools", guarded_tool_node(tools, setup.guard, handle_tool_errors=True))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", after_model)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


def resumption(setup: Setup, state: Any, observed: Observed) -> Command | None:
    """Note the questions of an interruption; return the command that answers them, None where an answer is missing."""
    interruptions = state.get("__interrupt__", ())
    observed.questions += [each.value for each in interruptions]
    if not all(each.value["tool"] in setup.answers for each in interruptions):
        observed.pending = True
        return None
    return Command(resume={each.id: setup.answers[each.value["tool"]] for each in interruptions})


def finish(observed: Observed, state: Any) -> Observed:
    """Note the answers to the model."""
    for each in state["messages"]:
        if isinstance(each, ToolMessage):
            observed.replies.append((each.tool_call_id, str(each.content)))
    observed.final = state["messages"][-1].content
    return observed


async def run(setup: Setup) -> Observed:
    """Run the graph, answering interruptions."""
    graph, observed, value = _graph(setup), Observed(), {"messages": [("user", "go")]}
    try:
        state = await graph.ainvoke(value, THREAD)
        while state.get("__interrupt__"):
            command = resumption(setup, state, observed)
            if command is None:
                return observed
            state = await graph.ainvoke(command, THREAD)
    except Exception as error:
        observed.error = error
        return observed
    return finish(observed, state)


def run_sync(setup: Setup) -> Observed:
    """Run the graph synchronously."""
    graph, observed, value = _graph(setup), Observed(), {"messages": [("user", "go")]}
    try:
        state = graph.invoke(value, THREAD)
        while state.get("__interrupt__"):
            command = resumption(setup, state, observed)
            if command is None:
                return observed
            state = graph.invoke(command, THREAD)
    except Exception as error:
        observed.error = error
        return observed
    return finish(observed, state)
