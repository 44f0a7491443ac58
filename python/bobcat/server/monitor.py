"""The candidate policy of a server: its file, and the counts of its divergences."""

from __future__ import annotations

from typing import Any

from bobcat.model.decision import ActionRequest, Decision
from bobcat.runtime.candidate import Candidate, Divergences
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
