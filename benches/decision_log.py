"""The latency of an append to a decision log, for every medium: `python benches/decision_log.py` prints a table.

PostgreSQL is started from the installed binaries, with `fsync` on; files are in the directory for temporary files. The
floor writes lines of the same length to a file and syncs each: no durable log on this disk can be faster. All sides
take turns in one run, so that a busy machine slows them alike.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from bobcat.decision_log import open_log

APPENDS = 100
"""Appends in one turn."""
TURNS = 9
BODY = {
    "tool": "fs.write", "args": {"path": "reports/2026.txt", "content": "x" * 200}, "verdict": "allow",
    "matched_rules": ["write"], "reason": "", "principal": {"kind": "user", "id": "ann"}, "environment": "prod",
    "bundle_id": "b" * 64, "correlation_id": "c" * 32,
}  # fmt: skip


def floor(path: Path) -> Callable[[], object]:
    """The append of a line to a plain file, synced."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def append() -> None:
        os.write(descriptor, b"x" * 800 + b"\n")
        os.fsync(descriptor)

    return append


def main() -> None:
    """Measure in turns, and print medians and 99th percentiles in microseconds."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    services = import_module("services")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bobcat-bench-")))
        postgres = services.PostgresServer()
        stack.callback(postgres.close)
        postgres.start()
        sides: dict[str, Callable[[], object]] = {"write + fsync": floor(directory / "floor")}
        for name, target in (
            ("sqlite", str(directory / "log.db")),
            ("jsonl", str(directory / "log.jsonl")),
            ("postgresql", postgres.url),
        ):
            log = stack.enter_context(open_log(target))
            sides[name] = lambda log=log: log.append("r", "decision", BODY)  # type: ignore[misc]
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(TURNS):
            for name, append in sides.items():
                for _ in range(APPENDS):
                    start = time.perf_counter()
                    append()
                    times[name].append((time.perf_counter() - start) * 1e6)
        lowest = statistics.median(times["write + fsync"])
        print(f"{'append to':<14} {'median µs':>10} {'p99 µs':>10} {'x floor':>8}")
        for name, measured in times.items():
            median, p99 = statistics.median(measured), statistics.quantiles(measured, n=100)[98]
            print(f"{name:<14} {median:>10.0f} {p99:>10.0f} {median / lowest:>8.2f}")


if __name__ == "__main__":
    main()
