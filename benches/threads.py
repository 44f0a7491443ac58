"""The cost of threads: `python benches/threads.py` prints tables, `--format json` the figures.

The latency that Bobcat adds to a model's first delta, events per second, a turn of a long thread beside one of a short
thread, operations of the ledger per second, and the memory of a process over many turns. `--only PART` measures one
part. `make bench-threads` keeps the figures and writes them into the page. PostgreSQL is started from the installed
binaries, with `fsync` on; files are in the directory for temporary files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import bobcat
from bobcat.model.deltas import TextDelta
from threads_page import FIGURES, tables

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.append(str(TESTS))

PARTS = ("latency", "events", "long", "ledger", "soak")
STEPS = 45
"""Calls of a turn whose events are counted."""
SHORT, LONG = 100, 10_000
"""Messages of the threads that are compared."""

Makers = Mapping[str, Callable[[], Any]]


class Scripted:
    """Says a word and makes a call, many times, at once."""

    async def step(self, conversation: Sequence[bobcat.Message]) -> Any:
        done = sum(message.role == "tool" for message in conversation)
        usage = bobcat.Usage(100, 10, model="m")
        if done >= STEPS:
            return bobcat.FinalAnswer("done", usage)
        return bobcat.ToolCall("look", {"place": f"{done}"}, f"call_{done}", usage, text="Looking.")

    async def stream(self, conversation: Sequence[bobcat.Message]) -> AsyncIterator[Any]:
        yield TextDelta("Looking.")
        yield await self.step(conversation)


async def events_per_second(make: Callable[[], Any], turns: int) -> dict[str, float]:
    """Events that a caller of `send` receives from a turn, per second: the median turn."""
    turns_of = import_module("thread_turns")
    store, rates, count = make(), [], 0
    first = turns_of.talk(store, "events", Scripted(), window=bobcat.threads.LastMessages(1))
    async with first as thread:
        for _ in range(turns + 1):
            began, count = time.perf_counter(), 0
            async for _ in thread.send("look around"):
                count += 1
            rates.append(count / (time.perf_counter() - began))
    await store.aclose()
    return {"events_per_second": round(statistics.median(rates[1:])), "events_of_a_turn": count}


async def long_and_short(make: Callable[[], Any], rounds: int) -> dict[str, float]:
    """Milliseconds of a turn in threads of 100 and of 10,000 messages, in turn. `opened` is by a new `Thread`."""
    turns_of = import_module("thread_turns")
    size, store = turns_of.TURN_MESSAGES, make()
    times: dict[str, list[float]] = {name: [] for name in ("short", "long", "short_opened", "long_opened")}

    async def timed(name: str, thread: Any) -> None:
        began = time.perf_counter()
        await turns_of.take(thread, 1)
        times[name].append((time.perf_counter() - began) * 1000)

    async with turns_of.talk(store, "long") as long:
        await turns_of.take(long, LONG // size)
        for number in range(rounds):
            async with turns_of.talk(store, f"short-{number}") as short:
                await turns_of.take(short, SHORT // size)
                await timed("short", short)
                await timed("long", long)
            for name, id in (("short_opened", f"short-{number}"), ("long_opened", "long")):
                async with turns_of.talk(store, id) as opened:
                    await timed(name, opened)
    await store.aclose()
    medians = {name: statistics.median(found) for name, found in times.items()}
    ratios = {
        "ratio": statistics.median(b / a for a, b in zip(times["short"], times["long"], strict=True)),
        "ratio_opened": statistics.median(
            b / a for a, b in zip(times["short_opened"], times["long_opened"], strict=True)
        ),
    }
    return {name: round(value, 2) for name, value in {**medians, **ratios}.items()}


def ledger_rates(stores: Mapping[str, str], count: int) -> dict[str, dict[str, float]]:
    """Reservations and commits per second, of one process and of four: `benches/ledger.py`."""
    measure = import_module("ledger").measure
    return {name: {str(n): round(measure(store, n, count)) for n in (1, 4)} for name, store in stores.items()}


def soak(directory: Path, turns: int) -> dict[str, int]:
    """Resident KiB of a process over its turns on SQLite."""
    program = str(TESTS / "threads" / "soak_process.py")
    arguments = [str(directory / "soak.db"), str(turns), str(max(1, turns // 8))]
    done = subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True, check=True)
    return {number: int(size) for number, size in map(str.split, done.stdout.splitlines())}


def measured(only: Sequence[str], scale: float) -> dict[str, Any]:
    """The figures of the parts."""
    services = import_module("services")
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bobcat-bench-")))
        postgres = services.PostgresServer()
        stack.callback(postgres.close)
        postgres.start()
        stores: Makers = {
            "memory": bobcat.MemoryStore,
            "SQLite": lambda: bobcat.SQLiteStore(directory / f"{time.monotonic_ns()}.db"),
            "PostgreSQL": lambda: bobcat.PostgresStore(postgres.url),
        }
        files: Makers = {"files": lambda: bobcat.FileStore(directory / f"journals-{time.monotonic_ns()}")}
        if "latency" in only:
            latency = import_module("threads_latency")
            found["latency"] = asyncio.run(latency.measure(stores, max(10, int(150 * scale))))
        every = {**stores, **files}
        if "events" in only:
            turns = max(2, int(10 * scale))
            found["events"] = {name: asyncio.run(events_per_second(make, turns)) for name, make in every.items()}
        if "long" in only:
            rounds = max(3, int(15 * scale))
            found["long"] = {name: asyncio.run(long_and_short(make, rounds)) for name, make in every.items()}
        if "ledger" in only:
            places = {"SQLite": str(directory / "ledger.db"), "PostgreSQL": postgres.url}
            found["ledger"] = ledger_rates(places, max(20, int(200 * scale)))
        if "soak" in only:
            found["soak"] = soak(directory, max(8, int(2000 * scale)))
    return found


def machine() -> dict[str, Any]:
    """The machine and the interpreter that the figures depend on."""
    cpu = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, "cpu": cpu, "cores": os.cpu_count(), "load_average": round(os.getloadavg()[2], 1)}


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []


def main() -> None:
    """Measure, and print or keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of rounds and turns")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="merge the figures into FILE, and update the page")
    given = parser.parse_args()
    results = measured(given.only or PARTS, given.scale)
    results["machine"] = machine()
    if given.keep is not None:
        before = json.loads(given.keep.read_text("utf-8")) if given.only and given.keep.exists() else {}
        loads = [each["machine"]["load_average"] for each in (before, results) if each]
        results = {**before, **results, "machine": {**results["machine"], "load_average": max(loads)}}
        given.keep.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        FIGURES.update(results)
    print(json.dumps(results, indent=1) if given.format == "json" else tables(results))


if __name__ == "__main__":
    main()
