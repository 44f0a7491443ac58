"""Validation of `run_graph` arguments before anything runs, and the default task of a later node."""

from __future__ import annotations

from collections.abc import Mapping

from bobcat.bundle import Policy
from bobcat.graph.model import DEFAULT_MAX_TRANSITIONS, DONE, GraphNode, NodeOutcome
from bobcat.runtime.arguments import check_actors
from bobcat.runtime.budget import check_budget, cost_cap
from bobcat.text.json_text import safe_str
from bobcat.tools.toolset import ToolSet


def default_task(task: str, outcome: NodeOutcome) -> str:
    """The default task of a later node: the original one, and the result of the previous node."""
    answer = outcome.result.final_answer
    if answer is None:
        answer = f"(node failed: {outcome.result.error})"
    return f"{task}\n\n[handoff from {outcome.node}] previous result:\n{safe_str(answer)}"


def checked_bound(bound: object) -> int:
    """The largest number of node runs. Raises for an invalid bound."""
    if bound is None:
        return DEFAULT_MAX_TRANSITIONS
    if isinstance(bound, bool) or not isinstance(bound, int):
        raise TypeError(f"max_transitions must be an integer, got {bound!r}")
    if bound < 1:
        raise ValueError("max_transitions must be >= 1")
    return bound


def check_graph(nodes: object, router: object) -> None:
    """Raise `TypeError` for an invalid router, and for nodes without an agent."""
    if not callable(router):
        kind = type(router).__name__
        raise TypeError(f"router must be a function or a GraphSpec, got {kind}; load_graph_file(path) reads one")
    if not isinstance(nodes, Mapping):
        raise TypeError(f"nodes must be a mapping of names to GraphNodes, got {type(nodes).__name__}")
    for name, node in nodes.items():
        if isinstance(node, GraphNode):
            try:
                check_actors(node.agent, on_approval=node.on_approval, budget=node.budget)
            except TypeError as error:
                raise TypeError(f"node {name!r}: {error}") from None


def check_node(name: object, node: object) -> None:
    """Raise for an invalid node, before other nodes have effects."""
    if not isinstance(name, str) or not name or name == DONE:
        raise ValueError(f"{name!r} cannot be the name of a node")
    if not isinstance(node, GraphNode):
        raise TypeError(f"node {name!r} must be a GraphNode, got {type(node).__name__}")
    if not isinstance(node.tools, ToolSet):
        raise TypeError(f"the tools of node {name!r} must be a ToolSet, got {type(node.tools).__name__}")
    if not isinstance(node.policy, Policy):
        raise TypeError(f"the policy of node {name!r} must be a Policy, got {type(node.policy).__name__}")
    check_budget(node.budget)
    if cost_cap(node.budget) is not None:
        raise ValueError(
            f"the budget of node {name!r} has a cost, but a graph pays from one account; give the ledger a "
            'Cap("run", usd=...)'
        )
