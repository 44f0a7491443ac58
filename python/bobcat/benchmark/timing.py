"""Timing: alternating decisions and reference loop, single calls, and one program against another.

PERF: `time.perf_counter_ns` around one call costs about as much as a decision; the time of the clock alone in the same
round is subtracted from single calls.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bobcat._core import Program, evaluate
from bobcat.benchmark.reference import STEPS, reference_turn
from bobcat.model.decision import ActionRequest

ROUND = 0.02
"""Approximate seconds of each half of a round."""
MIN_ROUNDS = 7
MAX_SAMPLES = 200_000
MAX_PASSES = 60


@dataclass(frozen=True, slots=True)
class Rounds:
    """Seconds per decision and per reference step, round by round."""

    decision: tuple[float, ...]
    step: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """Return decision / step of every round."""
        return [decision / step for decision, step in zip(self.decision, self.step, strict=True)]

    @property
    def relative(self) -> float:
        """Return the median of the ratios."""
        return statistics.median(self.ratios)


@contextmanager
def no_collector() -> Iterator[None]:
    """Disable the garbage collector."""
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def rounds(program: Program, requests: Sequence[ActionRequest], budget: float) -> Rounds:
    """Decide all requests repeatedly for `budget` seconds, alternating with the reference loop."""
    turn = reference_turn()

    def decide() -> None:
        for request in requests:
            evaluate(program, request)

    with no_collector():
        decide()
        turn()
        passes = _fitting(decide)
        turns = _fitting(turn)
        made: list[tuple[float, float]] = []
        end = time.perf_counter() + budget
        while len(made) < MIN_ROUNDS or time.perf_counter() < end:
            # Alternate the order of the halves: cache contents left by one half must not favour the other.
            if len(made) % 2:
                decision, step = _seconds(decide, passes), _seconds(turn, turns)
            else:
                step, decision = _seconds(turn, turns), _seconds(decide, passes)
            made.append((decision / len(requests), step / STEPS))
    return Rounds(tuple(decision for decision, _ in made), tuple(step for _, step in made))


def samples(program: Program, requests: Sequence[ActionRequest]) -> list[list[int]]:
    """Return nanoseconds of single calls: for each request, one figure per pass over all of them."""
    passes = max(3, min(MAX_PASSES, MAX_SAMPLES // len(requests)))
    clock = time.perf_counter_ns
    taken: list[list[int]] = [[] for _ in requests]
    pairs = list(zip(requests, taken, strict=True))
    with no_collector():
        for request in requests:
            evaluate(program, request)
        for _ in range(passes):
            idle = _clock_alone()
            for request, times in pairs:
                start = clock()
                evaluate(program, request)
                elapsed = clock() - start - idle
                times.append(max(0, elapsed))
    return taken


def excess(program: Program, empty: Program, requests: Sequence[ActionRequest]) -> float:
    """Return nanoseconds per decision of `program` minus those of `empty`, at least 0: the minimum of several turns of
    each.
    """
    repeat = max(1, 128 // len(requests))

    def run(timed: Program) -> Callable[[], None]:
        def turn() -> None:
            for request in requests:
                evaluate(timed, request)

        return turn

    full, bare = run(program), run(empty)
    full()
    pairs = [(_seconds(full, repeat), _seconds(bare, repeat)) for _ in range(7)]
    full_time, bare_time = min(first for first, _ in pairs), min(second for _, second in pairs)
    return max(0.0, (full_time - bare_time) / len(requests) * 1e9)


def _clock_alone() -> int:
    clock = time.perf_counter_ns
    taken = []
    for _ in range(32):
        start = clock()
        taken.append(clock() - start)
    return int(statistics.median(taken))


def _fitting(action: Callable[[], object]) -> int:
    """Return the number of `action` calls that fit in half a round."""
    once = min(_seconds(action, 1) for _ in range(3))
    return max(1, round(ROUND / max(once, 1e-9)))


def _seconds(action: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        action()
    return (time.perf_counter() - start) / times
