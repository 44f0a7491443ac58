"""The gate of wide workloads: Bobcat beside the floor in C, in one run, must keep this ratio.

Three fixed seeds unless `--random N` asks for N random ones, which are printed. A ratio is the mean of the seeds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys

from wide.engines import bobcat_engine, floor_engine
from wide.generate import wide_workload
from wide.run import measure

SEEDS = (1, 2, 3)
PASSES = 9
WORKLOADS = (("wide", 10), ("wide", 100), ("wide", 1_000), ("deep", 1_000), ("flat", 1_000), ("adversarial", 1_000))
LIMIT = 1.7
"""The goal is 1.5; the rest is for machines with other work."""


def main() -> int:
    """Measure, print a line per shape and size, and return 1 when a ratio is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--random", type=int, default=0)
    given = parser.parse_args()
    system = random.SystemRandom()
    seeds = [system.randrange(1_000_000) for _ in range(given.random)] or SEEDS
    print(f"wide workloads, seeds {', '.join(map(str, seeds))}", flush=True)
    failed = False
    for shape, rules in WORKLOADS:
        ratios = []
        for seed in seeds:
            figures = measure(wide_workload(rules, seed, shape=shape), PASSES, (bobcat_engine, floor_engine))
            ratios.append(figures["Bobcat"] / figures["floor in C"])
        ratio = statistics.fmean(ratios)
        failed |= ratio > LIMIT
        word = "TOO SLOW" if ratio > LIMIT else "ok"
        print(f"{shape:>11} {rules:>6} rules: {ratio:.2f} times the floor (at most {LIMIT:g}): {word}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
