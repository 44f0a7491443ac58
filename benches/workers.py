"""Workers: short runs per second, the wait of a run whose worker was killed, and of one whose time has come.

`make bench-workers` keeps the figures. PostgreSQL is started from the installed binaries, with `fsync` on; files are in
the directory for temporary files. A short run is one tool call and one answer: six records, each on the disk before
the next thing happens. All runs are queued, and all workers there, before the clock starts; it stops with the last run.
A start is measured from the time in the queue, the next one of a schedule or of a run that is tried again, until the
function of the run is called.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from bobcat.stores.protocol import DurableStore
from bobcat.stores.urls import open_store
from bobcat.workers import Jobs, Runner, StoreDispatcher
from workers_app import workers as app

APP = Path(__file__).with_name("workers_app.py")
RUNS = 200
CONCURRENCY = 8
ROUNDS = 3
TAKEOVERS = 5
LEASE_SECONDS = 3.0
"""Of the workers that are killed."""
PATIENCE = 180.0
FLAKY = 10
"""Runs that are tried three times."""
MINUTES = 5
"""Times of a schedule."""


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL of this bench's own."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    server = import_module("services").PostgresServer()
    try:
        server.start()
        yield server.url
    finally:
        server.close()


class Processes:
    """Workers as processes, on one store."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url, self.directory = url, directory
        self.notes = directory / f"notes-{os.urandom(4).hex()}"
        self.gate = directory / f"gate-{os.urandom(4).hex()}"
        self.running: list[subprocess.Popen[str]] = []

    def start(self, *, lease_seconds: float = 30.0, **variables: str) -> subprocess.Popen[str]:
        """A worker, which has said that it is there."""
        command = [
            sys.executable, "-m", "bobcat", "worker", str(APP), "--store", self.url,
            "--concurrency", str(CONCURRENCY), "--lease-seconds", str(lease_seconds),
        ]  # fmt: skip
        environment = {**os.environ, "BENCH_NOTES": str(self.notes), "BENCH_GATE": str(self.gate), **variables}
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self.running.append(process)
        assert process.stderr is not None
        said = process.stderr.readline()
        if " runs " not in said:
            raise RuntimeError(said + process.stderr.read())
        return process

    def end(self) -> None:
        """Kill them all."""
        for process in self.running:
            process.kill()
            process.communicate()

    def noted(self, text: str) -> tuple[int, float] | None:
        """The process and the time of a call."""
        return self.every_note().get(text)

    def every_note(self) -> dict[str, tuple[int, float]]:
        """The process and the time of each call, the first one of a text."""
        found: dict[str, tuple[int, float]] = {}
        for line in self.notes.read_text(encoding="utf-8").splitlines() if self.notes.exists() else ():
            said, pid, at = line.split()
            found.setdefault(said, (int(pid), float(at)))
        return found


async def until(true: Any, seconds: float = PATIENCE) -> Any:  # Any: what is waited for
    """The first true result of `true()`."""
    async with asyncio.timeout(seconds):
        while True:
            found = await true()
            if found:
                return found
            await asyncio.sleep(0.02)


async def queued(store: DurableStore) -> set[str]:
    """Short runs, put into the queue."""
    jobs, label = Jobs(store), os.urandom(4).hex()
    ids = [f"{label}-{number}" for number in range(RUNS)]
    for start in range(0, RUNS, 16):
        await asyncio.gather(*(jobs.enqueue("short", run_id=run_id) for run_id in ids[start : start + 16]))
    return set(ids)


async def in_process(url: str) -> float:
    """Runs per second of a worker in this process, on a store that is the queue too."""
    async with aclosing(open_store(url)) as store:
        ids = await queued(store)
        runner = Runner(app, store)
        started = time.perf_counter()
        await StoreDispatcher(until_idle=True).work(
            runner, concurrency=CONCURRENCY, stop=asyncio.Event(), grace_seconds=0
        )
        took = time.perf_counter() - started
        done = {run.run_id for run in await store.runs(status="succeeded", limit=10_000)}
        if not ids <= done:
            raise RuntimeError(f"{len(ids - done)} runs are not done")
        return RUNS / took


async def by_processes(url: str, directory: Path, count: int) -> float:
    """Runs per second of `count` workers, each a process."""
    processes = Processes(url, directory)
    async with aclosing(open_store(url)) as store:
        ids = await queued(store)
        try:
            for _ in range(count):
                await asyncio.to_thread(processes.start)
            await asyncio.sleep(2)  # procrastinate's workers take what they can, and wait at the gate
            opened = await store.now()
            processes.gate.touch()

            async def over() -> bool:
                done = await store.runs(status="succeeded", limit=RUNS)
                return ids <= {run.run_id for run in done}

            await until(over)
            last = max([run.updated for run in await store.runs(status="succeeded", limit=RUNS)])
            return RUNS / (last - opened).total_seconds()
        finally:
            processes.end()


async def takeover_seconds(url: str, directory: Path) -> float:
    """From `kill -9` of the worker at a run to the next call of that run on another worker."""
    processes = Processes(url, directory)
    pause, text = directory / f"pause-{os.urandom(4).hex()}", "call-1"
    async with aclosing(open_store(url)) as store:
        try:
            first = await asyncio.to_thread(processes.start, lease_seconds=LEASE_SECONDS)
            await Jobs(store).enqueue("long", {"pause": str(pause)})

            async def begun() -> object:
                return processes.noted("call-0")

            await until(begun)
            await asyncio.to_thread(processes.start, lease_seconds=LEASE_SECONDS)
            await asyncio.sleep(LEASE_SECONDS * int.from_bytes(os.urandom(1)) / 255)  # anywhere between two renewals
            first.send_signal(signal.SIGKILL)
            killed = time.time()
            pause.touch()

            async def taken() -> object:
                return processes.noted(text)

            pid, at = await until(taken)
            if pid == first.pid or at < killed:
                raise RuntimeError("the worker that was killed went on")
            return float(at - killed)
        finally:
            processes.end()


async def start_milliseconds(url: str, directory: Path) -> dict[str, list[float]]:
    """From the time of a run in the queue to the call of its function, of retries and of a schedule."""
    processes = Processes(url, directory)
    found: dict[str, list[float]] = {"retry": [], "schedule": []}
    async with aclosing(open_store(url)) as store:
        jobs, label = Jobs(store), os.urandom(4).hex()
        try:
            await asyncio.to_thread(processes.start, BENCH_CRON="* * * * *")
            for number in range(FLAKY):
                run_id, due = f"{label}-{number}", {1: await store.now()}
                await jobs.enqueue("flaky", run_id=run_id)

                async def over(run_id: str = run_id, due: dict[int, datetime] = due) -> bool:
                    run = await store.run(run_id)
                    if run is not None and run.queue is not None and run.status == "queued":
                        due[run.queue.attempts + 1] = run.queue.run_at
                    return run is not None and run.status == "succeeded"

                await until(over)
                calls = processes.every_note()
                found["retry"] += [(calls[f"{run_id}-{each}"][1] - due[each].timestamp()) * 1000 for each in (2, 3)]

            def ticks() -> dict[str, float]:
                return {text: at for text, (_, at) in processes.every_note().items() if text.startswith("ticking@")}

            async def ticked() -> bool:
                return len(ticks()) > MINUTES

            await until(ticked, 60.0 * (MINUTES + 3))
            for text, at in ticks().items():
                found["schedule"].append((at - datetime.fromisoformat(text.partition("@")[2]).timestamp()) * 1000)
            return found
        finally:
            processes.end()


def measure() -> dict[str, Any]:
    """All figures. Throughput is the best of several rounds, which take turns; takeover the median and the longest."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bobcat-bench-")))
        server = stack.enter_context(postgres())
        rates: dict[str, float] = {}

        def better(name: str, rate: float) -> None:
            rates[name] = max(rates.get(name, 0.0), rate)

        for number in range(ROUNDS):
            better("sqlite_in_process", asyncio.run(in_process(f"sqlite:///{directory}/runs{number}.db")))
            better("postgres_1_worker", asyncio.run(by_processes(server, directory, 1)))
            better("postgres_2_workers", asyncio.run(by_processes(server, directory, 2)))
        takeovers = {
            name: [asyncio.run(takeover_seconds(url, directory)) for _ in range(TAKEOVERS)]
            for name, url in (("postgres", server), ("sqlite", f"sqlite:///{directory}/takeover.db"))
        }
        starts = {
            name: asyncio.run(start_milliseconds(url, directory))
            for name, url in (("postgres", server), ("sqlite", f"sqlite:///{directory}/starts.db"))
        }
    return {
        "command": "make bench-workers",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_average": os.getloadavg()[0],
        "runs": RUNS,
        "concurrency": CONCURRENCY,
        "runs_per_second": rates,
        "lease_seconds": LEASE_SECONDS,
        "takeover_seconds": {
            name: {"median": statistics.median(each), "longest": max(each)} for name, each in takeovers.items()
        },
        "start_milliseconds": {
            name: {path: {"median": statistics.median(each), "longest": max(each)} for path, each in found.items()}
            for name, found in starts.items()
        },
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    results = measure()
    if wanted.json:
        print(json.dumps(results, indent=2))
        return
    for name, rate in results["runs_per_second"].items():
        print(f"{name:20}{rate:8.0f} runs per second")
    for name, each in results["takeover_seconds"].items():
        print(f"{name:20}{each['median']:8.1f} s to take over, {each['longest']:.1f} s at most")
    for name, paths in results["start_milliseconds"].items():
        for path, each in paths.items():
            print(f"{name:20}{each['median']:8.0f} ms from {path} to start, {each['longest']:.0f} ms at most")


if __name__ == "__main__":
    main()
