"""`evaluate` on two threads against one, on an interpreter without a lock: `PYTHON benches/free_threads.py`.

Needs the core built for that interpreter, as `python/bobcat/_core.*.so`, and no other package: policies come as IR
from the vectors of the tests. A loop of Python in the same run shows what two threads can reach on the machine. Only
rounds count in which each thread had a core all the time, beside the other one: the figures are medians of these.
"""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from bobcat import _core  # noqa: E402
from bobcat.model.decision import ActionRequest  # noqa: E402
from bobcat.model.request_json import request_from_json  # noqa: E402

ROUNDS = 150
CALLS = 20_000
OWN, TOGETHER = 0.97, 0.93  # parts of the time on a core, and beside the other thread
Work = Callable[[], object]


def main() -> int:
    """Print the speed-up of two threads for requests of their own, for shared ones, and for a loop of Python."""
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        print("this interpreter has a lock: two threads decide in turn", file=sys.stderr)
        return 2
    lines = (ROOT / "tests" / "vectors" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    vector = max(map(json.loads, lines), key=lambda vector: len(vector["ir"]["rules"]))
    program = _core.Program(json.dumps(vector["ir"], sort_keys=True, separators=(",", ":")).encode())

    def deciding(*cases: dict[str, object]) -> Work:
        requests = [request_from_json(json.dumps(case)) for case in cases]
        return lambda: decide(program, requests)

    cases = [case["request"] for case in vector["requests"]]
    mine, other = deciding(*cases), deciding(*cases)
    short, other_short = deciding({"tool": "unknown"}), deciding({"tool": "unknown"})
    sides = {
        "requests of their own": ((mine,), (mine, other)),
        "requests of their own that no rule matches": ((short,), (short, other_short)),
        "the same requests": ((mine,), (mine, mine)),
        "a loop of Python": ((count,), (count, count)),
    }
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in sides}
    for _ in range(ROUNDS):
        for name, runs in sides.items():
            for kept, works in zip(times[name], runs, strict=True):
                kept.extend(seconds(works))
    for name, (alone, together) in times.items():
        if not alone or not together:
            print(f"   ? times, {name}: the machine had no two cores for it")
            continue
        one, two = statistics.median(alone), statistics.median(together)
        rounds = f"{one / CALLS * 1e9:.0f} ns alone, {len(together)} rounds"
        print(f"{2 * one / two:5.2f} times, {name}: {rounds}")
    return 0


def decide(program: _core.Program, requests: list[ActionRequest]) -> None:
    """Make `CALLS` decisions."""
    evaluate = _core.evaluate
    for _ in range(CALLS // len(requests)):
        for request in requests:
            evaluate(program, request)


def count() -> int:
    """Do what touches no shared object."""
    total = 0
    for number in range(CALLS * 10):
        total += number & 7
    return total


def seconds(works: tuple[Work, ...]) -> list[float]:
    """Return the mean time in which threads do their work; nothing if one waited for a core or began late."""
    ready = threading.Barrier(len(works))
    spans: list[tuple[float, float, float]] = []

    def run(work: Work) -> None:
        ready.wait()
        used, started = time.thread_time(), time.perf_counter()
        work()
        ended = time.perf_counter()
        spans.append((started, ended, time.thread_time() - used))

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    common = min(end for _, end, _ in spans) - max(start for start, _, _ in spans)
    taken = [end - start for start, end, _ in spans]
    if common < TOGETHER * min(taken) or any(cpu < OWN * (end - start) for start, end, cpu in spans):
        return []
    return [statistics.mean(taken)]


if __name__ == "__main__":
    sys.exit(main())
