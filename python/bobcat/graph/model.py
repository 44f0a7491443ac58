"""Values of a handoff graph: nodes, their outcomes, and the table of edges that selects the next node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.diagnostics.model import Diagnostic
from bobcat.graph.pattern import TextPattern
from bobcat.model.agent import Agent
from bobcat.model.run import Budget, RunOutcome, RunResult
from bobcat.tools.toolset import ToolSet

DONE = "done"
"""The name that ends a graph, in an edge's `to` and as a router's answer. No node can have it."""
DEFAULT_MAX_TRANSITIONS = 12
"""The default limit on the number of node runs."""

Status: TypeAlias = Literal["succeeded", "failed"]

STATUSES: Mapping[str, Status] = MappingProxyType({"failed": "failed", "succeeded": "succeeded"})
EDGE_KEYS = ("from", "to", "when")
LYNX_PREDICATES = ("answer_matches", "denials_gt", "error_matches", "status", "steps_gt")
"""The predicates of `when` in the `lynx` profile."""
PREDICATES = ("answer_is", *LYNX_PREDICATES)
"""The predicates of `when`."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One run of an agent, with its own tools, policy, budget and approver, all as for `run_agent`.

    The edge to it is a privilege boundary. `exceeds` is the reason that it may permit more than a node that hands over
    to it.
    """

    agent: Agent
    tools: ToolSet
    policy: Policy
    budget: Budget = field(default_factory=Budget)
    on_approval: ApprovalHandler | None = None
    exceeds: str = ""


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """Outcome of a node's run. `denials` counts its denied calls; `transitions`, the nodes that ran before it."""

    node: str
    result: RunResult
    denials: int
    transitions: int


@runtime_checkable
class Router(Protocol):
    """Selects the next node. It must be a pure function: a resumed graph calls it again for unrecorded transitions."""

    def __call__(self, outcome: NodeOutcome, /) -> str | None:
        """The name of the next node; None or `"done"` to end the graph."""


@dataclass(frozen=True, slots=True)
class GraphResult:
    """End of a graph: its `outcome`. `final` is the last node's result, `path` every node's in order.

    `error` is about the graph: an unknown answer of the router, the bound, the kill switch, the store. A failed node
    is not an error of the graph. An outcome that is not given is `succeeded` without an error, else `failed`.
    """

    final: RunResult | None
    path: tuple[NodeOutcome, ...]
    transitions: int
    error: str | None = None
    outcome: RunOutcome = None  # type: ignore[assignment]  # `__post_init__` puts one in place of None

    def __post_init__(self) -> None:
        given: object = self.outcome
        if given is None:
            object.__setattr__(self, "outcome", "succeeded" if self.error is None else "failed")


@dataclass(frozen=True, slots=True)
class Edge:
    """One line of a `GraphSpec`: source, destination and conditions. All conditions must hold; without any, always.

    `answer_is` holds for an answer that is exactly one of these texts, surrounding white space aside.
    """

    src: str
    dst: str
    status: Status | None = None
    answer_matches: TextPattern | None = None
    error_matches: TextPattern | None = None
    denials_gt: int | None = None
    steps_gt: int | None = None
    answer_is: tuple[str, ...] | None = None

    def matches(self, outcome: NodeOutcome) -> bool:
        """Return true if the edge is taken after `outcome` of its `src`."""
        result = outcome.result
        if self.status is not None and (self.status == "failed") != (result.error is not None):
            return False
        if self.answer_is is not None and (result.final_answer or "").strip() not in self.answer_is:
            return False
        if self.answer_matches is not None and not self.answer_matches.search(result.final_answer or ""):
            return False
        if self.error_matches is not None and not self.error_matches.search(result.error or ""):
            return False
        if self.denials_gt is not None and outcome.denials <= self.denials_gt:
            return False
        return self.steps_gt is None or result.steps_taken > self.steps_gt

    def is_unconditional(self) -> bool:
        """Return true if the edge takes every outcome."""
        return self == Edge(self.src, self.dst)


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """A compiled table of edges, which is a `Router`: the first matching edge is taken; without one the graph ends.

    `diagnostics` are the warnings about its source file, and do not enter equality.
    """

    start: str
    max_transitions: int
    edges: tuple[Edge, ...]
    diagnostics: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)

    def __call__(self, outcome: NodeOutcome, /) -> str | None:
        for edge in self.edges:
            if edge.src == outcome.node and edge.matches(outcome):
                return None if edge.dst == DONE else edge.dst
        return None

    def node_names(self) -> frozenset[str]:
        """Every node that an edge names."""
        return frozenset(name for edge in self.edges for name in (edge.src, edge.dst)) - {DONE}
