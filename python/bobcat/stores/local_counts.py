"""Counts of live runs from their states, for stores that have these at hand."""

from __future__ import annotations

import json
from collections.abc import Iterable

from bobcat.stores.codec import moment_of
from bobcat.stores.counts import StoreCounts, Tally
from bobcat.stores.local import RunState
from bobcat.stores.protocol import LIVE


def counts_of(states: Iterable[RunState], now: int) -> StoreCounts:
    """Count the live ones of these states at a time in microseconds since 1970."""
    tally = Tally(moment_of(now))
    for state in states:
        if state.status in LIVE:
            tally.add(state.status, state.kind, moment_of(state.run_at if state.kind else state.updated))
            if state.status == "suspended":
                detail = json.loads(state.detail) if isinstance(state.detail, str) else state.detail
                tally.add_suspended(detail, moment_of(state.updated))
    return tally.counts()
