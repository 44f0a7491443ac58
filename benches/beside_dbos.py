"""Durable runs of three steps by Bobcat and by DBOS, in turn, on one PostgreSQL. `make bench-dbos` keeps the figures.

With `--checkout DIR` instead, the other side is Bobcat of another checkout, whose core must be built. The server is
started from the installed binaries with `fsync` on, and each side has a database of its own there. The
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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

import bobcat
from dbos_page import FIGURES

HERE = Path(__file__).parent
CONCURRENT = (1, 8, 32)
ROUNDS = 3
SECONDS = 4.0
CPU = ("cpu_ms_per_run", "server_cpu_ms_per_run")
STATISTICS = {
    "statements": "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements JOIN pg_database ON oid = dbid "
    "WHERE datname = %(database)s",
    "commits": "SELECT xact_commit FROM pg_stat_database WHERE datname = %(database)s",
    "syncs": "SELECT wal_sync FROM pg_stat_wal",
}


class Side(NamedTuple):
    """A program with its interpreter, the directory of its package, and the database that it has for itself."""

    program: str
    python: str
    package: Path | None
    database: str


def sides_beside(dbos_python: str | None, checkout: Path | None) -> dict[str, Side]:
    """Bobcat, and what it is measured beside."""
    here = Path(bobcat.__file__).parent.parent
    sides = {"bobcat": Side("with_bobcat", sys.executable, here, "beside_bobcat")}
    if dbos_python is not None:
        sides["dbos"] = Side("with_dbos", dbos_python, None, "beside_dbos")
    if checkout is not None:
        sides["checkout"] = Side("with_bobcat", sys.executable, checkout / "python", "beside_checkout")
    return sides


@contextmanager
def server(sides: Iterable[Side]) -> Iterator[Any]:
    """A PostgreSQL of this bench's own, which counts its statements."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    services = import_module("services")
    made = services.PostgresServer()
    command = made.command()
    made.command = lambda: [*command, "-c", "shared_preload_libraries=pg_stat_statements", "-c", "shared_buffers=64MB"]
    try:
        made.start()
        with psycopg.connect(made.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements")
            for side in sides:
                connection.execute(f"CREATE DATABASE {side.database}".encode())
        yield made
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


def cpu_seconds(parent: int) -> float:
    """CPU time of a process and of its children, also of those that have ended."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            pid, fields = int(path.parent.name), path.read_text().rpartition(")")[2].split()
            if pid == parent:
                found += sum(map(int, fields[11:15]))
            elif int(fields[1]) == parent:
                found += sum(map(int, fields[11:13]))
    return found / os.sysconf("SC_CLK_TCK")


def measured(server: Any, side: Side, concurrent: int, seconds: float) -> dict[str, float]:
    """One slice of a side: its figures per run."""
    path = [str(HERE), *([] if side.package is None else [str(side.package)])]
    program = HERE / "durable_peers" / f"{side.program}.py"
    url, pid = server.url, server._process.pid
    database = url.rpartition("/")[0] + f"/{side.database}"
    command = [side.python, str(program), database, str(concurrent), str(seconds), os.urandom(4).hex()]
    before, used = counted(url, side.database), cpu_seconds(pid)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    after = counted(url, side.database)
    used = cpu_seconds(pid) - used
    every = found["runs"] + found["warm"]
    return {
        "runs_per_second": found["runs"] / found["seconds"],
        "ms_per_step": found["ms_per_step"],
        "cpu_ms_per_run": found["cpu_seconds"] / found["runs"] * 1000,
        "server_cpu_ms_per_run": used / every * 1000,
        **{f"{name}_per_run": (after[name] - before[name]) / every for name in STATISTICS},
    }


def measure(sides: dict[str, Side], *, rounds: int, seconds: float, concurrents: Sequence[int]) -> dict[str, Any]:
    """All figures: of each, that of the round with the most runs. The sides take turns, and who begins changes."""
    best: dict[str, dict[str, dict[str, float]]] = {name: {} for name in sides}
    with server(sides.values()) as running:
        for side in sides.values():  # the first start makes the tables
            measured(running, side, 1, 0.2)
        for number in range(rounds):
            for concurrent in concurrents:
                for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
                    seen = measured(running, sides[name], concurrent, seconds)
                    known = best[name].get(str(concurrent))
                    if known is None or seen["runs_per_second"] > known["runs_per_second"]:
                        best[name][str(concurrent)] = seen
    return {
        "command": "make bench-dbos" if "dbos" in sides else "python benches/beside_dbos.py --checkout",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_average": os.getloadavg()[0],
        "rounds": rounds,
        "sides": best,
    }


def main() -> None:
    """Measure, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--dbos-python", help="the interpreter of durable_peers/requirements.txt")
    parser.add_argument("--checkout", type=Path, help="another checkout of Bobcat, with a built core")
    parser.add_argument("--concurrent", type=int, nargs="+", default=CONCURRENT)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--keep", type=Path, help="write the figures into this file, and the table into the page")
    given = parser.parse_args()
    sides = sides_beside(given.dbos_python, given.checkout)
    if len(sides) == 1 or (given.keep is not None and "dbos" not in sides):
        parser.error("give --dbos-python, or --checkout without --keep")
    results = measure(sides, rounds=given.rounds, seconds=given.seconds, concurrents=given.concurrent)
    if given.dbos_python is not None:
        results["dbos"] = version_of_dbos(given.dbos_python)
    text = json.dumps(results, indent=2)
    print(text)
    if given.checkout is not None:
        for at, seen in results["sides"]["bobcat"].items():
            ratio = seen["runs_per_second"] / results["sides"]["checkout"][at]["runs_per_second"]
            print(f"{at} at a time: {ratio:.2f} times the runs per second of {given.checkout}")
            mine, other = (sum(each[name] for name in CPU) for each in (seen, results["sides"]["checkout"][at]))
            print(f"{at} at a time: a run takes client and server {mine / other:.2f} of its CPU time")
    if given.keep is not None:
        given.keep.write_text(f"{text}\n", encoding="utf-8")
        FIGURES.update(results)


def version_of_dbos(python: str) -> str:
    """The version of DBOS in the environment of this interpreter."""
    asked = [python, "-c", "import importlib.metadata as m; print(m.version('dbos'))"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
