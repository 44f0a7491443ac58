"""Idle cost of a worker by history, and the time from the queueing of a run to its start, by path. Prints a table.

The store is filled with finished, scheduled and suspended runs, then one worker process sleeps on it for a while. CPU
time is that of the process (`/proc`). PostgreSQL counts the transactions of the database (`pg_stat_database`), each of
one statement here; Redis counts commands, those inside scripts too; those of SQLite are traced in this process.

    python benches/idle.py --store sqlite --store postgres --store redis --finished 100000 --waiting 10000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from bobcat import Approvals
from bobcat.stores.urls import open_store
from bobcat.workers import Jobs

sys.path.insert(0, str(Path(__file__).parent))

APP = Path(__file__).with_name("idle_app.py")
SETTLE_SECONDS = 6.0
"""Time for a worker to start before the measurement begins."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Place:
    """A store of this bench: its URL, a filler, and a counter of the statements that it has executed."""

    url: str
    fill: Callable[[int, int], None]
    statements: Callable[[], int] | None


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def sqlite_place() -> Iterator[Place]:
    """A SQLite file, with rows written directly."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "runs.db"

        def fill(finished: int, waiting: int) -> None:
            now = time.time_ns() // 1000
            later = now + 3_600_000_000
            with sqlite3.connect(path) as connection:
                for status, count, run_at, look in (
                    ("succeeded", finished, now, None), ("queued", waiting, later, None),
                    ("suspended", waiting, now, later),
                ):  # fmt: skip
                    connection.executemany(
                        """INSERT INTO bobcat_runs (run_id, status, detail, fence, owner, expires, created, updated,
                            kind, tenant, priority, run_at, place, look)
                        VALUES (?, ?, '{}', 1, NULL, 0, ?, ?, 'short', ?, 0, ?, ?, ?)""",
                        ((f"{status}-{n}", status, now, now, f"t{n % 10}", run_at, n, look) for n in range(count)),
                    )

        yield Place(f"sqlite:////{str(path).lstrip('/')}", fill, None)


@contextmanager
def postgres_place() -> Iterator[Place]:
    """A database of this bench's own on the server that the tests use."""
    import psycopg

    server = import_module("services").PostgresServer()
    server.start()
    url = server.url

    def fill(finished: int, waiting: int) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            for status, count, run_at, look in (
                ("succeeded", finished, "now()", "NULL"), ("queued", waiting, "now() + interval '1 h'", "NULL"),
                ("suspended", waiting, "now()", "now() + interval '1 h'"),
            ):  # fmt: skip
                connection.execute(
                    f"""INSERT INTO bobcat.runs (run_id, status, kind, tenant, run_at, place, look)
                    SELECT '{status}-' || n, '{status}', 'short', 't' || n % 10, {run_at}, n, {look}
                    FROM generate_series(1, {count}) AS n""".encode()
                )
            connection.execute("VACUUM ANALYZE bobcat.runs")

    def statements() -> int:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT pg_stat_force_next_flush()")
            row = connection.execute(
                "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
            return int(row[0]) if row else 0

    try:
        yield Place(url, fill, statements)
    finally:
        server.close()


@contextmanager
def redis_place() -> Iterator[Place]:
    """A Redis server of this bench's own."""
    import redis

    server = import_module("services").RedisServer()
    server.start()
    client = redis.Redis.from_url(server.url)

    def fill(finished: int, waiting: int) -> None:
        asyncio.run(fill_redis(server.url, finished, waiting))

    def statements() -> int:
        return int(client.info("stats")["total_commands_processed"])

    try:
        yield Place(server.url, fill, statements)
    finally:
        client.close()
        server.close()


async def fill_redis(url: str, finished: int, waiting: int) -> None:
    """Queue and end runs through the store, 64 at once."""
    from bobcat.stores.protocol import QueueEntry
    from bobcat.stores.queue import with_queue

    async with aclosing(open_store(url)) as opened:
        store = with_queue(opened)
        now = await store.now()

        async def add(status: Any, n: int) -> None:
            run_at = now + timedelta(hours=1)
            if status != "succeeded":
                await store.queue(f"{status}-{n}", QueueEntry("short", run_at, f"t{n % 10}"))
            if status != "queued":
                await store.set_status(f"{status}-{n}", status)
            if status == "suspended":
                await store.look_at(f"{status}-{n}", run_at)

        for status, total in (("succeeded", finished), ("queued", waiting), ("suspended", waiting)):
            for start in range(0, total, 64):
                await asyncio.gather(*(add(status, n) for n in range(start, min(start + 64, total))))


PLACES = {"sqlite": sqlite_place, "postgres": postgres_place, "redis": redis_place}


@contextmanager
def worker(url: str, notes: Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A worker process, with these environment variables too."""
    command = [sys.executable, "-m", "bobcat", "worker", str(APP), "--store", url]
    environment = {**os.environ, "BENCH_NOTES": str(notes), **variables}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    process.stderr.readline()
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def idle(place: Place, notes: Path, seconds: float) -> dict[str, float]:
    """Share of a core, and statements a second, of a worker that sleeps."""
    with worker(place.url, notes) as process:
        time.sleep(SETTLE_SECONDS)
        counted = place.statements() if place.statements else 0
        began, used = time.perf_counter(), cpu_seconds(process.pid)
        time.sleep(seconds)
        took = time.perf_counter() - began
        found = {"core": (cpu_seconds(process.pid) - used) / took}
        if place.statements:
            found["statements"] = (place.statements() - counted) / took
    return found


def traced_statements(place: Place, seconds: float) -> float:
    """Statements a second of a SQLite worker in this process."""
    from bobcat.workers import Runner, StoreDispatcher
    from idle_app import workers

    thread: Any = import_module("bobcat.stores.sqlite.worker")  # Any: a name of it is replaced
    count, connect = 0, thread.connect

    def traced(path: str, **options: Any) -> Any:
        def note(_: str) -> None:
            nonlocal count
            count += 1

        found = connect(path, **options)
        found.connection.set_trace_callback(note)
        return found

    async def main() -> float:
        nonlocal count
        async with aclosing(open_store(place.url)) as store:
            stop = asyncio.Event()
            working = asyncio.create_task(
                StoreDispatcher().work(Runner(workers, store), concurrency=4, stop=stop, grace_seconds=0)
            )
            await asyncio.sleep(1)
            count = 0
            await asyncio.sleep(seconds)
            found = count / seconds
            stop.set()
            await working
            return found

    thread.connect = traced
    try:
        return asyncio.run(main())
    finally:
        thread.connect = connect


async def starts(place: Place, notes: Path, rounds: int) -> dict[str, float]:
    """Median milliseconds from the begin of each call until the run's function was called."""
    found: dict[str, float] = {}
    async with aclosing(open_store(place.url)) as store:
        jobs, desk = Jobs(store), Approvals(store)

        async def enqueue(run_id: str) -> None:
            await jobs.enqueue("short", run_id=run_id)

        async def grant(run_id: str, asking: str | None = None) -> None:
            (asked,) = await desk.list(run_id=asking or run_id)
            await desk.grant(asked.id, approver="alice")

        async def grant_turn(run_id: str) -> None:
            await grant(run_id, f"thread:{run_id}#1")

        async def ask_in_thread(run_id: str) -> None:
            await ask(run_id, thread=run_id)

        async def ask(run_id: str, thread: str = "") -> None:
            await jobs.enqueue("asks", run_id=run_id, thread=thread)
            while (run := await store.run(run_id)) is None or run.status != "suspended":  # noqa: ASYNC110 - as below
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)

        async def scheduled(run_id: str) -> None:
            at = await store.now() + timedelta(seconds=0.4)
            await jobs.enqueue("short", run_id=run_id, run_at=at)
            await asyncio.sleep(max(0.0, (at - datetime.now(UTC)).total_seconds()))

        async def nothing(run_id: str) -> None:
            return

        paths: Mapping[str, tuple[Callable[[str], Awaitable[None]], Callable[[str], Awaitable[None]]]] = {
            "enqueue": (nothing, enqueue), "grant": (ask, grant), "at its time": (nothing, scheduled),
            "grant of a turn": (ask_in_thread, grant_turn),
        }  # fmt: skip
        for path, (prepare, act) in paths.items():
            took = []
            for _ in range(rounds):
                run_id = uuid.uuid4().hex
                await prepare(run_id)
                calls = noted(notes, run_id)
                began = time.time()
                await act(run_id)
                if path == "at its time":
                    began = time.time()
                while len(called := noted(notes, run_id)) == len(calls):  # noqa: ASYNC110 - another process writes it
                    await asyncio.sleep(0.002)
                took.append((called[-1] - began) * 1000)
                await asyncio.sleep(0.1)
            found[path] = statistics.median(took)
    return found


def noted(notes: Path, run_id: str) -> list[float]:
    """The times when the function of a run was called."""
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [float(line.split()[1]) for line in lines if line.startswith(f"{run_id} ")]


def main() -> None:
    """Measure, and print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="append", choices=list(PLACES))
    parser.add_argument("--finished", type=int, default=100_000)
    parser.add_argument("--waiting", type=int, default=10_000, help="scheduled, and as many suspended runs")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    figures: dict[str, Any] = {"python": platform.python_version(), "load": os.getloadavg()[0]}
    for name in asked.store or PLACES:
        with PLACES[name]() as place, tempfile.TemporaryDirectory() as directory:
            notes = Path(directory) / "notes"

            async def create(url: str = place.url) -> None:
                async with aclosing(open_store(url)) as store:
                    await store.runs(limit=1)

            asyncio.run(create())
            found: dict[str, Any] = {"empty": idle(place, notes, asked.seconds)}
            place.fill(asked.finished, asked.waiting)
            found["filled"] = idle(place, notes, asked.seconds)
            if place.statements is None:
                found["filled"]["statements"] = traced_statements(place, asked.seconds)
            with worker(place.url, notes, BENCH_TURNS="1"):
                time.sleep(SETTLE_SECONDS)
                found["start ms"] = asyncio.run(starts(place, notes, asked.rounds))
            figures[name] = found
            if not asked.json:
                print(name, json.dumps(found, indent=1), flush=True)
    if asked.json:
        print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
