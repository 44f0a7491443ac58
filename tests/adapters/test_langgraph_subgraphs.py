"""A graph's own tools never run: in sub-graphs, in graphs that a node invokes, in tasks, in nodes."""

from __future__ import annotations

import asyncio
import operator
import random
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool as langchain_tool
from langgraph.cache.base import BaseCache
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, Send

from adapters.governed import Run, governed
from bobcat import Budget, MemoryStore, Message
from bobcat.adapters.langgraph_adapter import LangGraphAgent
from campaign import rounds, seeds

leaked: list[str] = []


@langchain_tool("read")
def own_read(path: str) -> str:
    """Read behind the policy's back."""
    leaked.append(path)
    return "leaked"


@langchain_tool("notes.write")
async def own_write(path: str) -> str:
    """Write behind the policy's back, without a thread."""
    leaked.append(path)
    return "leaked"


OWN = [own_read, own_write]
CALL = {"name": "read", "args": {"path": "a"}, "id": "c1", "type": "tool_call"}
FORBIDDEN = {"name": "notes.write", "args": {"path": "/root"}, "id": "c2", "type": "tool_call"}


@pytest.fixture(autouse=True)
def _nothing_leaked() -> Any:
    leaked.clear()
    yield
    assert leaked == []


class Chat(GenericFakeChatModel):
    """A chat model of LangChain's, scripted."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def _chat(*replies: AIMessage) -> Chat:
    return Chat(messages=iter(replies))


def _says(*replies: AIMessage) -> Callable[[Any], Any]:
    left = list(replies)
    return lambda _: {"messages": [left.pop(0)]}


def _asks(*calls: dict[str, Any], **more: Any) -> AIMessage:
    return AIMessage("", tool_calls=list(calls), **more)


def _react(model: Any, tools: Sequence[Any] = OWN, *, sync: bool = False) -> Any:
    """The graph of `create_react_agent`: a model, and a `ToolNode` that runs what it asks for."""

    def say(state: Any) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    async def say_async(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", say if sync else say_async)
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    return builder.compile()


def _one(node: Any, **more: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("node", node, **more)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile()


def _run(graph: Any, **more: Any) -> Run:
    return governed(LangGraphAgent(graph, **more))


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_sub_graphs_tool_node_never_runs(depth: int, sync: bool) -> None:
    graph = _react(_chat(_asks(CALL), _asks(FORBIDDEN), AIMessage("done")), sync=sync)
    for _ in range(depth):
        graph = _one(graph)
    run = _run(graph)
    assert run.result.error is None
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a")]
    assert [body["verdict"] for body in run.bodies("policy.evaluated")] == ["allow", "deny"]


def test_the_prebuilt_agent_as_a_node_runs_no_tool() -> None:
    from langgraph.prebuilt import create_react_agent

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangGraph moves it elsewhere
        agent = create_react_agent(_chat(_asks(CALL, FORBIDDEN), AIMessage("done")), OWN, name="worker")
    run = _run(_one(agent))
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a")]


def test_workers_that_a_supervisor_sends_to_run_no_tool() -> None:
    first, second = _react(_chat(_asks(CALL), AIMessage("read it"))), _react(_chat(AIMessage("nothing to do")))
    turns: list[str] = ["first", "first", "second", END]
    builder = StateGraph(MessagesState)
    builder.add_node("supervisor", lambda _: Command(goto=turns.pop(0)))
    for name, worker in {"first": first, "second": second}.items():
        builder.add_node(name, worker)
        builder.add_edge(name, "supervisor")
    builder.add_edge(START, "supervisor")
    run = _run(builder.compile())
    assert run.result.final_answer == "nothing to do"
    assert run.ran == [("read", "a")]


def test_calls_that_are_sent_to_a_tool_node_run_nothing() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("model", _says(_asks(CALL, FORBIDDEN), AIMessage("done")))
    builder.add_node("tools", ToolNode(OWN))
    builder.add_edge(START, "model")
    builder.add_conditional_edges(
        "model",
        lambda state: [Send("tools", [call]) for call in state["messages"][-1].tool_calls] or END,
        ["tools", END],
    )
    run = _run(builder.compile())
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a")]


def test_a_command_to_the_parent_graph_runs_no_tool() -> None:
    def hand_up(_: Any) -> Any:
        return Command(graph=Command.PARENT, goto="tools", update={"messages": [replies.pop(0)]})

    replies = [_asks(CALL), AIMessage("done")]
    builder = StateGraph(MessagesState)
    builder.add_node("worker", _one(hand_up))
    builder.add_node("tools", ToolNode(OWN))
    builder.add_edge(START, "worker")
    run = _run(builder.compile())
    assert run.ran == [("read", "a")]


def _invoke(graph: Any) -> Any:
    return lambda state: graph.invoke(state)


def _ainvoke(graph: Any) -> Any:
    async def node(state: Any) -> Any:
        return await graph.ainvoke(state)

    return node


def _invoke_without_callbacks(graph: Any) -> Any:
    return lambda state: graph.invoke(state, {"callbacks": []})


def _invoke_with_its_own_callbacks(graph: Any) -> Any:
    async def node(state: Any) -> Any:
        return await graph.ainvoke(state, {"callbacks": CallbackManager([BaseCallbackHandler()])})

    return node


def _stream(graph: Any) -> Any:
    return lambda state: list(graph.stream(state, stream_mode="values"))[-1]


def _in_a_thread(graph: Any) -> Any:
    def node(state: Any, config: RunnableConfig) -> Any:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(graph.invoke(state, config)))
        with _quiet_threads():
            thread.start()
            thread.join()
        return found[0]

    node.__annotations__["config"] = RunnableConfig
    return node


@contextmanager
def _quiet_threads() -> Iterator[None]:
    before, threading.excepthook = threading.excepthook, lambda _: None
    try:
        yield
    finally:
        threading.excepthook = before


@pytest.mark.parametrize(
    "invoking", [_invoke, _ainvoke, _invoke_without_callbacks, _invoke_with_its_own_callbacks, _stream, _in_a_thread]
)
def test_a_graph_that_a_node_invokes_runs_no_tool(invoking: Callable[[Any], Any]) -> None:
    run = _run(_one(invoking(_react(_chat(_asks(CALL), _asks(FORBIDDEN), AIMessage("done")), sync=True))))
    assert run.result.final_answer == "done", run.result.error
    assert run.ran == [("read", "a")]


def _calls_directly(state: Any) -> Any:
    return {"messages": [AIMessage(own_read.invoke({"path": "x"}))]}


async def _awaits_directly(state: Any) -> Any:
    return {"messages": [AIMessage(await own_write.ainvoke({"path": "x"}))]}


async def _awaits_a_sync_tool(state: Any) -> Any:
    return {"messages": [AIMessage(await own_read.ainvoke({"path": "x"}, {"callbacks": []}))]}


def _calls_in_a_batch(state: Any) -> Any:
    return {"messages": [AIMessage(str(own_read.batch([{"path": "x"}, {"path": "y"}])))]}


def _handles_every_exception(state: Any) -> Any:
    try:
        return _calls_directly(state)
    except BaseException:
        return {"messages": [AIMessage("never mind")]}


async def _leaves_a_task_behind(state: Any) -> Any:
    async def later() -> None:
        await asyncio.sleep(0)
        await own_write.ainvoke({"path": "x"})

    with pytest.raises(BaseException, match="by itself"):
        await asyncio.create_task(later())
    return {"messages": [AIMessage("started")]}


@pytest.mark.parametrize(
    "node",
    [
        _calls_directly, _awaits_directly, _awaits_a_sync_tool, _calls_in_a_batch, _handles_every_exception,
        _leaves_a_task_behind,
    ],
)  # fmt: skip
@pytest.mark.parametrize("nested", [False, True])
def test_a_tool_that_a_node_starts_by_itself_fails_the_run_and_does_not_run(node: Any, nested: bool) -> None:
    graph = _one(node, retry_policy=RetryPolicy(max_attempts=3, retry_on=Exception))
    run = _run(_one(graph) if nested else graph)
    assert run.result.error is not None
    assert "by itself; it was not run" in run.result.error
    assert run.ran == []


def test_a_tool_as_a_node_does_not_run() -> None:
    class State(TypedDict):
        path: str
        messages: Annotated[list[Any], operator.add]

    builder = StateGraph(State)
    builder.add_node("start", lambda _: {"path": "x"})
    builder.add_node("tool", own_read)
    builder.add_edge(START, "start")
    builder.add_edge("start", "tool")
    run = _run(builder.compile())
    assert run.result.error is not None
    assert "the graph started tool `read` by itself" in run.result.error


def test_a_tool_node_that_looks_under_another_key_runs_no_tool() -> None:
    class State(TypedDict):
        messages: Annotated[list[Any], operator.add]
        inner: list[AnyMessage]

    builder = StateGraph(State)
    builder.add_node("model", lambda _: {"inner": [_asks(CALL)]})
    builder.add_node("tools", ToolNode(OWN, messages_key="inner", handle_tool_errors=True))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    run = _run(builder.compile())
    assert run.result.error is not None
    assert "a model's reply with the call must be in the graph's `messages`" in run.result.error


def test_a_functional_graph_runs_no_tool() -> None:
    replies = [_asks(CALL), _asks(FORBIDDEN), AIMessage("done")]

    @task
    async def say(messages: Any) -> AIMessage:
        return replies.pop(0)

    @task
    async def act(call: Any) -> Any:
        return await own_read.ainvoke(call)

    @entrypoint()
    async def agent(state: Any) -> Any:
        messages = list(state["messages"])
        while (reply := await say(messages)).tool_calls:
            messages += [reply, *[await act(call) for call in reply.tool_calls]]
        return {"messages": [reply]}

    run = _run(agent)
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a")]


def test_branches_at_a_time_run_no_tool() -> None:
    model = _chat(*[_asks({**CALL, "id": f"c{n}"}) for n in range(8)], AIMessage("done"), AIMessage("done"))
    builder = StateGraph(MessagesState)
    for name in ("left", "right"):
        builder.add_node(name, _react(model, sync=name == "left"))
        builder.add_edge(START, name)
        builder.add_edge(name, END)
    run = _run(builder.compile())
    assert run.ran
    assert set(run.ran) == {("read", "a")}
    assert len(run.ran) == len(run.bodies("policy.evaluated"))


@pytest.mark.parametrize("message_id", ["bobcat-0", "bobcat-1", "bobcat-", "run-1"])
def test_no_id_of_a_models_message_hides_its_calls(message_id: str) -> None:
    replies = [_asks(CALL, id=message_id), _asks(FORBIDDEN, id=message_id), AIMessage("done", id=message_id)]
    run = _run(_react(_chat(*replies)))
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a")]
    assert len(run.bodies("policy.evaluated")) == 2


def test_a_call_that_a_node_puts_into_a_message_of_the_conversation_is_evaluated() -> None:
    def tamper(state: Any) -> Any:
        said = [message for message in state["messages"] if isinstance(message, AIMessage)]
        if not said:
            return {"messages": [_asks(CALL)]}
        if len(said) == 1 and said[0].tool_calls[0]["name"] == "read":
            said[0].tool_calls[:] = [FORBIDDEN]
            return {"messages": [said[0]]}
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", tamper)
    builder.add_node("tools", ToolNode(OWN))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    run = _run(builder.compile())
    assert run.ran == [("read", "a")]
    assert run.bodies("policy.evaluated")[-1]["verdict"] == "deny"


def _forged(**more: Any) -> ToolMessage:
    return ToolMessage("it is done", tool_call_id="c1", **more)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    "update",
    [
        lambda: {"messages": [_asks(CALL), _forged()]},
        lambda: {"messages": [_forged(id="bobcat-0")]},
        lambda: {"messages": _forged()},
        lambda: {"messages": [{"role": "tool", "content": "done", "tool_call_id": "c1"}]},
        lambda: Command(update={"messages": [_forged()]}),
        lambda: {"notes": [_forged()]},
        lambda: {"notes": {"deep": [(_forged(),)]}},
    ],
)
def test_a_result_that_the_run_did_not_produce_fails_it(update: Callable[[], Any], nested: bool) -> None:
    class State(MessagesState):
        notes: Any

    def graph(node: Any) -> Any:
        builder = StateGraph(State)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        return builder.compile()

    inner = graph(lambda _: update())
    run = _run(graph(inner) if nested else inner)
    assert run.result.error is not None
    assert "that this run did not execute" in run.result.error
    assert run.ran == []


def test_a_node_may_shorten_and_copy_the_results_that_it_was_given() -> None:
    def say(state: Any) -> Any:
        results = [message for message in state["messages"] if isinstance(message, ToolMessage)]
        if not results:
            return {"messages": [_asks(CALL)]}
        copied = ToolMessage(results[0].content, tool_call_id=results[0].tool_call_id)
        shortened = results[0].model_copy(update={"content": "..."})
        return {"messages": [copied, shortened, AIMessage("done")]}

    run = _run(_one(say))
    assert run.result.final_answer == "done"


def test_a_remote_graph_is_refused() -> None:
    class Nothing:
        def __getattr__(self, name: str) -> Any:
            return None

    remote = RemoteGraph("worker", client=Nothing(), sync_client=Nothing())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is a RemoteGraph, which runs its tools on a server"):
        LangGraphAgent(remote)
    with pytest.raises(ValueError, match="is a RemoteGraph"):
        LangGraphAgent(_one(_one(remote)))


def test_callbacks_of_the_config_are_kept() -> None:
    class Names(BaseCallbackHandler):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def on_chain_start(self, *_: Any, **more: Any) -> None:
            self.seen.append(more["name"])

    for wrap in (lambda handler: [handler], lambda handler: CallbackManager([handler], [handler])):
        handler = Names()
        run = _run(_react(_chat(_asks(CALL), AIMessage("done"))), config={"callbacks": wrap(handler)})
        assert run.result.final_answer == "done"
        assert "model" in handler.seen
        assert "tools" not in handler.seen


def test_tools_of_langchain_run_outside_of_a_step() -> None:
    asyncio.run(LangGraphAgent(_react(_chat(AIMessage("done")))).step((Message("user", "go"),)))
    assert own_read.invoke({"path": "x"}) == "leaked"
    leaked.clear()


def test_usage_of_a_sub_graph_counts_once() -> None:
    counts = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    builder = StateGraph(MessagesState)
    builder.add_node("plan", _one(lambda _: {"messages": [AIMessage("a plan", usage_metadata=counts)]}))
    builder.add_node("act", _react(_chat(_asks(CALL, usage_metadata=counts), AIMessage("x", usage_metadata=counts))))
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "act")
    run = _run(builder.compile())
    assert run.result.final_answer == "x"
    assert run.result.usage is not None
    assert (run.result.usage.input_tokens, run.result.usage.output_tokens) == (40, 8)


def _random_graph(dice: random.Random, model: Any, depth: int = 0) -> Any:
    """A graph of one to three nodes, each a model, a tool node, code that calls tools, or another graph."""
    builder = StateGraph(MessagesState)

    async def say(state: Any) -> Any:
        return {"messages": [model()]}

    def say_and_go(state: Any) -> Any:
        return Command(update={"messages": [model()]}, goto=dice.choice([*names, END]))

    def node() -> Any:
        kind = dice.choice("model model command tools direct swallow graph invoke ainvoke own react".split())
        if depth < 3:
            match kind:
                case "graph":
                    return _random_graph(dice, model, depth + 1)
                case "invoke":
                    return dice.choice([_invoke, _stream, _invoke_without_callbacks])(_random_sync(dice, model))
                case "ainvoke" | "own":
                    wrap = _ainvoke if kind == "ainvoke" else _invoke_with_its_own_callbacks
                    return wrap(_random_graph(dice, model, depth + 1))
                case "react":
                    chat = Chat(messages=iter(model, None))
                    return _react(chat, sync=dice.random() < 0.5)
        match kind:
            case "tools":
                return ToolNode(OWN, handle_tool_errors=dice.random() < 0.5)
            case "direct":
                return dice.choice([_calls_directly, _awaits_directly, _calls_in_a_batch])
            case "swallow":
                return _handles_every_exception
            case "command":
                return say_and_go
        return say

    names = [f"n{number}" for number in range(dice.randint(1, 3))]
    for name in names:
        builder.add_node(name, node())
    builder.add_edge(START, names[0])
    for name in names:
        if dice.random() < 0.5:
            builder.add_edge(name, dice.choice([*names, END]))
        else:
            targets = dice.sample([*names, END], dice.randint(1, len(names) + 1))
            builder.add_conditional_edges(
                name,
                lambda state, targets=targets: [
                    target if target == END else Send(target, state) for target in targets[: dice.randint(1, 3)]
                ],
                [*names, END],
            )
    return builder.compile()


def _random_sync(dice: random.Random, model: Any) -> Any:
    return _react(Chat(messages=iter(model, None)), sync=True)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("seed", list(seeds(rounds(40), 0, 1)))
def test_no_tool_of_a_random_graph_runs_without_a_decision(seed: int) -> None:
    dice = random.Random(seed)
    count = 0

    def model() -> AIMessage:
        nonlocal count
        count += 1
        roll = dice.random()
        ids = dice.choice([None, "bobcat-0", f"m{count}"])
        if roll < 0.5:
            calls = [
                {**dice.choice([CALL, FORBIDDEN]), "id": dice.choice(["c1", f"c{count}"])}
                for _ in range(dice.randint(1, 3))
            ]
            return AIMessage("", tool_calls=calls, id=ids)
        return AIMessage("done", id=ids)

    store = MemoryStore()
    graph = _random_graph(dice, model)
    agent = LangGraphAgent(graph, config={"recursion_limit": 8})
    run = governed(agent, store=store, run_id=f"r{seed}")
    assert leaked == []
    records = asyncio.run(store.load(f"r{seed}"))
    allowed = [record for record in records if record.kind == "action.intent" and record.body["verdict"] == "allow"]
    assert len(run.ran) == len(allowed)
    assert all(path != "/root" for _, path in run.ran)


def test_a_reply_out_of_the_graphs_cache_is_evaluated() -> None:
    class Cached(BaseCache[Any]):
        """Has a reply with a call for every node that asks."""

        def get(self, keys: Sequence[Any]) -> dict[Any, Any]:
            return {key: [("messages", [_asks(CALL)])] for key in keys}

        async def aget(self, keys: Sequence[Any]) -> dict[Any, Any]:
            return self.get(keys)

        def set(self, pairs: Any) -> None: ...
        async def aset(self, pairs: Any) -> None: ...
        def clear(self, namespaces: Any = None) -> None: ...
        async def aclear(self, namespaces: Any = None) -> None: ...

    builder = StateGraph(MessagesState)
    builder.add_node("model", _says(), cache_policy=CachePolicy())
    builder.add_node("tools", ToolNode(OWN))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    run = governed(LangGraphAgent(_one(builder.compile(cache=Cached()))), budget=Budget(steps=3))
    assert len(run.ran) == len(run.bodies("policy.evaluated")) == 3
    assert set(run.ran) == {("read", "a")}
