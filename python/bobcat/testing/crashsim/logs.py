"""Decision logs of simulated workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bobcat.decision_log import DecisionLog, LogEntry
from bobcat.testing.crashsim.loop import here


class SimLog(DecisionLog):
    """A decision log to which only live workers append."""

    def append(self, record_id: str, kind: str, body: Mapping[str, Any]) -> LogEntry:
        """`DecisionLog.append`. Raises `Died` in the remaining code of a dead worker. Any: JSON."""
        here()
        return super().append(record_id, kind, body)

    def append_open(
        self, record_id: str, kind: str, body: Mapping[str, Any], *, when: Callable[[], bool]
    ) -> LogEntry | None:
        """`DecisionLog.append_open`, likewise. Any: JSON."""
        here()
        return super().append_open(record_id, kind, body, when=when)
