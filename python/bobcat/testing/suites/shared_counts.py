"""Counts and sums with `by` in a test: over the calls of one sequence, as if its runs shared a store."""

from __future__ import annotations

from bobcat._core import RunState
from bobcat.bundle import Policy
from bobcat.model.decision import ActionRequest
from bobcat.runtime.scopes import NO_STATE, By, amounts_of, measures_by, scope_names
from bobcat.runtime.tally import Amount, Tally


class SharedCounts:
    """The tallies of the scopes that the calls of a test have."""

    def __init__(self, policy: Policy) -> None:
        self._measures = measures_by(policy)
        self._counter = RunState(policy)
        self._tallies: dict[tuple[str, ...], Tally] = {}

    def share(self, state: RunState, request: ActionRequest) -> None:
        """Give a state the values for the decision on a request."""
        values: dict[str, Amount] = {}
        for by, measures in self._measures.items():
            tally = self._tally(by, request)
            found = dict.fromkeys(measures, NO_STATE) if tally is None else tally.values(request.context.timestamp)
            values.update(found)
        if values:
            state.share(values)

    def take(self, key: str, request: ActionRequest) -> None:
        """Count a call that runs."""
        for by, measures in self._measures.items():
            tally = self._tally(by, request)
            if tally is not None:
                tally.call(key, amounts_of(request, measures, self._counter), request.context.timestamp)

    def _tally(self, by: By, request: ActionRequest) -> Tally | None:
        names = scope_names(by, request)
        return self._tallies.setdefault((by, *names), Tally(self._measures[by])) if names else None
