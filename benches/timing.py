"""Timing two things against each other in one run, so that a busy machine slows both."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Duel:
    """Seconds per call of each side, and how many times faster ours is: medians over the rounds."""

    ours: float
    theirs: float
    ratio: float


def seconds(action: Callable[[], object]) -> float:
    """Time one call, with the garbage collector disabled."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start
    finally:
        gc.enable()


def duel(ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int, repeat: int) -> Duel:
    """Time `repeat` calls of ours and one of theirs, in turn, `rounds` times. One call of each comes first, untimed."""

    def many() -> None:
        for _ in range(repeat):
            ours()

    many()
    theirs()
    pairs = [(seconds(many) / repeat, seconds(theirs)) for _ in range(rounds)]
    return Duel(
        ours=statistics.median(mine for mine, _ in pairs),
        theirs=statistics.median(other for _, other in pairs),
        ratio=statistics.median(other / mine for mine, other in pairs),
    )
