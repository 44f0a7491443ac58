"""The crash campaign with real processes: workers and servers are killed, frozen and starved at random moments.

Nothing is paid twice, nothing that a run reports is missing, nothing that it denies was paid, and every run ends. A few
seconds of it are in `make check`; `make check-slow` goes on for minutes.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

import campaign
from bobcat.stores.urls import open_store
from kernel.campaign_worker import EFFECTS, effect_of
from kernel.crashing_process import AMOUNTS
from kernel.killed_workers import Ledger
from kernel.outages import Account

WORKER = Path(__file__).with_name("campaign_worker.py")
WORKERS = 3
SECONDS = 6.0
"""Time with disturbances, in `make check`."""
CALM_SECONDS = 120.0
"""Time in which every run must have ended afterwards."""
PAUSE = 0.4
"""Longest time between two disturbances."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit, and signals as on Linux")


class Fleet:
    """The workers. One that has died is started again by `keep_alive`."""

    def __init__(self, url: str, directory: Path, runs: int) -> None:
        self.url, self.directory, self.runs = url, directory, runs
        self.started, self.workers, self.ended = 0, list[subprocess.Popen[bytes]](), 0
        self.clock = directory / "clock"
        self.clock.write_text("+0")
        self.log = (directory / "log").open("wb")

    def start(self) -> None:
        """Start a worker under a new name."""
        self.started += 1
        command = [sys.executable, str(WORKER), self.url, str(self.directory), f"w{self.started}", str(self.runs)]
        environment = {**os.environ, **clock_of(self.clock)}
        self.workers.append(subprocess.Popen(command, stdout=self.log, stderr=self.log, env=environment))

    def keep_alive(self) -> None:
        """Replace the dead workers, while there is work."""
        for worker in [each for each in self.workers if each.poll() is not None]:
            self.workers.remove(worker)
            self.ended += worker.returncode == 0
        while len(self.workers) < WORKERS and not self.is_done():
            self.start()

    def is_done(self) -> bool:
        """True when every run has succeeded."""
        return len(list(self.directory.glob("DONE-*"))) == self.runs

    def signal(self, number: signal.Signals) -> None:
        """Send one of the workers a signal."""
        with suppress(ProcessLookupError):
            random.choice(self.workers).send_signal(number)

    def close(self) -> None:
        """Kill all."""
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.log.close()


def faketime() -> Path | None:
    """The library that changes the time of a process, if it is installed."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def clock_of(file: Path) -> dict[str, str]:
    """The environment of a process whose date is that of the file; its monotonic clock is the machine's."""
    library = faketime()
    if library is None:
        return {}
    return {
        "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
    }  # fmt: skip


Disturbance = Callable[[], object]


def of_workers(fleet: Fleet) -> dict[str, Disturbance]:
    """What can happen to workers, on every store."""

    def freeze() -> None:  # for less than a lease: a longer one is the window that durability.md names
        worker = random.choice(fleet.workers)
        with suppress(ProcessLookupError):
            worker.send_signal(signal.SIGSTOP)
            time.sleep(random.random() * 0.5)
            worker.send_signal(signal.SIGCONT)

    def fill_disk() -> None:
        limits = [(worker, resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)) for worker in fleet.workers]
        try:
            for worker, (_, hard) in limits:
                resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (4096, hard))
            time.sleep(0.2)
        finally:
            for worker, limit in limits:
                with suppress(ProcessLookupError):
                    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, limit)

    found: dict[str, Disturbance] = {
        "kill": lambda: fleet.signal(signal.SIGKILL), "end": lambda: fleet.signal(signal.SIGTERM),
        "freeze": freeze, "full disk": fill_disk,
    }  # fmt: skip
    if faketime() is not None:
        found["clock"] = lambda: fleet.clock.write_text(random.choice(("+0", "+3600", "-3600", "+86400")))
    return found


def of_postgres(server: Any) -> dict[str, Disturbance]:
    """What can happen to PostgreSQL."""

    def terminate() -> None:
        with suppress(psycopg.Error), psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    return {"terminate": terminate, **restarts(server, signal.SIGQUIT, signal.SIGINT)}


def of_redis(server: Any) -> dict[str, Disturbance]:
    """What can happen to Redis."""

    def disconnect() -> None:
        with suppress(redis.RedisError), redis.Redis.from_url(server.url) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    return {"disconnect": disconnect, **restarts(server, signal.SIGKILL)}


def restarts(server: Any, *signals: signal.Signals) -> dict[str, Disturbance]:
    """Restarts of a server, by these signals."""

    def restart(how: signal.Signals) -> None:
        server.end(how)
        time.sleep(random.random() * 0.5)
        server.start()

    return {f"restart {how.name}": lambda how=how: restart(how) for how in signals}  # type: ignore[misc]


def disturbed(fleet: Fleet, disturbances: dict[str, Disturbance], seconds: float) -> Counter[str]:
    """Let the fleet work under disturbances, then in peace until its end. Returns how often each one happened."""
    happened: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until or set(happened) != set(disturbances):
        fleet.keep_alive()
        time.sleep(random.random() * PAUSE)
        if fleet.is_done():
            break
        missing = [name for name in disturbances if name not in happened]
        name = random.choice(missing or list(disturbances))
        disturbances[name]()
        happened[name] += 1
    fleet.clock.write_text("+0")
    until = time.monotonic() + CALM_SECONDS
    while not fleet.is_done():
        assert time.monotonic() < until, f"stuck: {(fleet.directory / 'log').read_text()[-3000:]}"
        fleet.keep_alive()
        time.sleep(0.05)
    return happened


def accounts(url: str, directory: Path, runs: int) -> dict[str, tuple[Account, str]]:
    """The payments of every run, its report of them, and its status."""

    async def read() -> dict[str, tuple[Account, str]]:
        found = {}
        async with aclosing(open_store(url)) as store:
            for number in range(runs):
                run_id = f"r{number}"
                records, run = await store.load(run_id), await store.run(run_id)
                said = {
                    AMOUNTS[record.body["step"]]: (bool(record.body["ok"]), str(record.body.get("message")))
                    for record in records
                    if record.kind == "action.result"
                }
                paid = Counter(amount for _, amount in Ledger(directory / f"{run_id}.ledger", once=False).paid)
                assert run is not None
                found[run_id] = Account(paid, said), run.status
        return found

    return asyncio.run(read())


def survives(url: str, directory: Path, disturbances: Callable[[Fleet], dict[str, Disturbance]], size: int) -> None:
    """A campaign of `size` parts."""
    runs = 100 * size
    fleet = Fleet(url, directory, runs)
    random.seed(campaign.FIRST_SEED or None)
    try:
        all_of_them = disturbances(fleet)
        happened = disturbed(fleet, all_of_them, SECONDS * size)
    finally:
        fleet.close()
    assert set(happened) == set(all_of_them), "the runs were over before everything had happened"
    assert fleet.started > WORKERS, "a worker that died was replaced"
    found = accounts(url, directory, runs)
    assert {status for _, status in found.values()} == {"succeeded"}
    wrong = {
        run_id: (effect_of(run_id), each.doubled, each.lost, each.unsaid)
        for run_id, (each, _) in found.items()
        if each.doubled or each.lost or each.unsaid
    }
    assert wrong == {}, happened
    for run_id, (each, _) in found.items():
        if effect_of(run_id) != ("unsafe", False):  # its uncertain payments are reported, and not made again
            assert each.paid == Counter(AMOUNTS), run_id
    assert len({effect_of(run_id) for run_id in found}) == len(EFFECTS)


KINDS = ("sqlite", "postgres", "redis")


def own_storage(url: str) -> str:
    """The URL of an empty database on this server: an earlier campaign has left runs with the same ids."""
    if url.startswith("redis:"):
        with redis.Redis.from_url(url) as client:
            used = {name.removeprefix("db") for name in client.info("keyspace")}
        return f"{url.rpartition('/')[0]}/{next(number for number in range(1, 16) if str(number) not in used)}"
    name = f"campaign_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"{url.rpartition('/')[0]}/{name}"


def make_campaign(kind: str, size: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    directory = tmp_path / "campaign"
    directory.mkdir()
    if kind == "sqlite":
        survives(f"sqlite:///{tmp_path}/runs.db", directory, of_workers, size)
        return
    server = request.getfixturevalue(f"own_{kind}")
    of_server = of_postgres if kind == "postgres" else of_redis
    try:
        survives(own_storage(server.url), directory, lambda fleet: of_workers(fleet) | of_server(server), size)
    finally:
        if not server.answers():
            server.start()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_paid_twice_whatever_happens(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    make_campaign(kind, 1, tmp_path, request)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_paid_twice_in_a_long_campaign(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    make_campaign(kind, max(2, campaign.SIZE // 1_000), tmp_path, request)
