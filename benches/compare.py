"""`make bench`: every figure of the README, measured against lynx-agent in one run.

Writes `benches/results.json`, then the figures of README.md from it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

import lynx.core.policy as lynx_policy

import bobcat
from corpora.mixed import workload
from figures import FIGURES
from peers import bobcat_side, check_agreement, lynx_side
from timing import duel, seconds

SIZES = (1, 10, 100, 1_000, 10_000)
LARGE = 10_000
BEST_OF = 15  # absolute times have no peer to be compared with in the same run: the best is what the code takes


def main() -> None:
    """Measure, show progress, and write the artefact."""
    results = {
        "command": "make bench",
        "machine": machine(),
        "versions": {
            "bobcat": importlib.metadata.version("bobcat"),
            "lynx-agent": importlib.metadata.version("lynx-agent"),
        },
        "evaluate": [evaluate_at(rules) for rules in SIZES],
        "compile": compile_large(),
        "load": load_large(),
    }
    FIGURES.results.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    FIGURES.update(results)
    print("wrote benches/results.json and the figures of README.md")


def machine() -> dict[str, Any]:  # Any: JSON
    """The machine of the measurement."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def evaluate_at(rules: int) -> dict[str, float]:
    """One decision at `rules` rules."""
    work = workload(rules)
    ours, theirs = bobcat_side(work), lynx_side(work)
    check_agreement(work, ours, theirs)
    calls = len(work.requests)
    result = duel(ours.run, theirs.run, rounds=5 if rules >= LARGE else 9, repeat=50)
    print(
        f"evaluate  {rules:>6} rules  bobcat {result.ours / calls * 1e6:9.3f} µs  "
        f"lynx-agent {result.theirs / calls * 1e6:10.3f} µs  {result.ratio:9.1f} times",
        flush=True,
    )
    return {
        "rules": rules,
        "bobcat_us": round(result.ours / calls * 1e6, 3),
        "lynx_us": round(result.theirs / calls * 1e6, 3),
        "ratio": round(result.ratio, 1),
    }


def compile_large() -> dict[str, float]:
    """YAML text to something that decides, 10,000 rules."""
    text = workload(LARGE, requests=4).text
    result = duel(lambda: bobcat.compile_policy(text), lambda: lynx_policy.compile_policy(text), rounds=5, repeat=1)
    print(
        f"compile   {LARGE:>6} rules  bobcat {result.ours:.3f} s  "
        f"lynx-agent {result.theirs:.3f} s  {result.ratio:.1f} times",
        flush=True,
    )
    return {
        "rules": LARGE,
        "bobcat_s": round(result.ours, 3),
        "lynx_s": round(result.theirs, 3),
        "ratio": round(result.ratio, 1),
    }


def load_large() -> dict[str, float]:
    """A bundle file to something that decides, 10,000 rules."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "policy.bobcat"
        bobcat.compile_policy(workload(LARGE, requests=4).text).save(path)
        size = path.stat().st_size
        taken = min(seconds(lambda: bobcat.load_bundle(path)) for _ in range(BEST_OF))
    print(f"load      {LARGE:>6} rules  {taken * 1000:.1f} ms ({size:,} bytes)", flush=True)
    return {"rules": LARGE, "ms": round(taken * 1000, 1), "bytes": size}


if __name__ == "__main__":
    main()
