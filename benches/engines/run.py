"""`make bench-engines`: one decision, by Bobcat and by other engines, in one process and in turn.

The engines stand in an environment of their own, see `requirements.txt`. Before anything is timed, all of them must
decide every request of the workload alike. Writes `benches/results-engines.json`, and its table into the page about
performance.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from corpora.mixed import Workload, workload
from engines.cedar import cedar_engine, subset
from engines.floor import floor_figures
from engines.guardrails import guardrails_engine
from engines.rego import rego_engine
from engines.sides import (
    Side,
    bobcat_engine,
    casbin_engine,
    cel_engine,
    lynx_engine,
    python_engine,
    zen_engine,
)
from engines.table import FIGURES

Maker = Callable[[Workload], Side]

SIZES = (1, 10, 100, 1_000, 10_000)
WHOLE: tuple[tuple[Maker, int], ...] = (
    (bobcat_engine, 10_000),
    (python_engine, 10_000),
    (lynx_engine, 10_000),
    (cel_engine, 10_000),
    (zen_engine, 10_000),
    (rego_engine, 10_000),
    (casbin_engine, 100),  # it evaluates every line: a quarter of a second per decision at 1,000
)
PART: tuple[tuple[Maker, int], ...] = ((bobcat_engine, 1_000), (cedar_engine, 1_000), (guardrails_engine, 1_000))
ROUNDS = 7
SLICE = 0.06
"""Seconds that an engine gets in a round, about."""
PACKAGES = (
    "bobcat",
    "lynx-agent",
    "common-expression-language",
    "zen-engine",
    "casbin",
    "cedarpy",
    "gordon-to-regorus",
    "invariant-ai",
)


def main() -> int:
    """Measure, show progress, and write the artefact and the table."""
    results = {
        "command": "make bench-engines",
        "machine": _machine(),
        "versions": _versions(),
        "whole": [_measured(workload(size), WHOLE) for size in SIZES],
        "part": [_measured(subset(size), PART) for size in SIZES[:-1]],
        "calls": floor_figures(),
    }
    FIGURES.results.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    FIGURES.update(results)
    return 0


def _measured(work: Workload, makers: Sequence[tuple[Maker, int]]) -> dict[str, Any]:  # Any: JSON
    sides = [make(work) for make, most in makers if work.rules <= most]
    counts = [_agreeing(sides[0], side) for side in sides]
    taken: list[list[float]] = [[] for _ in sides]
    plans = [_plan(side, count) for side, count in zip(sides, counts, strict=True)]
    for _ in range(ROUNDS):
        for side, mine, (count, turns) in zip(sides, taken, plans, strict=True):
            mine.append(_seconds(side, count, turns))
    figures = {side.name: round(statistics.median(mine) * 1e6, 3) for side, mine in zip(sides, taken, strict=True)}
    print(f"{work.rules:>6} rules  " + "  ".join(f"{name} {value:,.2f}" for name, value in figures.items()), flush=True)
    return {"rules": work.rules, "us": figures}


def _agreeing(ours: Side, side: Side) -> int:
    """Fail unless a side decides as ours does; how many requests were decided, all of them if that takes no time."""
    started = time.perf_counter()
    for number, (mine, other) in enumerate(zip(ours.requests, side.requests, strict=True)):
        left, right = _shown(ours.decide(mine)), _shown(side.decide(other))
        if left != right:
            raise SystemExit(f"{side.name} disagrees on request {number}: {right}, and {ours.name} says {left}")
        if time.perf_counter() - started > 4 and number % 4 == 3:  # as many early as middle, late and unmatched calls
            return number + 1
    return len(ours.requests)


def _shown(decision: Any) -> tuple[str, tuple[str, ...]]:  # Any: the decision of either package
    return str(decision.verdict.value), tuple(decision.matched_rules)


def _plan(side: Side, count: int) -> tuple[int, int]:
    """The number of requests of an engine's turn, and of turns of a round."""
    once = min(_seconds(side, count, 1) for _ in range(2)) * count
    if once <= 4 * SLICE:
        return count, max(1, round(SLICE / once))
    return max(4, int(count * 4 * SLICE / once) // 4 * 4), 1


def _seconds(side: Side, count: int, turns: int) -> float:
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        for _ in range(turns):
            side.run(count)
        return (time.perf_counter() - started) / (turns * count)
    finally:
        gc.enable()


def _machine() -> dict[str, Any]:  # Any: JSON
    from bobcat.benchmark.measure import machine

    found = machine()
    return {"cpu": found.processor, "cores": found.cores, "python": found.python, "system": found.system}


def _versions() -> dict[str, str]:
    from bobcat._core import __version__

    return {"bobcat": __version__, **{name: importlib.metadata.version(name) for name in PACKAGES[1:]}}


if __name__ == "__main__":
    sys.exit(main())
