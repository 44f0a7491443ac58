"""`make bench-wide`: one decision of wide workloads, by Bobcat, the floor in C, Python by hand and lynx-agent.

    python -m wide.run [--seed N] [--seeds 5] [--passes 25] [--sizes 10 100] [--shapes wide] [--keep FILE]

The engines decide each request in turn, so the caches are no engine's own. Every call is timed by itself: of each
request the median of all passes is taken, and of the requests the mean. Before anything is timed, all engines must
decide all requests alike. The first seed is random unless it is given, and printed. `--keep` writes the figures, and
their table into the page about performance.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wide.engines import Engine, bobcat_engine, check_agreement, floor_engine, hand_engine, lynx_engine
from wide.generate import SHAPES, WideWorkload, wide_workload
from wide.table import FIGURES

Row = dict[str, Any]  # Any: JSON
Maker = Callable[[WideWorkload], Engine]
MAKERS: tuple[Maker, ...] = (bobcat_engine, floor_engine, hand_engine)
SIZES = (10, 100, 1_000, 10_000)
PASSES, WARMING, LYNX_PASSES = 25, 2, 3
LYNX_REQUESTS = {10: 600, 100: 200, 1_000: 60, 10_000: 12}
"""The requests that lynx-agent is asked of, by the number of rules: it would take minutes for all."""


def measure(work: WideWorkload, passes: int, makers: Sequence[Maker] = MAKERS) -> dict[str, float]:
    """Nanoseconds of a decision by engine, the price of the clock taken off."""
    engines = [make(work) for make in makers]
    for engine in engines[1:]:
        check_agreement(work, engines[0], engine, len(work.requests))
    decide = [(engine.decide, engine.requests) for engine in engines]
    now, clock = time.perf_counter_ns, min(_clock() for _ in range(1_000))
    # By engine and request: the time of each pass.
    taken: list[list[list[int]]] = [[[] for _ in work.requests] for _ in engines]
    gc.collect()
    gc.disable()
    for _ in range(WARMING + passes):
        for number in range(len(work.requests)):
            for (function, requests), mine in zip(decide, taken, strict=True):
                request, times = requests[number], mine[number]
                started = now()
                function(request)
                times.append(now() - started)
    gc.enable()
    return {
        engine.name: statistics.fmean(statistics.median(times[WARMING:]) for times in mine) - clock
        for engine, mine in zip(engines, taken, strict=True)
    }


def measure_lynx(work: WideWorkload) -> float:
    """Nanoseconds of a decision of lynx-agent, on some of the requests."""
    ours, engine, count = bobcat_engine(work), lynx_engine(work), LYNX_REQUESTS.get(work.rules, 12)
    check_agreement(work, ours, engine, count)
    taken: list[list[int]] = [[] for _ in range(count)]
    for _ in range(LYNX_PASSES):
        for request, times in zip(engine.requests, taken, strict=False):
            started = time.perf_counter_ns()
            engine.decide(request)
            times.append(time.perf_counter_ns() - started)
    return statistics.fmean(map(statistics.median, taken))


def row(shape: str, rules: int, seeds: list[int], *, passes: int = PASSES, lynx: bool = True) -> Row:
    """The figures of one shape and size, over the seeds."""
    taken: dict[str, list[float]] = {}
    for seed in seeds:
        work = wide_workload(rules, seed, shape=shape)
        figures = measure(work, passes)
        if lynx:
            figures["lynx-agent"] = measure_lynx(work)
        for name, value in figures.items():
            taken.setdefault(name, []).append(value)
    ratios = sorted(ours / floor for ours, floor in zip(taken["Bobcat"], taken["floor in C"], strict=True))
    made = {
        "shape": shape,
        "rules": rules,
        "ns": {name: round(statistics.median(mine)) for name, mine in taken.items()},
        "ratio": round(statistics.median(ratios), 2),
        "ratios": [round(each, 2) for each in ratios],
    }
    print(json.dumps(made), flush=True)
    return made


def _clock() -> int:
    started = time.perf_counter_ns()
    return time.perf_counter_ns() - started


def main() -> int:
    """Measure, print a line per row, and keep the figures when asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=SHAPES)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    first = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    seeds = [first + at for at in range(given.seeds)]
    print(f"seeds {seeds[0]} to {seeds[-1]}; --seed {first} repeats them", flush=True)
    rows = [row(shape, rules, seeds, passes=given.passes) for shape in given.shapes for rules in given.sizes]
    if given.keep:
        from bobcat.benchmark.measure import machine

        found = machine()
        results = {
            "command": "make bench-wide",
            "machine": {"cpu": found.processor, "cores": found.cores, "python": found.python},
            "busy": round(os.getloadavg()[0], 1),
            "seeds": seeds,
            "rows": rows,
        }
        given.keep.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        FIGURES.update(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
