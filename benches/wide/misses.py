"""Instructions and cache misses of a decision of wide workloads, by cachegrind: `python -m wide.misses`.

Two runs of different length are subtracted, so what is done once is not in the counts; the Python loop around the calls
is. Caches are those that cachegrind finds, with a last level of 1 MiB: a miss of it is a line beyond 1 MiB.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import bobcat
from wide.generate import SHAPES, WideWorkload, wide_workload

CALLS = Path(__file__).resolve().parents[1] / "instructions" / "calls.py"
LAST_LEVEL = "1048576,16,64"
TURNS = 4
COUNTS = {
    "instructions": r"I\s+refs:\s+([\d,]+)",
    "L1i misses": r"I1\s+misses:\s+([\d,]+)",
    "L1d misses": r"D1\s+misses:\s+([\d,]+)",
    "beyond 1 MiB": r"LL misses:\s+([\d,]+)",
}


def counts(work: WideWorkload) -> dict[str, float]:
    """The counts of one decision."""
    with tempfile.TemporaryDirectory() as scratch:
        policy, requests = Path(scratch) / "policy", Path(scratch) / "requests"
        bobcat.compile_policy(work.policy).save(policy)
        requests.write_text("\n".join(map(json.dumps, work.requests)), encoding="utf-8")

        def run(times: int) -> list[int]:
            command = [
                "valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--LL={LAST_LEVEL}",
                f"--cachegrind-out-file={scratch}/out",
                sys.executable, str(CALLS), str(policy), str(requests), str(times),
            ]  # fmt: skip
            environment = os.environ | {"PYTHONHASHSEED": "0"}
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            found = [re.search(pattern, done.stderr) for pattern in COUNTS.values()]
            return [int(each[1].replace(",", "")) for each in found if each is not None]

        # The first turn builds what is built on demand; automata take one more to have their states.
        more, less = run(2 + TURNS), run(2)
    decisions = TURNS * len(work.requests)
    return {name: (a - b) / decisions for name, a, b in zip(COUNTS, more, less, strict=True)}


def main() -> None:
    """Print a line per size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--shape", choices=SHAPES, default="wide")
    given = parser.parse_args()
    print(f"{given.shape}, seed {given.seed}: " + ", ".join(COUNTS), flush=True)
    for rules in given.sizes:
        figures = counts(wide_workload(rules, given.seed, shape=given.shape))
        print(f"{rules:>6} rules " + "".join(f"{value:>10,.1f}" for value in figures.values()), flush=True)


if __name__ == "__main__":
    main()
