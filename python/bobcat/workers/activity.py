"""Counters of one worker process: attempts, lease losses and latencies. Safe between threads."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from bobcat.stores.traffic import Traffic

BOUNDS: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0,
)  # fmt: skip
"""Upper bounds of the histograms, in seconds."""
LATENCIES: Final = {
    "queue_wait": "Time from the moment when a run could start until it started.",
    "attempt": "Duration of an attempt at a run.",
    "step": "Time from a reply of the model to the recorded result of its action.",
    "append": "Time until the store had acknowledged records.",
}
"""The latencies that are measured, and their descriptions."""


class Histogram:
    """Counts of durations."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class Activity:
    """The work of one worker since it started, and the runs that it executes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._claims: Counter[str] = Counter()
        self._histograms = {name: Histogram() for name in LATENCIES}
        self._running: dict[str, int] = {}
        self._lease_losses = self._appends = self._pruned = 0
        self.traffic = Traffic()
        """Counters of the store's statements and commits."""
        self.observer: Callable[[str, float], None] | None = None
        """Called with the name and the seconds of each latency."""

    @contextmanager
    def running(self, run_id: str) -> Iterator[None]:
        """Count a run as executing."""
        with self._lock:
            self._running[run_id] = self._running.get(run_id, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._running[run_id] -= 1
                if not self._running[run_id]:
                    del self._running[run_id]

    def count_claim(self, kind: str, waited: float) -> None:
        """Count a run that this worker took, `waited` seconds after it could start."""
        with self._lock:
            self._claims[kind] += 1
        self._measure("queue_wait", waited)

    def count_attempt(self, kind: str, outcome: str, seconds: float) -> None:
        """Count an attempt that ended."""
        with self._lock:
            self._attempts[kind, outcome] += 1
        self._measure("attempt", seconds)

    def count_append(self, records: int, seconds: float) -> None:
        """Count records that the store acknowledged."""
        with self._lock:
            self._appends += records
        self._measure("append", seconds)

    def count_step(self, seconds: float) -> None:
        """Count an action whose result is recorded."""
        self._measure("step", seconds)

    def _measure(self, name: str, seconds: float) -> None:
        seconds = max(seconds, 0.0)
        with self._lock:
            self._histograms[name].add(seconds)
        if self.observer is not None:
            self.observer(name, seconds)

    def count_lease_loss(self) -> None:
        """Count a lease that another worker took, or that ended."""
        with self._lock:
            self._lease_losses += 1

    def count_pruned(self, runs: int) -> None:
        """Count runs that retention removed."""
        with self._lock:
            self._pruned += runs

    @property
    def run_ids(self) -> Sequence[str]:
        """The runs that execute now."""
        with self._lock:
            return sorted(self._running)

    def claims(self) -> dict[str, int]:
        """Runs that were taken, by kind."""
        with self._lock:
            return dict(self._claims)

    def attempts(self) -> dict[tuple[str, str], int]:
        """Attempts that ended, by kind and outcome."""
        with self._lock:
            return dict(self._attempts)

    def totals(self) -> dict[str, int]:
        """Counters without labels, by name."""
        with self._lock:
            return {
                "lease_losses": self._lease_losses, "records": self._appends, "pruned_runs": self._pruned,
                "statements": self.traffic.statements, "commits": self.traffic.commits,
            }  # fmt: skip

    def histogram(self, name: str) -> tuple[list[int], float]:
        """Counts between `BOUNDS`, and the sum of the seconds."""
        with self._lock:
            found = self._histograms[name]
            return list(found.counts), found.seconds
