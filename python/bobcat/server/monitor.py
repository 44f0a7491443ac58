"""What a server compares its decisions with: a candidate policy, and the monitored rules of its own."""

from __future__ import annotations

from typing import Any

from bobcat.bundle import Policy
from bobcat.model.decision import ActionRequest, Decision
from bobcat.runtime.candidate import Candidate, Divergences, beside
from bobcat.server.policy_source import PolicyFile


class Monitor:
    """Compares each decision of a server with that of the candidate. Raises what `Candidate` raises."""

    def __init__(self, source: PolicyFile) -> None:
        self._source = source
        self._candidate, self._counts = Candidate(source.policy), Divergences()

    def compare(self, request: ActionRequest, decision: Decision) -> None:
        """Decide `request` by the candidate, and count."""
        candidate, counts = self._candidate, self._counts
        counts.count(request.tool, decision, candidate.divergence(request, decision))

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The candidate and its counts."""
        return {"bundle": self._candidate.policy.id, **self._counts.to_json()}


class MonitoredRules:
    """Compares each decision with that of the monitored rules of its own policy."""

    def __init__(self) -> None:
        self._candidate: tuple[Policy, Candidate | None] | None = None
        self._counts = Divergences()

    def compare(self, policy: Policy, request: ActionRequest, decision: Decision) -> None:
        """Decide `request` with the monitored rules in force, and count. Nothing happens without such rules."""
        known = self._candidate
        if known is None or known[0] is not policy:
            known = self._candidate = policy, beside(policy, None, None)
        if known[1] is not None:
            self._counts.count(request.tool, decision, known[1].divergence(request, decision))

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The counts."""
        return self._counts.to_json()
