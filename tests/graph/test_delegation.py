"""Handoffs: a node permits no call more than the one that hands over to it, unless it declares that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import FinalAnswer, GraphNode, Policy, ToolSet, compile_graph, run_graph, tool

WIDE = (
    "rules: [{id: r, match: {tool: read}, decision: allow}, {id: w, match: {tool: write}, decision: approve_required}]"
)
NARROW = "rules: [{id: r, match: {tool: read, args.path.starts_with: /data/}, decision: allow}]"
FLOW = "start: a\nedges:\n  - {from: a, to: b}\n  - {from: b, to: done}\n"


@tool()
async def read(path: str) -> str:
    return path


class Answers:
    async def step(self, conversation: Any) -> FinalAnswer:
        return FinalAnswer("done")


def node(policy: str, **given: Any) -> GraphNode:
    return GraphNode(Answers(), ToolSet.from_functions(read), Policy.compile(policy), **given)


def run(nodes: dict[str, GraphNode], router: Any = None, **given: Any) -> Any:
    given = {"router": router or compile_graph(FLOW), **given}
    return asyncio.run(run_graph(nodes, "task", **given))


def test_a_narrower_node_may_follow() -> None:
    assert run({"a": node(WIDE), "b": node(NARROW)}).outcome == "succeeded"


def test_a_wider_node_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match=r"node 'b' may not exceed node 'a'.*read.*GraphNode\(..., exceeds="):
        run({"a": node(NARROW), "b": node(WIDE)})


def test_a_node_with_looser_terms_is_refused_with_the_difference() -> None:
    ask = "rules: [{{id: r, match: {{tool: read}}, decision: approve_required, approvers: [ann, bob]{}}}]"
    nodes = {"a": node(ask.format(", approvals_needed: 2")), "b": node(ask.format(""))}
    with pytest.raises(ValueError, match=r"it decides `approve_required` 2 -> 1 approvals for read"):
        run(nodes)


def test_a_declared_reason_permits_a_wider_node() -> None:
    assert run({"a": node(NARROW), "b": node(WIDE, exceeds="the writer is reviewed")}).outcome == "succeeded"


def test_a_router_is_checked_at_the_handoff() -> None:
    nodes = {"a": node(NARROW), "b": node(WIDE)}
    result = run(nodes, lambda outcome: "b" if outcome.node == "a" else None, start="a")
    assert result.outcome == "failed"
    assert "may not exceed" in (result.error or "")
    assert [item.node for item in result.path] == ["a"]


def test_what_is_not_proved_is_refused() -> None:
    few = "rules: [{id: r, match: {tool: read, run.count.read.lt: 3}, decision: allow}]"
    more = "rules: [{id: r, match: {tool: read, run.count.read.lt: 4}, decision: allow}]"
    with pytest.raises(ValueError, match="not proved"):
        run({"a": node(few), "b": node(more)})


def test_independent_nodes_are_not_checked() -> None:
    assert run({"a": node(NARROW), "b": node(WIDE)}, delegation="independent").outcome == "succeeded"
    with pytest.raises(ValueError, match="delegation must be"):
        run({"a": node(NARROW), "b": node(WIDE)}, delegation="none")


def test_policies_of_the_lynx_profile_are_checked_where_that_is_asked_for() -> None:
    lynx = "rules: [{id: r, match: {tool: read}, decision: allow}]"
    other = GraphNode(Answers(), ToolSet.from_functions(read), Policy.compile(lynx, profile="lynx"))
    assert run({"a": node(NARROW), "b": other}).outcome == "succeeded"
    with pytest.raises(ValueError, match="only the `strict` profile"):
        run({"a": node(NARROW), "b": other}, delegation="within")


def test_a_proof_for_two_policies_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow, wide = (Policy.compile(text.replace("read", "read_once")) for text in (NARROW, WIDE))
    nodes = {name: GraphNode(Answers(), ToolSet(), policy) for name, policy in (("a", wide), ("b", narrow))}
    assert run(nodes).outcome == "succeeded"
    monkeypatch.setattr("bobcat.analysis.prove", None)
    assert run(nodes).outcome == "succeeded"
    with pytest.raises(TypeError):
        run({"a": nodes["b"], "b": nodes["a"]})
