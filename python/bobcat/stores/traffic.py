"""Counters of what a store object has asked of its storage, for metrics."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Traffic:
    """Numbers since the store was made. Safe between threads.

    `statements` are SQL statements, scripts of Redis or changes of files, `commits` what they cost: transactions,
    round trips of Redis, or synced files. Several statements share a commit where concurrent runs write together.
    """

    statements: int = 0
    commits: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, *, statements: int = 0, commits: int = 0) -> None:
        """Count some more."""
        with self._lock:
            self.statements += statements
            self.commits += commits


def traffic_of(store: object) -> Traffic:
    """The counters of a store; those of one without stay 0."""
    found = getattr(store, "traffic", None)
    return found if isinstance(found, Traffic) else Traffic()
