"""Delegation in a graph: a node to which another one hands over may permit no call more than that one does.

By default this holds between nodes with policies of the strict profile, unless a node declares `exceeds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from bobcat.bundle import Policy
from bobcat.graph.model import DONE, GraphNode, GraphSpec

DelegationMode: TypeAlias = Literal["independent", "within"]
"""`within`: a node permits no call more than the node that hands over to it, unless it declares `exceeds`."""
SECONDS = 10.0
"""Time for the proof of one handoff; without a proof it is refused."""
DECLARE = "declare it with GraphNode(..., exceeds='the reason'), or pass delegation='independent'"


class Delegation:
    """The handoffs of one graph, each proved once."""

    def __init__(self, nodes: Mapping[str, GraphNode], *, every_profile: bool) -> None:
        self._nodes = nodes
        self._every_profile = every_profile

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
        if not self._every_profile and not all(_is_strict(node.policy) for node in (old, new)):
            return None
        try:
            found = _excess(old.policy, new.policy)
        except TimeoutError as error:
            found = str(error)
        if found is None:
            return None
        return f"node {child!r} may not exceed node {parent!r}, which hands over to it: {found}; {DECLARE}"


def _is_strict(policy: Policy) -> bool:
    return policy.ir.profile == "strict"


def checked_delegation(mode: object, nodes: Mapping[str, GraphNode], spec: GraphSpec | None) -> Delegation | None:
    """Return the check of handoffs, after that of the edges of a table; None for `independent` nodes.

    Without a mode, only handoffs between policies of the strict profile are checked. Raises `ValueError` for another
    mode, and for an edge over which more would be permitted.
    """
    if mode == "independent":
        return None
    if mode not in (None, "within"):
        raise ValueError(f"delegation must be 'independent' or 'within', got {mode!r}")
    found = Delegation(nodes, every_profile=mode == "within")
    if spec is not None:
        found.check(spec)
    return found


@lru_cache(64)
def _excess(parent: Policy, child: Policy) -> str | None:
    """Return a call that a policy permits more than another, or the reasons that this is unknown.

    PERF: kept by the digests of the policies; the proof for two policies of 1,000 rules takes a second. Raises
    `TimeoutError`, so that an answer for want of time is not kept.
    """
    from bobcat.analysis import Proof, Witness, prove
    from bobcat.analysis.calls import call_text
    from bobcat.analysis.invariants import within
    from bobcat.analysis.summary import reason_text
    from bobcat.analysis.terms import looser_text

    (proved,) = prove(child, within(parent, "parent"), budget=SECONDS)
    match proved.answer:
        case Proof():
            return None
        case Witness(request, decisions):
            new, old = decisions
            is_same = new.verdict is old.verdict
            instead = looser_text(old, new) if is_same else f"instead of `{old.verdict.value}`"
            return f"it decides `{new.verdict.value}` {instead} for {call_text(request)}"
        case _:
            reasons = "; ".join(map(reason_text, proved.answer.reasons))
            text = f"it is not proved that it permits no call more: {reasons}"
            if any(reason.code == "budget_seconds" for reason in proved.answer.reasons):
                raise TimeoutError(text)
            return text
