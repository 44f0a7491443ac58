"""Durable runs of three steps by Bobcat and by DBOS, in turn, on one PostgreSQL. `make bench-dbos` keeps the figures.

The server is started from the installed binaries with `fsync` on, and each side has a database of its own there. The
same statistics of the server count the statements, the commits and the waits for the disk of both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg

import bobcat
from dbos_page import update_page

HERE = Path(__file__).parent
CONCURRENT = (1, 8, 32)
ROUNDS = 3
SECONDS = 4.0
STATISTICS = {
    "statements": "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements JOIN pg_database ON oid = dbid "
    "WHERE datname = %(database)s",
    "commits": "SELECT xact_commit FROM pg_stat_database WHERE datname = %(database)s",
    "syncs": "SELECT wal_sync FROM pg_stat_wal",
}


@contextmanager
def server() -> Iterator[str]:
    """The URL of a PostgreSQL of this bench's own, which counts its statements."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    services = import_module("services")
    made = services.PostgresServer()
    command = made.command()
    made.command = lambda: [*command, "-c", "shared_preload_libraries=pg_stat_statements", "-c", "shared_buffers=64MB"]
    try:
        made.start()
        with psycopg.connect(made.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements")
            for name in ("with_bobcat", "with_dbos"):
                connection.execute(f"CREATE DATABASE {name}".encode())
        yield made.url
    finally:
        made.close()


def counted(url: str, database: str) -> dict[str, int]:
    """The counters of the server, after its processes have reported."""
    time.sleep(1.5)
    with psycopg.connect(url) as connection:
        found = {
            name: connection.execute(text.encode(), {"database": database}).fetchone()
            for name, text in STATISTICS.items()
        }
    return {name: int(row[0]) for name, row in found.items() if row is not None}


def measured(url: str, side: str, python: str, concurrent: int, seconds: float) -> dict[str, float]:
    """One slice of a side: its figures per run."""
    path = [str(HERE), *([str(Path(bobcat.__file__).parent.parent)] if side == "with_bobcat" else [])]
    program = HERE / "durable_peers" / f"{side}.py"
    database = url.rpartition("/")[0] + f"/{side}"
    command = [python, str(program), database, str(concurrent), str(seconds), os.urandom(4).hex()]
    before = counted(url, side)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    after = counted(url, side)
    every = found["runs"] + found["warm"]
    return {
        "runs_per_second": found["runs"] / found["seconds"],
        "ms_per_step": found["ms_per_step"],
        "cpu_ms_per_run": found["cpu_seconds"] / found["runs"] * 1000,
        **{f"{name}_per_run": (after[name] - before[name]) / every for name in STATISTICS},
    }


def measure(python: str, *, rounds: int = ROUNDS, seconds: float = SECONDS) -> dict[str, Any]:
    """All figures: of each, that of the round with the most runs. The sides take turns."""
    sides = {"bobcat": ("with_bobcat", sys.executable), "dbos": ("with_dbos", python)}
    best: dict[str, dict[str, dict[str, float]]] = {name: {} for name in sides}
    with server() as url:
        for side, interpreter in sides.values():  # the first start makes the tables
            measured(url, side, interpreter, 1, 0.2)
        for _ in range(rounds):
            for concurrent in CONCURRENT:
                for name, (side, interpreter) in sides.items():
                    seen = measured(url, side, interpreter, concurrent, seconds)
                    known = best[name].get(str(concurrent))
                    if known is None or seen["runs_per_second"] > known["runs_per_second"]:
                        best[name][str(concurrent)] = seen
    version = subprocess.run(
        [python, "-c", "import importlib.metadata as m; print(m.version('dbos'))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {
        "command": "make bench-dbos",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_average": os.getloadavg()[0],
        "dbos": version.stdout.strip(),
        "rounds": rounds,
        "sides": best,
    }


def main() -> None:
    """Measure, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--dbos-python", required=True, help="the interpreter of durable_peers/requirements.txt")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--keep", type=Path, help="write the figures into this file, and the table into the page")
    given = parser.parse_args()
    results = measure(given.dbos_python, rounds=given.rounds, seconds=given.seconds)
    text = json.dumps(results, indent=2)
    print(text)
    if given.keep is not None:
        given.keep.write_text(f"{text}\n", encoding="utf-8")
        update_page(results)


if __name__ == "__main__":
    main()
