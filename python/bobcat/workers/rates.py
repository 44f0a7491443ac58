"""Rates of kinds of runs, over all workers of a store: `rate="100/m"` begins at most 100 runs in any minute.

The starts are evenly spaced. The time of the next one is in a document of the store, which the workers change by
compare-and-set, at the store's time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from bobcat.stores.protocol import DurableStore, VersionConflict

KIND = "rate"
_RATE = re.compile(r"([1-9][0-9]{0,8})/([smhd])", re.ASCII)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `starts` runs within `seconds`."""

    starts: int
    seconds: float

    @property
    def interval(self) -> timedelta:
        """Time between two starts."""
        return timedelta(seconds=self.seconds / self.starts)


def parse_rate(text: object) -> Rate:
    """Parse a rate such as `100/m`. Raises `ValueError`."""
    match = _RATE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"a rate must be a number and a unit, such as `10/s`, `100/m`, `5/h` or `1/d`, got `{text!r}`")
    return Rate(int(match[1]), _UNITS[match[2]])


async def take_start(store: DurableStore, kind: str, rate: Rate) -> datetime | None:
    """Take one start of a kind; return the time of the next one when it must wait."""
    while True:
        now, entry = await store.now(), await store.get(KIND, kind)
        following = now if entry is None else _time(entry.body.get("next"), now)
        # After a date jump backwards the recorded time can be far away: one interval is the longest wait.
        if now < following <= now + rate.interval:
            return following
        body = {"next": (now + rate.interval).isoformat()}
        try:
            await store.put(KIND, kind, body, expected=0 if entry is None else entry.version)
        except VersionConflict:
            continue
        return None


def _time(text: object, now: datetime) -> datetime:
    """The recorded time; the present for a damaged one."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return now
    return now if moment.tzinfo is None else moment
