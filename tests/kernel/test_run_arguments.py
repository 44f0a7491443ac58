"""Invalid arguments of a run: reported before anything runs, with a suggestion."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    CancelToken,
    FinalAnswer,
    GraphNode,
    MemoryStore,
    Message,
    StoreError,
    ToolSet,
    auto_approve,
    compile_policy,
    durable_approvals,
    inline_executor,
    jsonl_sink,
    multi_sink,
    noop_sink,
    run_agent,
    run_graph,
    stdout_sink,
    tool,
)
from bobcat.stores import SQLiteStore
from stable_ids import stable_id

POLICY = compile_policy("rules: []")


class Agent:
    """Answers at once."""

    async def step(self, conversation: Sequence[Message]) -> FinalAnswer:
        return FinalAnswer("done")


class Careless:
    """Is not async."""

    def step(self, conversation: Sequence[Message]) -> FinalAnswer:
        return FinalAnswer("done")


def run(agent: Any = None, **options: Any) -> Any:
    chosen = {"tools": ToolSet(), "policy": POLICY, **options}
    return asyncio.run(run_agent(Agent() if agent is None else agent, "task", **chosen))


async def function(conversation: Sequence[Message]) -> FinalAnswer:
    return FinalAnswer("done")


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (Agent, "agent must be an object, got the class Agent; write Agent(...)"),
        (function, "agent must have a method `async def step(self, conversation)`, which function lacks"),
        (object(), "agent must have a method `async def step(self, conversation)`, which object lacks"),
    ],
    ids=["class", "function", "object"],
)
def test_an_invalid_agent_is_reported(agent: Any, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        run(agent)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "policy.yaml"}, "policy must be a Policy, got str; make one with Policy.compile or Policy.load"),
        ({"tools": [function]}, "tools must be a ToolSet, got list; build one with ToolSet.from_functions(...)"),
        ({"sinks": stdout_sink()}, "sinks must be a list of sinks, got function; write sinks=[...]"),
        ({"sinks": "audit.jsonl"}, "sinks must be a list of sinks, got str; write sinks=[...]"),
        ({"sinks": None}, "sinks must be a list of sinks, got NoneType; write sinks=[...]"),
        ({"sinks": [stdout_sink]}, "a sink must be the result of stdout_sink(), got the function itself; "
                                   "write stdout_sink(...)"),
        ({"sinks": ["audit.jsonl"]}, "a sink must be a function, or an object that can be called; got str"),
        ({"on_approval": True}, "on_approval must be a function, or an object that can be called; got bool"),
        ({"on_approval": auto_approve}, "on_approval must be the result of auto_approve(), got the function itself; "
                                        "write auto_approve(...)"),
        ({"on_approval": durable_approvals}, "on_approval must be the result of durable_approvals(), got the function "
                                             "itself; write durable_approvals(...)"),
        ({"on_approval": Agent}, "on_approval must be an object, got the class Agent; write Agent(...)"),
        ({"executor": "process"}, "executor must be a function, or an object that can be called; got str"),
        ({"executor": inline_executor}, "executor must be the result of inline_executor(), got the function itself; "
                                        "write inline_executor(...)"),
        ({"budget": 5}, "budget must be a Budget, got int; write Budget(steps=5)"),
        ({"budget": None}, "budget must be a Budget, got NoneType"),
        ({"environment": None}, "environment must be a string, got NoneType"),
        ({"principal": "ann"}, "principal must be a Principal, got str; write Principal(\"user\", 'ann')"),
        ({"cancel": asyncio.Event()}, "cancel must have an attribute `cancelled`, as a CancelToken() has; got Event"),
        ({"store": "runs.db"}, "store must be an object; write SQLiteStore('runs.db'); got str"),
        ({"store": "redis://h"}, "store must be an object; `bobcat.stores.urls.open_store('redis://h')` opens a store "
                                 "from a URL; got str"),
        ({"store": MemoryStore}, "store must be an object; write MemoryStore(...); got the class MemoryStore"),
        ({"store": {}}, "store must be an object with `append` and `load`, such as SQLiteStore('runs.db'); got dict"),
    ],
    ids=stable_id,
)  # fmt: skip
def test_an_argument_of_the_wrong_kind_gets_a_suggestion(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        run(**{"run_id": "r", **options})
    assert str(raised.value) == message


def test_unusual_but_valid_arguments_are_accepted() -> None:
    class Switch:
        """Answers whatever it is asked."""

        def __getattr__(self, name: str) -> Any:
            return "" if name == "reason" else False

    class Slotted:
        __slots__ = ("step",)

    agent = Slotted()
    agent.step = function
    sinks = [noop_sink(), print, multi_sink(noop_sink())]
    for given in ({"cancel": Switch()}, {"cancel": CancelToken()}, {"sinks": iter(sinks[:1])}, {"sinks": tuple(sinks)}):
        assert run(agent, **given).final_answer == "done"


def test_a_step_that_is_not_async_is_reported() -> None:
    assert run(Careless()).error == (
        "agent.step must be async: `async def step(self, conversation)`; "
        "TypeError: object FinalAnswer can't be used in 'await' expression"
    )


def test_a_step_that_awaits_what_it_cannot_is_its_own_mistake() -> None:
    class Awaits:
        async def step(self, conversation: Sequence[Message]) -> Any:
            return await 5  # type: ignore[misc]

    assert run(Awaits()).error == "agent.step raised: TypeError: object int can't be used in 'await' expression"


def test_a_router_that_is_a_path_is_reported() -> None:
    node = GraphNode(Agent(), ToolSet(), POLICY)
    for router in ("flow.yaml", Path("flow.yaml"), None):
        with pytest.raises(TypeError, match=r"router must be a function or a GraphSpec, got .*; load_graph_file"):
            asyncio.run(run_graph({"a": node}, "task", router=router, start="a"))  # type: ignore[arg-type]


def test_a_node_without_an_agent_is_reported() -> None:
    with pytest.raises(TypeError, match="node 'a': agent must be an object, got the class Agent"):
        asyncio.run(run_graph({"a": GraphNode(Agent, ToolSet(), POLICY)}, "t", router=lambda _: None, start="a"))  # type: ignore[arg-type]


def test_a_sink_of_a_path_is_reported_when_it_is_made() -> None:
    with pytest.raises(TypeError, match=r"an open text file, got the path 'audit.jsonl'; open it with open\("):
        jsonl_sink("audit.jsonl")  # type: ignore[arg-type]


def test_a_url_is_no_path_of_a_file() -> None:
    with pytest.raises(StoreError, match="is a URL: give a path") as raised:
        SQLiteStore("sqlite:///runs.db")
    assert raised.value.code == "bad_path"


@tool
async def bare(x: int = 1) -> int:
    """Declared without parentheses."""
    return x


def test_tool_needs_no_parentheses() -> None:
    assert ToolSet.from_functions(bare).get("bare").description == "Declared without parentheses."


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: tool("add"), r"@tool takes keyword arguments only, got 'add'; write @tool\(name='add'\)"),
        (lambda: tool(cost="hgih"), "cost must be one of 'low', 'medium', 'high', got 'hgih'"),
        (lambda: tool(reversible="no"), "reversible must be True or False, got 'no'"),
        (lambda: tool(scope=("fs", 1)), r"scope must be a tuple of strings, got \('fs', 1\)"),
        (lambda: tool(blast_radius_hint="3"), "blast_radius_hint must be an integer or None, got '3'"),
        (lambda: tool(isolation=1), "isolation must be a string or None, got 1"),
        (lambda: ToolSet([bare]), r"ToolSet takes a mapping of names to ToolDefs, got list; .* ToolSet.from_functions"),
        (lambda: ToolSet.from_functions([bare]), r"takes functions, got a list; write from_functions\(\*tools\)"),
    ],
    ids=stable_id,
)
def test_what_no_rule_would_expect_of_a_tool_is_refused(declare: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        declare()


def test_scopes_may_come_one_by_one() -> None:
    @tool(scope=(name for name in ("fs:read", "fs:write")))  # type: ignore[arg-type]
    async def scoped() -> None: ...

    assert ToolSet.from_functions(scoped).get("scoped").metadata.scope == ("fs:read", "fs:write")
