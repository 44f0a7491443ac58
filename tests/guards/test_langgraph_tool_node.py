"""The door of LangGraph: a real graph and tool node; the five verdicts, interruptions, faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from bobcat import Guard, Policy, auto_approve
from bobcat.decision_log import open_log
from bobcat.guards.langgraph import guarded_tool_node

POLICY = Policy.compile(
    """
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: secret, match: {tool: echo, args.text: secret}, decision: deny, reason: not permitted, priority: 9}
  - {id: echo, match: {tool: echo}, decision: allow}
  - {id: pay, match: {tool: pay}, decision: approve_required, approvers: [alice], reason: money}
  - {id: query, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.text, append: "!"}}
  - {id: delete, match: {tool: delete}, decision: dry_run}
  - {id: broken, match: {tool: broken}, decision: allow}
"""
)


class Tools:
    """Tools of LangChain that count what really happened."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []

    def all(self) -> list[Any]:
        ran = self.ran

        @langchain_tool
        def echo(text: str) -> str:
            """Echo."""
            ran.append(("echo", text))
            return text

        @langchain_tool
        def pay(amount: int) -> str:
            """Pay."""
            ran.append(("pay", amount))
            return f"paid {amount}"

        @langchain_tool
        def query(text: str) -> str:
            """Query."""
            ran.append(("query", text))
            return text

        @langchain_tool
        def delete(path: str) -> str:
            """Delete."""
            ran.append(("delete", path))
            return path

        @langchain_tool
        def broken() -> str:
            """Fail."""
            ran.append(("broken", None))
            raise ValueError("broken pipe")

        return [echo, pay, query, delete, broken]


def graph(tools: Tools, guard: Guard, **options: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("tools", guarded_tool_node(tools.all(), guard, handle_tool_errors=True, **options))
    builder.add_edge(START, "tools")
    return builder.compile(checkpointer=InMemorySaver())


def calls(*given: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    listed = [
        {"name": name, "args": args, "id": f"c{at}", "type": "tool_call"} for at, (name, args) in enumerate(given)
    ]
    return {"messages": [AIMessage("", tool_calls=listed)]}


THREAD = {"configurable": {"thread_id": "t"}}


def invoked(compiled: Any, value: Any, *, sync: bool) -> Any:
    return compiled.invoke(value, THREAD) if sync else asyncio.run(compiled.ainvoke(value, THREAD))


def answers(state: Any) -> list[tuple[str, str]]:
    return [(each.status, each.content) for each in state["messages"] if isinstance(each, ToolMessage)]


@pytest.fixture(params=[True, False], ids=["sync", "async"])
def sync(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


CASES = [
    ("echo", {"text": "a"}, "success", "a", [("echo", "a")]),
    ("echo", {"text": "secret"}, "error", "[denied] not permitted", []),
    ("query", {"text": "q"}, "success", "q!", [("query", "q!")]),
    ("delete", {"path": "p"}, "error", "[previewed]", []),
    ("broken", {}, "error", "broken pipe", [("broken", None)]),
    ("nothing", {}, "error", "[unknown]", []),
]


@pytest.mark.parametrize(("name", "args", "status", "text", "ran"), CASES)
def test_each_verdict_runs_only_what_it_permits(
    name: str, args: dict[str, Any], status: str, text: str, ran: list[Any], sync: bool, tmp_path: Path
) -> None:
    tools = Tools()
    with Guard(POLICY, log=tmp_path / "log.db") as guard:
        ((found, content),) = answers(invoked(graph(tools, guard), calls((name, args)), sync=sync))
    assert (found, text in content, tools.ran) == (status, True, ran), content
    if name != "nothing":  # LangGraph's own unknown tool is answered before a submission
        with open_log(tmp_path / "log.db") as log:
            assert len(log.records()) == 1


ANSWERS = [
    ({"granted": True, "approver": "alice"}, "success", "paid 40", [("pay", 40)]),
    ({"granted": True, "approver": "mallory"}, "error", "[denied]", []),
    ({"granted": "yes", "approver": "alice"}, "error", "[denied]", []),
    ({"granted": False, "approver": "alice", "reason": "too much"}, "error", "too much", []),
    (True, "error", "[denied]", []),
    ({"granted": True, "approver": "alice", "args": {"amount": 3}}, "success", "paid 3", [("pay", 3)]),
]


@pytest.mark.parametrize(("answer", "status", "text", "ran"), ANSWERS)
def test_an_approval_interrupts_the_graph_and_its_answer_decides(
    answer: Any, status: str, text: str, ran: list[Any], sync: bool
) -> None:
    tools = Tools()
    with Guard(POLICY) as guard:
        compiled = graph(tools, guard)
        state = invoked(compiled, calls(("pay", {"amount": 40})), sync=sync)
        (asked,) = state["__interrupt__"]
        assert asked.value == {"tool": "pay", "args": {"amount": 40}, "reason": "money", "matched_rules": ["pay"]}
        assert tools.ran == []
        ((found, content),) = answers(invoked(compiled, Command(resume=answer), sync=sync))
    assert (found, text in content, tools.ran) == (status, True, ran), content


@pytest.mark.parametrize("interrupted_first", [True, False])
def test_a_call_beside_an_interrupted_one_runs_once(interrupted_first: bool, sync: bool) -> None:
    tools = Tools()
    both = [("pay", {"amount": 4}), ("echo", {"text": "a"})]
    value, answer = (
        calls(*both[:: 1 if interrupted_first else -1]),
        Command(resume={"granted": True, "approver": "alice"}),
    )

    async def main() -> Any:
        async with Guard(POLICY) as guard:
            compiled = graph(tools, guard)
            await compiled.ainvoke(value, THREAD)
            return await compiled.ainvoke(answer, THREAD)

    if sync:
        with Guard(POLICY) as guard:
            compiled = graph(tools, guard)
            compiled.invoke(value, THREAD)
            state = compiled.invoke(answer, THREAD)
    else:
        state = asyncio.run(main())
    assert sorted(answers(state)) == [("success", "a"), ("success", "paid 4")]
    assert sorted(tools.ran, key=str) == [("echo", "a"), ("pay", 4)]


def test_without_interrupts_the_guards_handler_answers(sync: bool) -> None:
    tools = Tools()
    with Guard(POLICY, on_approval=auto_approve("alice")) as guard:
        state = invoked(graph(tools, guard, interrupts=False), calls(("pay", {"amount": 4})), sync=sync)
    assert answers(state) == [("success", "paid 4")]


def test_a_fault_of_the_guard_runs_no_tool(sync: bool, tmp_path: Path) -> None:
    tools, log = Tools(), open_log(tmp_path / "log.db")
    log.close()
    guard = Guard(POLICY, log=log)
    ((found, content),) = answers(invoked(graph(tools, guard), calls(("echo", {"text": "a"})), sync=sync))
    assert (found, "[failed]" in content, tools.ran) == ("error", True, [])
    guard.close()
    ((found, content),) = answers(invoked(graph(tools, guard), calls(("echo", {"text": "a"})), sync=sync))
    assert (found, "closed" in content, tools.ran) == ("error", True, [])


def test_another_wrapper_is_refused() -> None:
    wrapper: Callable[..., Any] = print
    with Guard(POLICY) as guard, pytest.raises(TypeError, match="without it"):
        guarded_tool_node([], guard, wrap_tool_call=wrapper)


def test_answers_reach_the_calls_that_they_answer(sync: bool) -> None:
    async def main() -> Any:
        async with Guard(POLICY) as guard:
            return await answered(graph(tools, guard))

    async def answered(compiled: Any) -> Any:
        state = await ainvoked(compiled, calls(*(("pay", {"amount": amount}) for amount in range(1, 7))))
        while asked := state.get("__interrupt__"):
            answer = {"granted": asked[0].value["args"]["amount"] % 2 == 0, "approver": "alice"}
            state = await ainvoked(compiled, Command(resume=answer))
        return state

    async def ainvoked(compiled: Any, value: Any) -> Any:
        if sync:
            return await asyncio.to_thread(compiled.invoke, value, THREAD)
        return await compiled.ainvoke(value, THREAD)

    for _ in range(5):
        tools = Tools()
        asyncio.run(main())
        assert sorted(tools.ran) == [("pay", 2), ("pay", 4), ("pay", 6)]
