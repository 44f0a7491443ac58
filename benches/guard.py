"""Cost of one submission of a tool that does nothing, by log and store: median and 99th percentile, in microseconds.

python benches/guard.py [--count N]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bobcat import Guard, Policy, evaluate
from bobcat.model.request import Request

POLICY = Policy.compile({"rules": [{"id": "all", "match": {"tool": "nothing"}, "decision": "allow"}]})


async def nothing() -> None:
    """Do nothing."""


async def measured(count: int, **options: Any) -> tuple[float, float]:
    """The median and the 99th percentile of the time of a submission, in microseconds."""
    times = []
    async with Guard(POLICY, [nothing], **options) as guard:
        for _ in range(count // 10 + 1):
            await guard.submit("nothing", {})
        for _ in range(count):
            began = time.perf_counter()
            await guard.submit("nothing", {})
            times.append(1e6 * (time.perf_counter() - began))
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


def main() -> None:
    """Measure each combination."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows: dict[str, dict[str, Any]] = {
            "memory, no log": {},
            "memory, SQLite log": {"log": folder / "log.db"},
            "memory, JSONL log": {"log": folder / "log.jsonl"},
            "SQLite store, no log": {"store": f"sqlite:///{folder}/gate.db"},
            "SQLite store, SQLite log": {"store": f"sqlite:///{folder}/gate2.db", "log": folder / "log2.db"},
        }
        for label, options in rows.items():
            median, slow = asyncio.run(measured(count, **options))
            print(f"{label:<26}{median:>10.0f} µs{slow:>10.0f} µs (99 %)")
    request, began = Request("nothing"), time.perf_counter()
    for _ in range(10_000):
        evaluate(POLICY, request)
    print(f"{'the decision alone':<26}{100 * (time.perf_counter() - began):>10.2f} µs")


if __name__ == "__main__":
    main()
