"""Running a handoff graph: who goes next, what each node gets, and every way it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import (
    Budget,
    CancelToken,
    FinalAnswer,
    GraphNode,
    GraphResult,
    GraphSpec,
    MemoryStore,
    NodeOutcome,
    PolicyWarning,
    Router,
    RunResult,
    ToolCall,
    ToolSet,
    auto_approve,
    compile_graph,
    inline_executor,
    run_graph,
)
from graph_nodes import FORBIDDEN, POLICY, WORK, Nodes, run

LOOP = """
start: triage
edges:
  - {from: triage, when: {answer_is: needs fix}, to: fixer}
  - {from: triage, to: done}
  - {from: fixer, to: reviewer}
  - {from: reviewer, when: {answer_is: approved}, to: done}
  - {from: reviewer, to: fixer}
"""


def outcome(node: str = "a", *, answer: str | None = None, error: str | None = None, steps: int = 0,
            denials: int = 0) -> NodeOutcome:  # fmt: skip
    return NodeOutcome(node, RunResult("c", "b", answer, error, steps), denials, 0)


def edge_taken(when: str, **fields: Any) -> bool:
    spec = compile_graph(f"start: a\nedges: [{{from: a, when: {when}, to: b}}]")
    return spec(outcome(**fields)) == "b"


def test_a_graph_goes_from_node_to_node_as_its_edges_say() -> None:
    nodes = Nodes().add("triage", "needs fix").add("fixer", WORK, "fixed").add("reviewer", "approved")
    seen = run(nodes, compile_graph(LOOP))
    assert seen.path == ["triage", "fixer", "reviewer"]
    assert seen.result.final is not None
    assert (seen.result.final.final_answer, seen.result.transitions, seen.result.error) == ("approved", 2, None)
    assert nodes.ran == ["fixer:a"]
    assert [item.transitions for item in seen.result.path] == [0, 1, 2]


def test_a_graph_ends_when_no_edge_is_taken() -> None:
    spec = compile_graph("start: a\nedges: [{from: a, when: {status: failed}, to: b}]")
    assert run(Nodes().add("a", "fine").add("b"), spec).path == ["a"]


def test_a_cycle_ends_at_the_bound() -> None:
    nodes = Nodes().add("triage", "needs fix").add("fixer").add("reviewer", "rejected")
    seen = run(nodes, compile_graph(LOOP + "max_transitions: 5\n"))
    assert seen.path == ["triage", "fixer", "reviewer", "fixer", "reviewer"]
    assert (seen.result.error, seen.result.transitions) == ("max_transitions exhausted (5)", 5)
    assert seen.graph_kinds[-1] == "graph.exhausted"
    assert len(run(nodes, compile_graph(LOOP), max_transitions=2).path) == 2
    assert len(run(nodes, lambda _: "fixer", start="fixer").path) == 12


def test_every_event_of_a_graph_has_its_body_and_a_counter_of_its_own() -> None:
    nodes = Nodes().add("a", FORBIDDEN, "one").add("b", RuntimeError("no"))
    seen = run(nodes, lambda o: "b" if o.node == "a" else "done", start="a", run_id="g")
    graph = [event for event in seen.events if event.bundle_id == "graph"]
    assert [(event.kind, dict(event.body)) for event in graph] == [
        ("graph.started", {"task": "the task", "start": "a", "resumed": False}),
        ("graph.handoff", {"hop": 0, "node": "a", "next": "b", "denials": 1, "ok": True}),
        ("graph.handoff", {"hop": 1, "node": "b", "next": None, "denials": 0, "ok": False}),
        ("graph.finished", {"hops": 2, "final_node": "b"}),
    ]
    assert [event.seq for event in graph] == [0, 1, 2, 3]
    assert {event.correlation_id for event in graph} == {"g"}
    assert "action.denied" in [event.kind for event in seen.events]


def test_a_later_node_gets_the_task_with_the_answer_before_it() -> None:
    nodes = Nodes().add("a", "forty-two").add("b", RuntimeError("no")).add("c")
    run(nodes, lambda o: {"a": "b", "b": "c"}.get(o.node), start="a")
    assert nodes.agents["a"].tasks == ["the task"]
    assert nodes.agents["b"].tasks == ["the task\n\n[handoff from a] previous result:\nforty-two"]
    failed = "(node failed: agent.step raised: RuntimeError: no)"
    assert nodes.agents["c"].tasks == [f"the task\n\n[handoff from b] previous result:\n{failed}"]


def test_the_task_of_a_later_node_can_be_composed() -> None:
    nodes = Nodes().add("a", "forty-two").add("b")
    run(nodes, lambda o: "b" if o.node == "a" else None, start="a",
        compose_task=lambda task, o: f"{task} after {o.node}: {o.result.final_answer}")  # fmt: skip
    assert nodes.agents["b"].tasks == ["the task after a: forty-two"]


@pytest.mark.parametrize(
    ("when", "fields", "taken"),
    [
        ("{status: succeeded}", {"answer": "x"}, True),
        ("{status: succeeded}", {"error": "x"}, False),
        ("{status: failed}", {"error": "x"}, True),
        ("{status: failed}", {"answer": "x"}, False),
        ("{answer_is: approved}", {"answer": "approved"}, True),
        ("{answer_is: approved}", {"answer": " \tapproved\n"}, True),
        ("{answer_is: approved}", {"answer": "NOT approved"}, False),
        ("{answer_is: approved}", {"answer": "approved, but not by me"}, False),
        ("{answer_is: approved}", {"answer": "Approved"}, False),
        ("{answer_is: approved}", {"answer": "approved\nrejected"}, False),
        ("{answer_is: approved}", {"error": "approved"}, False),
        ("{answer_is: [approved, Approved]}", {"answer": "Approved"}, True),
        ("{answer_is: [approved, Approved]}", {"answer": "approved Approved"}, False),
        ("{answer_is: approved, denials_gt: 0}", {"answer": "approved"}, False),
        ("{answer_is: a.b}", {"answer": "axb"}, False),
        ("{answer_matches: ^ab+c$}", {"answer": "abbc"}, True),
        ("{answer_matches: ^b+c$}", {"answer": "abbc"}, False),
        ("{answer_matches: ^$}", {"error": "no answer at all"}, True),
        ("{answer_matches: ^abbc$}", {"answer": "abbc\n"}, False),
        ('{answer_matches: "^.b$"}', {"answer": "\ud800b"}, True),
        ("{error_matches: budget}", {"error": "step budget exhausted (5)"}, True),
        ("{error_matches: budget}", {"answer": "budget"}, False),
        ("{denials_gt: 1}", {"denials": 1}, False),
        ("{denials_gt: 1}", {"denials": 2}, True),
        ("{steps_gt: 2}", {"steps": 2}, False),
        ("{steps_gt: 2}", {"steps": 3}, True),
        ("{status: failed, steps_gt: 2}", {"error": "x", "steps": 3}, True),
        ("{status: failed, steps_gt: 2}", {"error": "x", "steps": 1}, False),
        ("{}", {"error": "x"}, True),
    ],
)
def test_an_edge_is_taken_when_all_its_conditions_hold(when: str, fields: dict[str, Any], taken: bool) -> None:
    assert edge_taken(when, **fields) is taken


@pytest.mark.parametrize(
    ("pattern", "answer", "taken"), [("b+", "abbc", True), ("^b", "abbc", False), ("b", "\ud800b", True)]
)
def test_a_pattern_without_anchors_is_found_inside_an_answer(pattern: str, answer: str, taken: bool) -> None:
    with pytest.warns(PolicyWarning, match="G20"):
        assert edge_taken(f"{{answer_matches: {pattern}}}", answer=answer) is taken


def test_a_pattern_of_an_edge_is_searched_in_linear_time() -> None:
    assert not edge_taken("{answer_matches: ^(a|a?)+$}", answer="a" * 50_000 + "!")


def test_denials_are_refusals_and_not_failures() -> None:
    """An action that breaks after its approval failed; a refused approval is a denial."""
    risky = ToolCall("risky", {})
    granted = run(Nodes().add("a", risky, FORBIDDEN, on_approval=auto_approve()), lambda _: None, start="a")
    refused = run(Nodes().add("a", risky, FORBIDDEN), lambda _: None, start="a")
    assert [seen.result.path[0].denials for seen in (granted, refused)] == [1, 2]


def test_each_node_has_its_own_powers_and_shares_the_surroundings() -> None:
    contexts: list[Any] = []

    async def executor(request: Any, tool: Any) -> Any:
        contexts.append((request.context.environment, request.context.workspace, request.context.principal.id))
        return await inline_executor()(request, tool)

    class Principal:
        kind, id, name = "user", "eve", None

    nodes = Nodes().add("a", WORK, WORK, "x", budget=Budget(steps=1)).add("b", WORK, WORK, "y")
    seen = run(nodes, lambda o: "b" if o.node == "a" else None, start="a", executor=executor, environment="prod",
               workspace="/tmp", principal=Principal())  # fmt: skip
    assert [item.result.error for item in seen.result.path] == ["step budget exhausted (1)", None]
    assert contexts == [("prod", "/tmp", "eve")] * 3


def test_the_kill_switch_ends_a_graph_between_nodes_and_inside_one() -> None:
    switch = CancelToken()
    switch.cancel("enough")
    seen = run(Nodes().add("a"), lambda _: None, start="a", cancel=switch)
    assert seen.result == GraphResult(None, (), 0, "cancelled: enough", "cancelled")
    assert seen.bodies("graph.cancelled") == [{"reason": "enough", "hops": 0}]

    inside = CancelToken()
    nodes = Nodes().add("a", "x").add("b", WORK, "y")
    seen = run(nodes, lambda o: inside.cancel("now") or "b", start="a", cancel=inside)
    assert (seen.path, seen.result.error) == (["a"], "cancelled: now")

    third = CancelToken()

    async def thrown(*_: object) -> Any:
        third.cancel("mid-tool")
        await asyncio.sleep(10)

    seen = run(Nodes().add("a", WORK), lambda _: "a", start="a", cancel=third, executor=thrown)
    assert (seen.path, seen.result.error, seen.result.transitions) == (["a"], "cancelled: mid-tool", 0)
    assert seen.bodies("graph.cancelled") == [{"reason": "cancelled: mid-tool", "hops": 0}]


def test_cancelling_the_task_cancels_the_graph() -> None:
    async def main() -> None:
        nodes = Nodes().add("a", WORK).nodes

        async def hangs(*_: object) -> Any:
            await asyncio.sleep(10)

        task = asyncio.create_task(run_graph(nodes, "t", router=lambda _: None, start="a", executor=hangs))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


async def async_router(outcome: NodeOutcome) -> str | None:
    return None


def explodes(*_: object) -> Any:
    raise KeyError("nowhere")


def leaves(*_: object) -> Any:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("router", "compose", "error"),
    [
        (explodes, None, "router raised KeyError: 'nowhere'"),
        (leaves, None, "router raised SystemExit: 3"),
        (lambda _: "b", leaves, "compose_task raised SystemExit: 3"),
        (async_router, None, "router returned coroutine, not the name of a node"),
        (lambda _: 5, None, "router returned int, not the name of a node"),
        (lambda _: "x", None, "router returned unknown node 'x'; nodes: ['a', 'b']"),
        (lambda _: "b", explodes, "compose_task raised KeyError: 'nowhere'"),
        (lambda _: "b", lambda *_: None, "compose_task returned NoneType, not a string"),
    ],
)
# lynx-agent defect 71
def test_what_a_router_or_a_composer_does_wrong_is_the_graph_s_error(router: Any, compose: Any, error: str) -> None:
    seen = run(Nodes().add("a", "x").add("b"), router, start="a", compose_task=compose)
    assert (seen.result.error, seen.path) == (error, ["a"])
    assert seen.result.final is not None
    assert seen.bodies("graph.failed") == [{"reason": error}]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "start node is required (pass start= or use a GraphSpec)"),
        ({"start": "z"}, ValueError, "start node 'z' not in nodes ['a']"),
        ({"start": "a", "store": MemoryStore()}, ValueError, "a non-empty run_id is required when store is provided"),
        ({"start": "a", "max_transitions": 0}, ValueError, "max_transitions must be >= 1"),
        ({"start": "a", "max_transitions": True}, TypeError, "max_transitions must be an integer, got True"),
    ],
)
def test_arguments_that_are_no_graph_are_refused(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error) as caught:
        run(Nodes().add("a"), lambda _: None, **options)
    assert str(caught.value) == message


def test_a_spec_that_routes_to_a_missing_node_is_refused() -> None:
    with pytest.raises(ValueError, match=r"graph routes to unknown node\(s\): \['fixer', 'reviewer'\]"):
        run(Nodes().add("triage"), compile_graph(LOOP))


def test_nodes_that_cannot_run_are_refused_before_any_runs() -> None:
    good = Nodes().add("a", WORK)
    agent, tools = good.agents["a"], good.nodes["a"].tools
    for bad, message in (
        (agent, "node 'b' must be a GraphNode, got Agent"),
        (GraphNode(agent, [], POLICY), "the tools of node 'b' must be a ToolSet, got list"),  # type: ignore[arg-type]
        (GraphNode(agent, tools, {}), "the policy of node 'b' must be a Policy, got dict"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError) as caught:
            run({**good.nodes, "b": bad}, lambda _: "b", start="a")  # type: ignore[dict-item]
        assert str(caught.value) == message
    with pytest.raises(ValueError, match=r"budget\.steps"):
        run({**good.nodes, "b": GraphNode(agent, tools, POLICY, Budget(steps=-1))}, lambda _: "b", start="a")
    with pytest.raises(ValueError, match="cannot be the name"):
        run({**good.nodes, "done": good.nodes["a"]}, lambda _: "b", start="a")
    assert good.ran == []


def test_values_are_frozen_and_a_spec_is_a_router() -> None:
    spec = compile_graph(LOOP)
    assert isinstance(spec, Router)
    assert isinstance(spec, GraphSpec)
    assert spec.node_names() == {"triage", "fixer", "reviewer"}
    node = Nodes().add("a").nodes["a"]
    assert GraphNode(node.agent, ToolSet(), POLICY).budget == Budget()
    with pytest.raises(AttributeError):
        node.tools = ToolSet()  # type: ignore[misc]


def test_a_broken_sink_does_not_touch_the_graph(capsys: pytest.CaptureFixture[str]) -> None:
    async def broken(event: object) -> None:
        raise OSError("disk full")

    seen = run(Nodes().add("a", "x"), lambda _: None, start="a", sinks=[broken])
    assert seen.result.error is None
    assert "graph.started" in capsys.readouterr().err


def test_what_an_agent_answers_at_the_end_is_the_graph_s_final() -> None:
    seen = run(Nodes().add("a", FinalAnswer("the end")), lambda _: "done", start="a")
    assert seen.result.final is not None
    assert seen.result.final.final_answer == "the end"
