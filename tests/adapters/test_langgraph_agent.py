"""`LangGraphAgent` with real compiled graphs, and a scripted chat model in place of a paid one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from adapters.governed import governed
from bobcat import Usage
from bobcat.adapters.langgraph_adapter import LangGraphAgent

Say = Callable[[dict[str, Any]], Any]


def _call(name: str, call_id: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


class Model:
    """Says its replies in order, and keeps the messages it was shown."""

    def __init__(self, *replies: AIMessage) -> None:
        self.replies = list(replies)
        self.shown: list[list[AnyMessage]] = []

    def __call__(self, state: dict[str, Any]) -> dict[str, Any]:
        self.shown.append(list(state["messages"]))
        return {"messages": [self.replies.pop(0)]}


def _graph(say: Say, state: Any = MessagesState) -> Any:
    builder = StateGraph(state)
    builder.add_node("model", say)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile()


# lynx-agent defect 78
def test_a_graph_survives_the_results_of_its_tools() -> None:
    model = Model(
        AIMessage("Let me read.", tool_calls=[_call("read", "c1", path="a.txt")]),
        AIMessage("", tool_calls=[_call("notes.write", "c2", path="/root")]),
        AIMessage("All tidy."),
    )
    run = governed(LangGraphAgent(compiled_graph=_graph(model)))
    assert run.result.error is None
    assert run.result.final_answer == "All tidy."
    assert run.ran == [("read", "a.txt")]
    asked, called, answered, called_again, refused = model.shown[2]
    assert isinstance(asked, HumanMessage)
    assert isinstance(called, AIMessage)
    assert called.content == "Let me read."
    assert called.tool_calls == [_call("read", "c1", path="a.txt")]
    assert isinstance(answered, ToolMessage)
    assert (answered.tool_call_id, answered.status, answered.content) == ("c1", "success", "[ok] 10 lines of a.txt")
    assert isinstance(called_again, AIMessage)
    assert isinstance(refused, ToolMessage)
    assert (refused.tool_call_id, refused.status, refused.content) == ("c2", "error", "[denied] stay here")


# lynx-agent defect 82
def test_every_parallel_call_is_evaluated_and_answered() -> None:
    calls = [_call("read", "c1", path="a"), _call("notes.write", "c2", path="/"), _call("notes.write", "c3", path="b")]
    model = Model(AIMessage("", tool_calls=calls), AIMessage("done"))
    run = governed(LangGraphAgent(_graph(model)))
    assert run.ran == [("read", "a"), ("write", "b")]
    _, called, *answers = model.shown[1]
    assert isinstance(called, AIMessage)
    assert called.tool_calls == calls
    assert [answer.tool_call_id for answer in answers if isinstance(answer, ToolMessage)] == ["c1", "c2", "c3"]


def test_the_graphs_own_tool_node_never_runs() -> None:
    leaked: list[str] = []

    def read(path: str) -> str:
        """Read behind the policy's back."""
        leaked.append(path)
        return "leaked"

    model = Model(AIMessage("", tool_calls=[_call("read", "c1", path="a")]), AIMessage("done"))
    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([read]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    run = governed(LangGraphAgent(builder.compile()))
    assert run.result.final_answer == "done"
    assert leaked == []
    assert run.ran == [("read", "a")]


def test_a_node_that_hands_the_whole_conversation_on_makes_no_call_twice() -> None:
    class State(TypedDict):
        messages: list[AnyMessage]

    model = Model(AIMessage("", tool_calls=[_call("read", "c1", path="a")]), AIMessage("done"))
    graph = _graph(lambda state: {"messages": state["messages"] + model(state)["messages"]}, State)
    run = governed(LangGraphAgent(graph))
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a")]


def test_state_may_grow_by_any_reducer_and_messages_may_be_plain() -> None:
    class State(TypedDict):
        messages: Annotated[list[Any], operator.add]

    plain: list[Any] = [
        {"role": "assistant", "content": "", "tool_calls": [_call("read", "c1", path="a")]},
        ("assistant", "done"),
    ]
    run = governed(LangGraphAgent(_graph(lambda _: {"messages": [plain.pop(0)]}, State)))
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a")]


def test_calls_that_langchain_could_not_parse_are_recorded_failures() -> None:
    broken = {"name": "read", "args": '{"path": ', "id": "c1", "error": "bad JSON", "type": "invalid_tool_call"}
    odd = {"name": "read", "args": "{}", "id": "c2", "error": None, "type": "invalid_tool_call"}
    model = Model(AIMessage("", invalid_tool_calls=[broken, odd]), AIMessage("sorry"))
    run = governed(LangGraphAgent(_graph(model)))
    assert run.result.final_answer == "sorry"
    assert run.ran == []
    first, second = run.bodies("action.failed")
    assert first["reason"].startswith("arguments are not JSON: ")
    assert second["reason"] == "not a tool call"
    assert run.bodies("step.proposed")[0]["args"] == {"_raw_arguments": '{"path": '}


def test_usage_is_summed_over_the_nodes_of_a_step() -> None:
    def metered(text: str, **more: Any) -> AIMessage:
        counts = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, "input_token_details": {"cache_read": 4}}
        return AIMessage(text, usage_metadata=counts, response_metadata={"model_name": "m"}, **more)

    builder = StateGraph(MessagesState)
    builder.add_node("plan", lambda _: {"messages": metered("a plan")})
    builder.add_node("act", Model(metered("", tool_calls=[_call("read", "c1", path="a")]), metered("done")))
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "act")
    run = governed(LangGraphAgent(builder.compile()))
    assert run.result.final_answer == "done"
    assert run.bodies("step.usage")[0]["model"] == "m"
    assert run.result.usage == Usage(24, 8, 16, 0)


def test_the_answer_is_the_last_thing_that_the_graph_said() -> None:
    blocks = AIMessage([{"type": "text", "text": "in"}, {"type": "reasoning", "reasoning": "..."}, "blocks"])
    assert governed(LangGraphAgent(_graph(Model(blocks)))).result.final_answer == "in\nblocks"
    quiet = _graph(lambda _: {})
    assert governed(LangGraphAgent(quiet)).result.final_answer == "(no response)"
    directed = _graph(lambda _: Command(update={"messages": [AIMessage("directed")]}))
    assert governed(LangGraphAgent(directed)).result.final_answer == "directed"


def test_what_a_graph_raises_fails_the_run() -> None:
    def broken(_: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("no such model")

    run = governed(LangGraphAgent(_graph(broken)))
    assert run.result.error == "agent.step raised: RuntimeError: no such model"


def test_an_interrupt_is_no_answer() -> None:
    run = governed(LangGraphAgent(_graph(lambda _: {"messages": interrupt("may I?")})))
    assert run.result.error is not None
    assert "IncompleteReply: the graph stopped at an interrupt" in run.result.error


def test_a_checkpointer_is_refused() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("model", Model())
    builder.add_edge(START, "model")
    with pytest.raises(ValueError, match="compile the graph without a checkpointer"):
        LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))


def test_the_config_reaches_the_graph() -> None:
    def say(_: dict[str, Any], config: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(config["configurable"]["tone"])]}

    say.__annotations__["config"] = __import__("langchain_core.runnables", fromlist=["x"]).RunnableConfig
    agent = LangGraphAgent(_graph(say), config={"configurable": {"tone": "calm"}})
    assert governed(agent).result.final_answer == "calm"


def test_system_messages_reach_the_graph() -> None:
    import asyncio

    from bobcat import Message

    model = Model(AIMessage("ok"))
    conversation = (Message("system", "be careful"), Message("user", "go"))
    asyncio.run(LangGraphAgent(_graph(model)).step(conversation))
    assert [type(message) for message in model.shown[0]] == [SystemMessage, HumanMessage]


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "langgraph", None)
    with pytest.raises(ImportError, match=r"LangGraphAgent requires the 'langgraph' package.*'bobcat\[langgraph\]'"):
        LangGraphAgent(object())
