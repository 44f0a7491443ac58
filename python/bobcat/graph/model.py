"""The values of a handoff graph: nodes, what became of them, and the table of edges that says who goes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from bobcat.agent import Agent
from bobcat.approvals import ApprovalHandler
from bobcat.bundle import PolicyBundle
from bobcat.diagnostics import Diagnostic
from bobcat.graph.pattern import TextPattern
from bobcat.model import Budget, RunResult
from bobcat.tools import ToolSet

DONE = "done"
"""The name that ends a graph, in an edge's `to` and as a router's answer. No node can have it."""
DEFAULT_MAX_TRANSITIONS = 12
"""How many nodes a graph runs when nobody says."""

Status: TypeAlias = Literal["succeeded", "failed"]

STATUSES: Mapping[str, Status] = MappingProxyType({"failed": "failed", "succeeded": "succeeded"})
EDGE_KEYS = ("from", "to", "when")
LYNX_PREDICATES = ("answer_matches", "denials_gt", "error_matches", "status", "steps_gt")
"""What `when` can ask in the `lynx` profile."""
PREDICATES = ("answer_is", *LYNX_PREDICATES)
"""What `when` can ask."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One run of an agent, with tools, a policy, a budget and an approver of its own, all as for `run_agent`.

    The edge to it is a boundary of powers.
    """

    agent: Agent
    tools: ToolSet
    policy: PolicyBundle
    budget: Budget = field(default_factory=Budget)
    on_approval: ApprovalHandler | None = None


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What a node's run came to. `denials` counts its refused calls; `transitions`, the nodes that ran before it."""

    node: str
    result: RunResult
    denials: int
    transitions: int


@runtime_checkable
class Router(Protocol):
    """Says who goes next. It must be a pure function: a resumed graph asks it again for what is not on record."""

    def __call__(self, outcome: NodeOutcome, /) -> str | None:
        """The name of the next node; None or `"done"` to end the graph."""


@dataclass(frozen=True, slots=True)
class GraphResult:
    """How a graph ended. `final` is the last node's result, `path` every node's in order.

    `error` is about the graph: a router's answer nobody knows, the bound, the kill switch, the store. A node that fails
    is no error of the graph.
    """

    final: RunResult | None
    path: tuple[NodeOutcome, ...]
    transitions: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """One line of a `GraphSpec`: from where, to where, and when. All conditions must hold; without any, always.

    `answer_is` holds for an answer that is exactly one of these texts, white space around it aside.
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
        """Whether the edge is taken after `outcome` of its `src`."""
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
        """Whether the edge takes every outcome."""
        return self == Edge(self.src, self.dst)


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """A compiled table of edges, which is a `Router`: the first edge that matches is taken; none ends the graph.

    `diagnostics` are the warnings about the file it was compiled from; they are no part of what is equal.
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
