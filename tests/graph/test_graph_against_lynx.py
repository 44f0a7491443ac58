"""Handoff graphs beside lynx-agent 2.5: the same tables, agents and outcomes, by both."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import lynx
import pytest
from lynx.graph import GraphCompileError as LynxError
from lynx.graph import compile_graph as lynx_compile

import bobcat
from bobcat import GraphCompileError, MemoryStore, compile_graph
from graph_nodes import Agent

ROUNDS = 60
NAMES = ("a", "b", "c")
POLICY = "{defaults: {on_no_match: deny}, rules: [{id: w, match: {tool: work}, decision: allow}]}"
ANSWERS = ("approved", "needs fix", "Rejected\n", "")
WHENS = (
    "{status: failed}", "{status: succeeded}", "{answer_matches: '(?i)reject'}", "{answer_matches: d$}",
    "{error_matches: budget}", "{denials_gt: 0}", "{steps_gt: 1}", "{status: succeeded, steps_gt: 0}",
)  # fmt: skip


class LynxStore:
    """`MemoryStore`, with the exception that lynx knows."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, int], Any] = {}

    async def append(self, record: Any) -> None:
        if (record.run_id, record.seq) in self.records:
            raise lynx.DuplicateRecord
        self.records[record.run_id, record.seq] = record

    async def load(self, run_id: str) -> list[Any]:
        return [record for (run, _), record in sorted(self.records.items()) if run == run_id]


def table(draw: random.Random) -> str:
    """Some edges of each node; the one without a condition last."""
    edges: list[str] = []
    for name in NAMES:
        edges.extend(
            f"  - {{from: {name}, when: {draw.choice(WHENS)}, to: {draw.choice((*NAMES, 'done'))}}}"
            for _ in range(draw.randrange(3))
        )
        if draw.random() < 0.7:
            edges.append(f"  - {{from: {name}, to: {draw.choice((*NAMES, 'done'))}}}")
    edges.append("  - {from: d, to: a}")
    names = [name for name in NAMES if any(f"from: {name}," in edge for edge in edges)] or ["a"]
    return f"start: {names[0]}\nmax_transitions: {draw.randrange(1, 6)}\nedges:\n" + "\n".join(edges)


def script(draw: random.Random) -> list[tuple[str, str]]:
    steps = [("call", draw.choice(("work", "forbidden", "unknown"))) for _ in range(draw.randrange(4))]
    return [*steps, draw.choice([("say", draw.choice(ANSWERS)), ("raise", "model is down")])]


def replies(api: Any, steps: list[tuple[str, str]]) -> list[object]:
    made = {"call": lambda x: api.ToolCall(x, {}), "say": lambda x: api.FinalAnswer(x), "raise": RuntimeError}
    return [made[kind](text) for kind, text in steps]


def run(api: Any, text: str, scripts: dict[str, list[tuple[str, str]]], store: Any) -> tuple[Any, ...]:
    """The result, the tasks that the agents got, and the events of the graph."""
    ran: list[str] = []
    events: list[Any] = []

    async def sink(event: Any) -> None:
        events.append(event)

    def node(name: str) -> tuple[Agent, Any]:
        @api.tool()
        async def work() -> None:
            ran.append(name)

        @api.tool()
        async def forbidden() -> None: ...

        agent = Agent(*replies(api, scripts[name]))
        tools = api.ToolSet.from_functions(work, forbidden)
        return agent, api.GraphNode(agent, tools, api.compile_policy(POLICY), api.Budget(steps=3))

    nodes = {name: node(name) for name in scripts}
    spec = api.compile_graph(text) if api is lynx else compile_graph(text, profile="lynx")
    graph = {name: found for name, (_, found) in nodes.items()}
    result = asyncio.run(api.run_graph(graph, "the task", router=spec, sinks=[sink], store=store, run_id="g"))
    path = [(o.node, o.denials, o.transitions, o.result.final_answer, o.result.error, o.result.steps_taken)
            for o in result.path]  # fmt: skip
    reported = [(event.kind, dict(event.body), event.seq) for event in events if event.bundle_id == "graph"]
    tasks = {name: agent.tasks for name, (agent, _) in nodes.items()}
    return path, result.transitions, result.error, reported, tasks, ran


@pytest.mark.parametrize("journaled", [False, True])
def test_a_graph_runs_as_it_does_under_lynx(journaled: bool) -> None:
    draw = random.Random(journaled)
    lengths = []
    for _ in range(ROUNDS):
        text, scripts = table(draw), {name: script(draw) for name in (*NAMES, "d")}
        stores = (LynxStore(), MemoryStore()) if journaled else (None, None)
        expected, found = run(lynx, text, scripts, stores[0]), run(bobcat, text, scripts, stores[1])
        assert found == expected, text
        lengths.append(len(found[0]))
    assert max(lengths) > 2


EDGE = "start: a\nedges: [{from: a, to: b, when: %s}]"
BROKEN = (
    "[]", "start: a", "edges: []", "start: done\nedges: [{from: a, to: b}]", "start: a\nedges: [x]",
    "start: a\nedges: [{from: a, two: b}]", "start: a\nedges: [{from: a}]", "start: a\nedges: [{to: b}]",
    "start: a\nedges: [{from: done, to: b}]", "start: a\nmax_transitions: 0\nedges: [{from: a, to: b}]",
    EDGE % "5", EDGE % "{stat: failed}", EDGE % "{status: ok}", EDGE % "{steps_gt: x}",
    EDGE % "{answer_matches: '(a+)+$'}", EDGE % "{answer_matches: '(a'}",
)  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_the_lynx_profile_refuses_with_lynx_s_words(text: str) -> None:
    with pytest.raises(LynxError) as expected:
        lynx_compile(text)
    with pytest.raises(GraphCompileError) as found:
        compile_graph(text, profile="lynx")
    assert str(found.value) == str(expected.value)
