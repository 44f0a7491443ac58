"""Index of the live runs of a `MemoryStore` with a queue entry: a claim costs as much with few of them as with many."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from bobcat.stores.lease_clock import ClockSample
from bobcat.stores.local import RunState
from bobcat.stores.queue import ClaimRequest
from bobcat.stores.queue_order import Waiting, accepts

Group: TypeAlias = tuple[str, str, str, int]
"""Kind, version, tenant and priority."""
Position: TypeAlias = tuple[int, int, str]
"""Time, turn and run id."""


class QueueIndex:
    """The queued runs by group, in order, and the running and suspended ones."""

    def __init__(self) -> None:
        self.running: dict[str, RunState] = {}
        self.suspended: dict[str, RunState] = {}
        self.served: dict[str, int] = {}
        self.turn = 0
        self._groups: dict[Group, list[Position]] = {}
        self._placed: dict[str, tuple[Group, Position]] = {}

    def put(self, state: RunState) -> None:
        """Move a run to the place that its present state gives it."""
        self.remove(state.run_id)
        if not state.kind:
            return
        match state.status:
            case "queued":
                group = state.kind, state.version, state.tenant, state.priority
                position = state.run_at, state.place, state.run_id
                insort(self._groups.setdefault(group, []), position)
                self._placed[state.run_id] = group, position
            case "running":
                self.running[state.run_id] = state
            case "suspended":
                self.suspended[state.run_id] = state
            case _:
                return

    def remove(self, run_id: str) -> None:
        """Forget a run."""
        self.running.pop(run_id, None)
        self.suspended.pop(run_id, None)
        group, position = self._placed.pop(run_id, (None, None))
        if group is not None and position is not None:
            positions = self._groups[group]
            del positions[bisect_left(positions, position)]
            if not positions:
                del self._groups[group]

    def waiting(self, request: ClaimRequest, now: ClockSample, states: Mapping[str, RunState]) -> Iterator[Waiting]:
        """The first runs that are due, one of each group."""
        for group, positions in self._groups.items():
            if not accepts(request, group[0], group[1]):
                continue
            for position in positions:
                if position[0] > now.date:
                    break
                if states[position[2]].is_waiting(now):
                    yield Waiting(*group, *position)
                    break

    def queued_after(self, moment: int) -> Iterator[int]:
        """The first time after `moment` in each group."""
        for positions in self._groups.values():
            found = bisect_right(positions, (moment, 2**63, ""))
            if found < len(positions):
                yield positions[found][0]
