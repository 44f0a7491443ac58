"""The cost of a journal, for every store: `python benches/stores.py` prints a table.

`make bench-stores` keeps the figures. PostgreSQL and Redis are started from
the installed binaries, with `fsync` on and `appendfsync always`; files are in the directory for temporary files, so the
disk below it is what is measured. Every append is fenced, as the run loop's are, and waits for the disk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import bobcat
from bobcat.stores.protocol import DurableStore
from loop import Agent, prepare

SECONDS = 2.0
"""Seconds of counted appends."""

ROUNDS = 3
REPEATS = 10
"""Runs of a round that take milliseconds."""

CONCURRENT = (1, 16)
STEPS = 300
"""Steps of a run whose cost is measured."""

JOURNAL = 10_000
"""Steps of the journal that is resumed."""

BODY = {"step": 7, "type": "tool_call", "tool": "noop", "args": {"text": "x" * 200}, "call_id": "call_7"}


@contextmanager
def stores() -> Iterator[dict[str, Callable[[], DurableStore]]]:
    """The constructor of each store."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    services = import_module("services")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bobcat-bench-")))
        postgres, redis = services.PostgresServer(), services.RedisServer()
        for server in (postgres, redis):
            stack.callback(server.close)
            server.start()
        yield {
            "memory": bobcat.MemoryStore,
            "sqlite": lambda: bobcat.SQLiteStore(directory / "runs.db"),
            "file": lambda: bobcat.FileStore(directory / "journals"),
            "redis": lambda: bobcat.RedisStore(redis.url, pool_size=16),
            "postgres": lambda: bobcat.PostgresStore(postgres.url, pool_size=16),
        }


async def appends_per_second(make: Callable[[], DurableStore], runs: int) -> float:
    """Fenced appends to several runs at the same time."""
    store = make()
    label, now, kept = os.urandom(8).hex(), datetime.now(UTC), 0
    leases = [await store.acquire(f"{label}-{number}", owner="bench", seconds=600) for number in range(runs)]
    until = time.perf_counter() + SECONDS

    async def write(lease: Any) -> None:
        nonlocal kept
        seq = 0
        while time.perf_counter() < until:
            record = bobcat.StepRecord(lease.run_id, seq, "model.output", "0" * 32, BODY, now)
            await store.append_fenced(record, lease)
            seq, kept = seq + 1, kept + 1

    started = time.perf_counter()
    await asyncio.gather(*(write(lease) for lease in leases))
    took = time.perf_counter() - started
    await store.aclose()
    return kept / took


async def seconds_per_step(make: Callable[[], DurableStore] | None) -> float:
    """A run whose agent and tool do nothing."""
    tools, policy = prepare(bobcat)
    options: dict[str, Any] = {}
    if make is not None:
        options = {"store": make(), "run_id": os.urandom(8).hex()}
    agent: Any = Agent(bobcat, STEPS)  # any object with `step`
    started = time.perf_counter()
    result = await bobcat.run_agent(agent, "t", tools=tools, policy=policy, budget=bobcat.Budget.unlimited(), **options)
    took = time.perf_counter() - started
    if result.error:
        raise RuntimeError(result.error)
    if options:
        await options["store"].aclose()
    return took / STEPS


class _Leaving(Agent):
    """Calls the tool a number of times, and fails; with no calls to make, it answers."""

    def __init__(self, steps: int) -> None:
        super().__init__(bobcat, steps)
        self._leaves = steps > 0

    async def step(self, conversation: Any) -> object:
        reply = await super().step(conversation)
        if self._leaves and isinstance(reply, bobcat.FinalAnswer):
            raise RuntimeError("left")
        return reply


async def long_journal() -> list[bobcat.StepRecord]:
    """The records of a run of 10,000 steps that failed."""
    tools, policy = prepare(bobcat)
    store = bobcat.MemoryStore()
    agent: Any = _Leaving(JOURNAL)  # any object with `step`
    await bobcat.run_agent(
        agent, "t", tools=tools, policy=policy, budget=bobcat.Budget.unlimited(), store=store, run_id="long"
    )
    return list(await store.load("long"))


async def seconds_to_resume(make: Callable[[], DurableStore], records: list[bobcat.StepRecord]) -> tuple[float, float]:
    """From the call to its end, for a run that answers at once; and what loading alone takes."""
    store = make()
    for start in range(0, len(records), 64):
        await asyncio.gather(*(store.append(record) for record in records[start : start + 64]))
    started = time.perf_counter()
    await store.load("long")
    loaded = time.perf_counter() - started
    tools, policy = prepare(bobcat)
    agent: Any = _Leaving(0)  # as above
    started = time.perf_counter()
    result = await bobcat.run_agent(
        agent, "t", tools=tools, policy=policy, budget=bobcat.Budget.unlimited(), store=store, run_id="long"
    )
    took = time.perf_counter() - started
    if result.error or result.steps_taken < JOURNAL:
        raise RuntimeError(result.error or f"{result.steps_taken} steps")
    await store.aclose()
    return took, loaded


def fsync_microseconds() -> float:
    """The time of a short write to the disk."""
    with tempfile.TemporaryFile() as file:
        took = []
        for _ in range(200):
            file.write(b"x" * 500)
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - started)
    return statistics.median(took) * 1e6


def measure() -> dict[str, Any]:
    """All figures. Of several rounds, the best; the stores take turns."""
    records = asyncio.run(long_journal())
    with stores() as makes:
        figures: dict[str, dict[str, float]] = {name: {} for name in makes}
        plain = float("inf")
        for _ in range(ROUNDS):
            plain = min(plain, *(asyncio.run(seconds_per_step(None)) for _ in range(REPEATS)))
            for name, make in makes.items():
                seen = figures[name]
                for runs in CONCURRENT:
                    key = f"appends_per_second_{runs}"
                    seen[key] = max(seen.get(key, 0.0), asyncio.run(appends_per_second(make, runs)))
                repeats = REPEATS if name == "memory" else 1  # the others take seconds, of which noise is little
                best = min(asyncio.run(seconds_per_step(make)) for _ in range(repeats)) * 1e6
                seen["microseconds_per_step"] = min(seen.get("microseconds_per_step", best), best)
        for name, make in makes.items():
            figures[name]["microseconds_per_step"] -= plain * 1e6
            took, loaded = asyncio.run(seconds_to_resume(make, records))
            figures[name] |= {"resume_seconds": took, "load_seconds": loaded}
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_average": os.getloadavg()[0],
        "fsync_microseconds": fsync_microseconds(),
        "plain_microseconds_per_step": plain * 1e6,
        "records_of_the_resumed_run": len(records),
        "stores": figures,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true")
    if parser.parse_args().json:
        print(json.dumps(measure(), indent=2))
        return
    results = measure()
    print(f"fsync {results['fsync_microseconds']:.0f} µs; a step without a journal", end=" ")
    print(f"{results['plain_microseconds_per_step']:.0f} µs")
    print(f"{'store':10}{'appends/s, 1 run':>18}{'16 runs':>10}{'µs per step':>13}{'resume s':>10}")
    for name, seen in results["stores"].items():
        print(
            f"{name:10}{seen['appends_per_second_1']:18,.0f}{seen['appends_per_second_16']:10,.0f}"
            f"{seen['microseconds_per_step']:13,.0f}{seen['resume_seconds']:10.2f}"
        )


if __name__ == "__main__":
    main()
