"""Operations per second of the ledger: a reservation and its commit are two operations, each a durable transaction.

python benches/ledger.py [--count N] [--processes N] [--postgres URL]

Processes share one store and the caps of a day and of a tenant; the directory for SQLite is that of `TMPDIR`.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bobcat import Cap, Ledger, Usage

CAPS = [Cap("day", usd=1_000_000), Cap("run", usd=100), Cap("month", usd=1_000_000, by="tenant")]


async def spend(store: str, run: str, count: int) -> None:
    """Reserve and commit `count` calls, one after the other, as soon as stdin ends."""
    async with Ledger(store, CAPS) as ledger:
        await one(ledger, run)
        print("ready", flush=True)
        sys.stdin.read()
        for _ in range(count):
            await one(ledger, run)


async def one(ledger: Ledger, run: str) -> None:
    """Reserve and commit one call."""
    held = await ledger.reserve(model="gpt-5", input_tokens=1000, output_tokens=100, run=run, tenant="acme")
    await ledger.commit(held, Usage(900, 50, model="gpt-5"))


def measure(store: str, processes: int, count: int) -> float:
    """Return the operations per second of all processes together, without the time that they take to start."""
    program = [sys.executable, __file__, "--store", store, "--count", str(count)]
    started = [
        subprocess.Popen([*program, "--run", f"run-{each}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for each in range(processes)
    ]
    for each in started:
        assert each.stdout is not None
        each.stdout.readline()
    began = time.perf_counter()
    for each in started:
        assert each.stdin is not None
        each.stdin.close()
    for each in started:
        each.wait()
    return 2 * count * processes / (time.perf_counter() - began)


def main() -> None:
    """Measure both stores, or spend as one of the processes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--postgres", metavar="URL")
    parser.add_argument("--store", help=argparse.SUPPRESS)
    parser.add_argument("--run", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.store is not None:
        asyncio.run(spend(given.store, given.run, given.count))
        return
    with tempfile.TemporaryDirectory() as directory:
        for store in filter(None, (str(Path(directory) / "ledger.db"), given.postgres)):
            kind = "PostgreSQL" if "://" in store else "SQLite"
            for processes in (1, given.processes):
                print(f"{kind:<10}  {processes} processes  {measure(store, processes, given.count):,.0f} operations/s")


if __name__ == "__main__":
    main()
