"""Simulated time: it stands still while a worker executes, and jumps to the next timer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)


class Clock:
    """The clock of one simulated run. `clock()` returns its date, for a store's `clock`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """Seconds since the run began."""

    def __call__(self) -> datetime:
        return _BEGINNING + timedelta(seconds=self.seconds)
