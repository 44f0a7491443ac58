"""The clock that leases are counted by, in stores of one machine: time since the machine started, not the date.

A date jumps when somebody, or a time server, sets it: an hour forward would end every lease, an hour back would keep
the lease of a dead worker for an hour. The kernel's boot clock only goes forward, also while the machine sleeps, and
all processes of the machine see the same one. It begins anew with every start, so a lease names the start it counts
from; one from an earlier start is judged by the date that was noted with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bobcat.stores.written import microseconds


class Reading(NamedTuple):
    """Both clocks in microseconds, and the start of the machine that `tick` counts from; None: there is only a date."""

    date: int
    boot: str | None = None
    tick: int = 0

    def alive(self, expires: int, boot: str | None, until: int) -> bool:
        """True while a lease is not over that ends at the date `expires`, and at the tick `until` of `boot`."""
        return until > self.tick if boot is not None and boot == self.boot else expires > self.date


@cache
def boot_id() -> str | None:
    """The name of this start of the machine; None where the system has none, or no clock that counts from it."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() or None
    except OSError:
        return None


def lease_clock(clock: Callable[[], datetime] | None) -> Callable[[], Reading]:
    """What reads the clocks of this machine, or only `clock` where a test gives one."""
    if clock is not None:
        return lambda: Reading(microseconds(clock()))
    boot = boot_id()
    if boot is None:
        return lambda: Reading(time.time_ns() // 1000)

    def read() -> Reading:
        tick = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000  # first: by its date a lease ends no earlier
        return Reading(time.time_ns() // 1000, boot, tick)

    return read
