"""Timing several things in turn, so that a busy machine slows them all."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from itertools import repeat

ROUNDS = 30
SLICE = 0.002
"""Seconds that one thing gets in a round, about: short enough to be left alone in some rounds on a busy machine."""


def in_turn(actions: Sequence[Callable[[], object]]) -> list[float]:
    """Nanoseconds of one call of each, the best of the rounds, and not those of the call itself."""
    plans = []
    for action in actions:
        action()
        plans.append(max(1, min(50_000, int(SLICE / max(min(_seconds(action, 1) for _ in range(5)), 1e-7)))))
    best = [float("inf")] * len(actions)
    empty = float("inf")
    for _ in range(ROUNDS):
        for at, (action, times) in enumerate(zip(actions, plans, strict=True)):
            best[at] = min(best[at], _seconds(action, times))
        empty = min(empty, _seconds(_nothing, 5_000))
    return [(seconds - empty) * 1e9 for seconds in best]


def _seconds(action: Callable[[], object], times: int) -> float:
    gc.collect()
    gc.disable()
    try:
        for _ in repeat(None, min(times, 300)):  # collecting garbage has filled the caches with something else
            action()
        started = time.perf_counter()
        for _ in repeat(None, times):
            action()
        return (time.perf_counter() - started) / times
    finally:
        gc.enable()


def _nothing() -> None:
    pass
