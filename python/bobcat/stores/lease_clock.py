"""Clock for leases in stores of one machine: time since the machine started, not the date.

A date jumps when a person or a time server sets it: an hour forward would end every lease, an hour back would keep the
lease of a dead worker for an hour. The kernel's boot clock only goes forward, also while the machine sleeps, and all
processes of the machine read the same one. It restarts at every boot, so a lease records its boot; one from an earlier
boot expires by the date that was recorded with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bobcat.stores.codec import microseconds


class ClockSample(NamedTuple):
    """Both clocks in microseconds, and the boot that `tick` counts from; None: only the date is available."""

    date: int
    boot: str | None = None
    tick: int = 0

    def alive(self, expires: int, boot: str | None, until: int) -> bool:
        """Return true while a lease is alive that ends at the date `expires`, and at the tick `until` of `boot`."""
        return until > self.tick if boot is not None and boot == self.boot else expires > self.date


@cache
def boot_id() -> str | None:
    """The id of this boot of the machine; None where the system has none, or no clock that counts from it."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() or None
    except OSError:
        return None


def lease_clock(clock: Callable[[], datetime] | None) -> Callable[[], ClockSample]:
    """The function that reads the clocks of this machine, or only `clock` where a test passes one."""
    if clock is not None:
        return lambda: ClockSample(microseconds(clock()))
    boot = boot_id()
    if boot is None:
        return lambda: ClockSample(time.time_ns() // 1000)

    def read() -> ClockSample:
        tick = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000  # first: by its date a lease ends no earlier
        return ClockSample(time.time_ns() // 1000, boot, tick)

    return read
