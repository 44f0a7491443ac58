"""Delegation in a graph: a node to which another one hands over may permit no call more than that one does.

`run_graph` uses this with `delegation="within"` only, and only then imports the analysis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from bobcat.bundle import Policy
from bobcat.graph.model import DONE, GraphNode, GraphSpec

DelegationMode: TypeAlias = Literal["independent", "within"]
"""`within`: a node permits no call more than the node that hands over to it, unless it declares `exceeds`."""
SECONDS = 10.0
"""Time for the proof of one handoff; without a proof it is refused."""


class Delegation:
    """The handoffs of one graph, each proved once."""

    def __init__(self, nodes: Mapping[str, GraphNode]) -> None:
        self._nodes = nodes
        self._known: dict[tuple[str, str], str | None] = {}

    def check(self, spec: GraphSpec) -> None:
        """Raise `ValueError` for an edge of a table over which more would be permitted."""
        for edge in spec.edges:
            if edge.dst != DONE:
                problem = self.problem(edge.src, edge.dst)
                if problem is not None:
                    raise ValueError(problem)

    def problem(self, parent: str, child: str) -> str | None:
        """Return the reason that a handoff is refused, or None."""
        old, new = self._nodes[parent], self._nodes[child]
        if new.exceeds or old.policy.id == new.policy.id:
            return None
        key = (old.policy.id, new.policy.id)
        if key not in self._known:
            self._known[key] = _excess(old.policy, new.policy)
        found = self._known[key]
        if found is None:
            return None
        return f"node {child!r} may not exceed node {parent!r}, which hands over to it: {found}"


def checked_delegation(mode: object, nodes: Mapping[str, GraphNode], spec: GraphSpec | None) -> Delegation | None:
    """Return the check of handoffs, after that of the edges of a table; None for `independent` nodes.

    Raises `ValueError` for another mode, and for an edge over which more would be permitted.
    """
    if mode == "independent":
        return None
    if mode != "within":
        raise ValueError(f"delegation must be 'independent' or 'within', got {mode!r}")
    found = Delegation(nodes)
    if spec is not None:
        found.check(spec)
    return found


def _excess(parent: Policy, child: Policy) -> str | None:
    """Return a call that a policy permits more than another, or the reasons that this is unknown."""
    from bobcat.analysis import Proof, Witness, prove
    from bobcat.analysis.calls import call_text
    from bobcat.analysis.invariants import within
    from bobcat.analysis.summary import reason_text

    (proved,) = prove(child, within(parent, "parent"), budget=SECONDS)
    match proved.answer:
        case Proof():
            return None
        case Witness(request, decisions):
            verdicts = " instead of ".join(item.verdict.value for item in reversed(decisions))
            return f"it decides `{verdicts}` for {call_text(request)}"
        case _:
            reasons = "; ".join(map(reason_text, proved.answer.reasons))
            return f"it is not proved that it permits no call more: {reasons}"
