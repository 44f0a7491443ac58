"""Figures that an average hides: the slowest calls, first calls, cold caches, memory; and many decisions at once."""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import bobcat
from bobcat.model.request_json import request_from_json
from corpora.mixed import workload
from engines.sides import python_engine
from peers import lynx_side

Row = dict[str, Any]  # Any: JSON

SIZES = (1, 10, 100, 1_000, 10_000)
SPREADS, WARMING, PASSES = 5, 3, 60
EVICTED = 96
"""MiB walked through between two calls: more than the caches of a processor hold."""
LESS_EVICTED = (2, 8, 16, 32)
"""MiB that leave something in the outer caches, as other work of a program does."""
COLD_CALLS = 150
MOST_COLD = 1_000
"""Rules, at most, of which lynx-agent is asked with cold caches: it would take seconds to compile and run more."""
BATCH = 20_000
"""Requests, or lines, at once: two threads are started for 20 ms of work each, or more."""
BATCH_ROUNDS = 75
BUSY = """
import sys, bobcat
bundle, lines = bobcat.load_bundle(sys.argv[1]), open(sys.argv[2], "rb").read()
bobcat.evaluate_json(bundle, lines)
print("ready", flush=True)
while True:
    bobcat.evaluate_json(bundle, lines)
"""
MEMORY = """
import gc, json, sys, bobcat
from bobcat.model.request_json import request_from_json
def resident():
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096
bobcat.load_bundle(sys.argv[3]), bobcat.request_from_json
requests = [request_from_json(json.loads(line)) for line in open(sys.argv[2])]
before = resident()
bundle = bobcat.load_bundle(sys.argv[1])
loaded = resident()
for request in requests:
    bobcat.evaluate(bundle, request)
print(json.dumps([loaded - before, resident() - before]))
"""


def spread(rules: int) -> Row:
    """Single calls of the mixed workload, timed one by one: of five runs, the one whose p99 / p50 is in the middle.

    `as_they_come` is the ratio of five more runs without rounds that warm up, in which garbage is collected as ever.
    """
    work = workload(rules)
    bundle = bobcat.compile_policy(work.text)
    requests = [request_from_json(call) for call in work.requests]
    for request in requests:
        bobcat.evaluate(bundle, request)
    as_they_come = statistics.median(_as_they_come(bundle, requests) for _ in range(SPREADS))
    runs = sorted((_spread(bundle, requests) for _ in range(SPREADS)), key=lambda run: float(run["ratio"]))
    return {"rules": rules} | runs[SPREADS // 2] | {"as_they_come": round(as_they_come, 2)}


def _as_they_come(bundle: bobcat.PolicyBundle, requests: list[bobcat.ActionRequest]) -> float:
    """p99 / p50 of all calls of one run."""
    evaluate, now = bobcat.evaluate, time.perf_counter_ns
    taken: list[int] = []
    for _ in range(PASSES):
        for request in requests:
            started = now()
            evaluate(bundle, request)
            taken.append(now() - started)
    clock = min(_clock() for _ in range(1_000))
    p50, p99 = _percentiles(taken)
    return (p99 - clock) / (p50 - clock)


def _spread(bundle: bobcat.PolicyBundle, requests: list[bobcat.ActionRequest]) -> Row:
    """One run: half of the calls take at most p50, all but a hundredth p99.

    A collection of garbage, which looks at every object, comes first and leaves other things in the caches: the first
    calls after it, one of each request, are `after_gc_ns` in the mean and not among the others.
    """
    evaluate, now = bobcat.evaluate, time.perf_counter_ns
    taken: list[int] = []
    best = [1 << 62] * len(requests)
    after_gc = 0.0
    gc.collect()
    gc.disable()
    for turn in range(WARMING + PASSES):
        if turn == 1:
            after_gc = statistics.mean(taken)
        if turn == WARMING:
            taken.clear()
        for at, request in enumerate(requests):
            started = now()
            evaluate(bundle, request)
            ended = now()
            taken.append(ended - started)
            best[at] = min(best[at], ended - started)
    clock = min(_clock() for _ in range(1_000))
    gc.enable()
    p50, p99 = (value - clock for value in _percentiles(taken))
    calm50, calm99 = (value - clock for value in _percentiles(best))
    return {
        "p50_ns": p50,
        "p99_ns": p99,
        "ratio": round(p99 / p50, 2),
        "best_p50_ns": calm50,
        "best_p99_ns": calm99,
        "best_ratio": round(calm99 / calm50, 2),
        "after_gc_ns": round(after_gc - clock),
    }


def first() -> Row:
    """Calls of 1,000 rules: the first, the first about another tool, of a prepared bundle too, and a later one."""
    work = workload(1_000)
    data = bobcat.compile_policy(work.text).to_bytes()
    by_tool = {call["tool"]: request_from_json(call) for call in work.requests}
    requests = list(by_tool.values())
    firsts, others, prepared, later = [], [], [], []
    preparing = []
    for turn in range(9):
        bundle = bobcat.load_bundle(data)
        order = requests[turn % len(requests) :] + requests[: turn % len(requests)]
        taken = [_timed(partial(bobcat.evaluate, bundle, request)) for request in order]
        firsts.append(taken[0])
        others += taken[1:]
        later += [_timed(partial(bobcat.evaluate, bundle, request)) for request in order]
        bundle = bobcat.load_bundle(data)
        preparing.append(_timed(bundle.prepare))
        prepared += [_timed(partial(bobcat.evaluate, bundle, request)) for request in order]
    return {
        "rules": 1_000,
        "first_us": round(statistics.median(firsts) / 1_000, 1),
        "first_of_a_tool_us": round(statistics.median(others) / 1_000, 1),
        "prepare_ms": round(statistics.median(preparing) / 1_000_000, 1),
        "first_prepared_us": round(statistics.median(prepared) / 1_000, 1),
        "later_us": round(statistics.median(later) / 1_000, 2),
    }


def cold(rules: int, evicted: int = EVICTED) -> Row:
    """One call after so many MiB went through the caches; so Python by hand, lynx-agent, and an empty call."""
    work = workload(rules)
    bundle, by_hand = bobcat.compile_policy(work.text), python_engine(work)
    requests = [request_from_json(call) for call in work.requests]
    ways: dict[str, Callable[[int], Callable[[], object]]] = {
        "us": lambda at: partial(bobcat.evaluate, bundle, requests[at]),
        "by_hand_us": lambda at: partial(by_hand.decide, by_hand.requests[at]),
        "empty_us": lambda _: _nothing,
    }
    if rules <= MOST_COLD:
        lynx = lynx_side(work)
        ways["lynx_us"] = lambda at: partial(lynx.evaluate, lynx.bundle, lynx.requests[at])
    for at in range(len(requests)):
        for way in ways.values():
            way(at)()
    other = bytearray(evicted << 20)
    taken: dict[str, list[int]] = {name: [] for name in ways}
    for turn in range(COLD_CALLS):
        for name, way in ways.items():
            action = way(turn % len(requests))
            other.find(b"\x01")
            taken[name].append(_timed(action))
    return {"rules": rules, "mib": evicted} | {
        name: round(statistics.median(mine) / 1_000, 2) for name, mine in taken.items()
    }


def memory(rules: int) -> Row:
    """Resident memory of a loaded bundle, and after 200 calls of the mixed workload, in a process of its own."""
    work, small = workload(rules), workload(1)
    with tempfile.TemporaryDirectory() as scratch:
        bundle, tiny, requests = (Path(scratch) / name for name in ("bundle", "tiny", "requests"))
        bobcat.compile_policy(work.text).save(bundle)
        bobcat.compile_policy(small.text).save(tiny)
        requests.write_text("\n".join(map(json.dumps, work.requests)), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, bundle, requests, tiny], check=True, capture_output=True, text=True
        )
    loaded, used = json.loads(done.stdout)
    return {"rules": rules, "loaded_mib": round(loaded / 2**20, 1), "used_mib": round(used / 2**20, 1)}


def batches(rules: int) -> Row:
    """Millions of decisions a second: `evaluate_many` on requests, `evaluate_json` on lines with one thread and two.

    `two_processes_times` is what the machine itself allows: how fast one thread is while another process does the same.
    """
    work = workload(rules)
    bundle = bobcat.compile_policy(work.text)
    requests = [request_from_json(call) for call in work.requests] * (BATCH // len(work.requests))
    lines = "".join(json.dumps(call) + "\n" for call in work.requests).encode() * (BATCH // len(work.requests))

    def parse() -> None:
        bobcat.evaluate_json(bundle, lines)

    def two() -> None:
        threads = [threading.Thread(target=parse) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    many = partial(bobcat.evaluate_many, bundle, requests)
    best = [float("inf")] * 3
    for _ in range(BATCH_ROUNDS):
        taken = [_timed(action) / 1e9 for action in (many, parse, two)]
        best = [min(pair) for pair in zip(best, taken, strict=True)]
    shared = min(_timed(parse) / 1e9 for _ in _while_another_does(bundle, lines))
    return {
        "rules": rules,
        "many": round(len(requests) / best[0] / 1e6, 2),
        "json": round(len(requests) / best[1] / 1e6, 2),
        "json_two_threads": round(2 * len(requests) / best[2] / 1e6, 2),
        "two_threads_times": round(2 * best[1] / best[2], 2),
        "two_processes_times": round(2 * best[1] / shared, 2),
        "bytes_a_line": round(len(lines) / len(requests)),
    }


def _while_another_does(bundle: bobcat.PolicyBundle, lines: bytes) -> Iterator[None]:
    """`BATCH_ROUNDS` turns, while another process decides on the same lines."""
    with tempfile.TemporaryDirectory() as scratch:
        policy, requests = Path(scratch, "bundle"), Path(scratch, "requests")
        bundle.save(policy)
        requests.write_bytes(lines)
        command = [sys.executable, "-c", BUSY, str(policy), str(requests)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            for _ in range(BATCH_ROUNDS):
                yield
            other.kill()


def _timed(action: Callable[[], object]) -> int:
    started = time.perf_counter_ns()
    action()
    return time.perf_counter_ns() - started


def _nothing() -> None:
    pass


def _clock() -> int:
    started = time.perf_counter_ns()
    return time.perf_counter_ns() - started


def _percentiles(taken: list[int]) -> tuple[int, int]:
    ordered = sorted(taken)
    return ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
