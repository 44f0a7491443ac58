"""`evaluate` on two threads against one, on an interpreter without a lock: `PYTHON benches/free_threads.py`.

Needs the core built for that interpreter, as `python/bobcat/_core.*.so`, and no other package: policies come as IR
from the vectors of the tests. A loop of Python in the same run shows what two threads can reach on the machine. The
times are the best of many short rounds in turn.
"""

from __future__ import annotations

import json
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

ROUNDS = 80
CALLS = 20_000
Work = Callable[[], object]


def main() -> int:
    """Print the speed-up of two threads for requests of their own, for shared ones, and for a loop of Python."""
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        print("this interpreter has a lock: two threads decide in turn", file=sys.stderr)
        return 2
    lines = (ROOT / "tests" / "vectors" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    vector = max(map(json.loads, lines), key=lambda vector: len(vector["ir"]["rules"]))
    program = _core.Program(json.dumps(vector["ir"], sort_keys=True, separators=(",", ":")).encode())

    def deciding() -> Work:
        requests = [request_from_json(json.dumps(case["request"])) for case in vector["requests"]]
        return lambda: decide(program, requests)

    one, other = deciding(), deciding()
    sides = {
        "requests of their own": ((one,), (one, other)),
        "the same requests": ((one,), (one, one)),
        "a loop of Python": ((count,), (count, count)),
    }
    best = {name: [float("inf"), float("inf")] for name in sides}
    for _ in range(ROUNDS):
        for name, runs in sides.items():
            for place, works in enumerate(runs):
                best[name][place] = min(best[name][place], seconds(works))
    print(f"{len(vector['ir']['rules'])} rules, {best['requests of their own'][0] / CALLS * 1e9:.0f} ns a call")
    for name, (alone, together) in best.items():
        print(f"{2 * alone / together:5.2f} times, {name}")
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


def seconds(works: tuple[Work, ...]) -> float:
    """Return the time in which threads do their work, without their start."""
    ready = threading.Barrier(len(works))
    spans: list[tuple[float, float]] = []

    def run(work: Work) -> None:
        ready.wait()
        started = time.perf_counter()
        work()
        spans.append((started, time.perf_counter()))

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(end for _, end in spans) - min(start for start, _ in spans)


if __name__ == "__main__":
    sys.exit(main())
