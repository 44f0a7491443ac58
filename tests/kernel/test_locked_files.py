"""Whole runs on a SQLite file that another process locks for a while: they wait, or say so and go on later."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from bobcat import RunResult, SQLiteStore
from kernel.crashing_process import AMOUNTS, Bank, CrashingStore, attempt, tools
from kernel.outages import Halting, Outage, account, points

LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
for line in sys.stdin:
    connection.execute("BEGIN IMMEDIATE" if line == "lock\\n" else "COMMIT")
    print("done", flush=True)
"""


class Locker:
    """Another process, which writes to the file and takes its time."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", LOCKER, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "runs.db"

    async def main() -> None:
        async with aclosing(SQLiteStore(found)) as store:
            await store.now()
            await store.runs()

    asyncio.run(main())
    return found


@pytest.fixture
def locker(path: Path) -> Iterator[Locker]:
    made = Locker(path)
    yield made
    made.process.kill()
    made.process.communicate()


async def through(
    store: SQLiteStore, locker: Locker, *, locked: float, effect: str
) -> tuple[list[Halting], list[RunResult]]:
    """Runs, one for each point, that all meet the lock there."""
    counted = CrashingStore(store)
    await attempt(counted, f"{effect}-whole", tools(Bank(), "unsafe", reconciled=False))
    places = points(counted.writes)
    outage = Outage(len(places))
    runs = [Halting(f"{effect}-{place.name}", effect, place, outage) for place in places]

    async def unlock() -> None:
        await asyncio.sleep(locked)
        await asyncio.to_thread(locker.say, "unlock")

    async with asyncio.timeout(60):
        met = [asyncio.ensure_future(run.meet(store)) for run in runs]
        await outage.happens(lambda: locker.say("lock"), unlock)
        return runs, list(await asyncio.gather(*met))


@pytest.mark.parametrize("effect", ["unsafe", "keyed"])
def test_a_run_waits_for_a_file_that_is_locked_between_any_two_of_its_writes(
    effect: str, path: Path, locker: Locker
) -> None:
    async def main() -> None:
        async with aclosing(SQLiteStore(path)) as store:
            runs, results = await through(store, locker, locked=0.7, effect=effect)
            assert len(runs) > 20
            assert {result.error for result in results} == {None}
            found = [await account(store, run) for run in runs]
            assert {tuple(each.paid.items()) for each in found} == {tuple(Counter(AMOUNTS).items())}

    asyncio.run(main())


@pytest.mark.parametrize("effect", ["unsafe", "keyed"])
def test_a_run_whose_file_is_locked_for_too_long_says_so_and_goes_on_later(
    effect: str, path: Path, locker: Locker
) -> None:
    async def main() -> None:
        async with aclosing(SQLiteStore(path, busy_seconds=0.2)) as store:
            runs, results = await through(store, locker, locked=3.0, effect=effect)
            errors = [result.error for result in results if result.error is not None]
            assert len(errors) > len(runs) / 2
            for error in errors:
                assert error.startswith("store."), error
                assert f"StoreError: `{path}` is locked by another writer for too long" in error
            resumed = await asyncio.gather(*(run.resume(store) for run in runs))
            assert {each.error for each in resumed} == {None}
            for run in runs:
                found = await account(store, run)
                assert (found.doubled, found.lost, found.unsaid) == ([], [], []), run.run_id
                if effect == "keyed":
                    assert found.paid == Counter(AMOUNTS)

    asyncio.run(main())


def test_many_writes_of_one_store_wait_together_and_no_longer_than_one(path: Path, locker: Locker) -> None:
    async def main() -> float:
        async with aclosing(SQLiteStore(path, busy_seconds=0.3)) as store:
            locker.say("lock")
            began = time.monotonic()
            writes = [store.set_status(f"r{number}", "queued") for number in range(40)]
            refused = await asyncio.gather(*writes, return_exceptions=True)
            took = time.monotonic() - began
            assert {getattr(each, "code", each) for each in refused} == {"busy"}
            assert await store.runs() == (), "reading goes on"
            locker.say("unlock")
            await store.set_status("r", "queued")
            return took

    assert asyncio.run(main()) < 2.0
