"""Simulated time: it stands still while somebody works, and jumps to whatever is waited for next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)


class Clock:
    """The time of one simulated run. `clock()` is its date, as a store's `clock` has to be."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """Since the run began."""

    def __call__(self) -> datetime:
        return _BEGINNING + timedelta(seconds=self.seconds)
