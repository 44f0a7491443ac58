"""What a server compares its decisions with: a candidate policy, and the monitored rules of its own."""

from __future__ import annotations

from typing import Any

from bobcat.bundle import Policy
from bobcat.model.decision import ActionRequest, Decision
from bobcat.runtime.candidate import Candidate, Divergences, beside, check_candidate
from bobcat.runtime.evaluate import evaluate_or_deny


class Monitor:
    """Compares each decision of a server with that of the candidate. Raises what `Candidate` raises."""

    def __init__(self, policy: Policy) -> None:
        check_candidate(policy)
        self._candidate, self._counts = Candidate(policy), Divergences()

    def decide(self, policy: Policy, request: ActionRequest) -> Decision:
        """Decide `request` by the policy and by the candidate, and count."""
        return _decided(policy, self._candidate, self._counts, request)

    def compare(self, request: ActionRequest, decision: Decision) -> None:
        """Decide `request` by the candidate, and count the difference from a decision of the policy."""
        self._counts.count(request.tool, decision, self._candidate.divergence(request, decision))

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The candidate and its counts."""
        return {"bundle": self._candidate.policy.id, **self._counts.to_json()}


class MonitoredRules:
    """Compares each decision with that of the monitored rules of its own policy."""

    def __init__(self) -> None:
        self._candidate: tuple[Policy, Candidate | None] | None = None
        self._counts = Divergences()

    def decide(self, policy: Policy, request: ActionRequest) -> Decision:
        """Decide `request` by the policy, and with its monitored rules in force, and count."""
        known = self._candidate
        if known is None or known[0] is not policy:
            known = self._candidate = policy, beside(policy, None, None)
        return (
            evaluate_or_deny(policy, request) if known[1] is None else _decided(policy, known[1], self._counts, request)
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The counts."""
        return self._counts.to_json()


def _decided(policy: Policy, candidate: Candidate, counts: Divergences, request: ActionRequest) -> Decision:
    both = candidate.decide(policy, request)
    if both is None:
        decision = evaluate_or_deny(policy, request)
        both = decision, candidate.divergence(request, decision)
    counts.count(request.tool, *both)
    return both[0]
