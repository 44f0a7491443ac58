"""The performance gate of `make check`: decisions against lynx-agent in one run must keep these ratios.

The limits are the targets, of which `make bench` measures twice as much and more; for one rule less, as a build without
the profile (docs/adr/0009) was once measured at 19.2. What is finer than that is for the counts of instructions.
"""

from __future__ import annotations

import sys

from corpora.mixed import workload
from peers import bobcat_side, check_agreement, lynx_side
from timing import duel

# rules: (least ratio, requests, repeat)
LIMITS = {
    1: (15.0, 200, 20),
    10: (22.0, 200, 20),
    100: (65.0, 200, 20),
    1_000: (500.0, 80, 20),
    10_000: (6_000.0, 24, 20),
}


def main() -> int:
    """Measure, print a line per size, and return 1 when a ratio is under its limit."""
    failed = False
    for rules, (limit, requests, repeat) in LIMITS.items():
        work = workload(rules, requests=requests)
        ours, theirs = bobcat_side(work), lynx_side(work)
        check_agreement(work, ours, theirs)
        result = duel(ours.run, theirs.run, rounds=5, repeat=repeat)
        enough = result.ratio >= limit
        failed |= not enough
        word = "ok" if enough else "TOO SLOW"
        print(f"{rules:>6} rules: {result.ratio:>8.1f} times faster (at least {limit:g}): {word}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
