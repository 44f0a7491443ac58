"""A worker under a stable name: a restart takes its own runs at once, and two live workers never share a name."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from bobcat import MemoryStore
from bobcat.errors import JobError
from bobcat.workers import Runner, Workers
from bobcat.workers.worker_name import SILENCE_SECONDS, WorkerName
from workers.conftest import APP, House
from workers.test_procrastinate import database

LEASE = 30.0


def start(house: House, owner: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bobcat", "worker", str(APP), "--store", house.url, "--owner", owner]
    command += ["--lease-seconds", str(LEASE), "--dispatcher", "store"]
    environment = {**os.environ, "EFFECTS": str(house.effects_file)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


async def stop(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.kill()
        await asyncio.to_thread(process.communicate)


@pytest.mark.parametrize("on", ["sqlite", "postgres"])
def test_a_worker_that_was_killed_takes_its_runs_when_it_starts_again(
    house: House, on: str, request: pytest.FixtureRequest
) -> None:
    """Within two seconds of its start, although its lease has half a minute to go."""

    async def main(there: House) -> float:
        file = there.path / "there"
        await there.jobs.enqueue("two", {"file": str(file)}, run_id="r")
        first = start(there, "w-0")
        await there.until_effect("thinking")
        await there.until_recorded("r", "action.result")
        first.send_signal(signal.SIGKILL)
        await asyncio.to_thread(first.communicate)
        file.touch()
        began = time.monotonic()
        second = start(there, "w-0")
        try:
            line = await asyncio.to_thread(second.stderr.readline)  # type: ignore[union-attr]
            ready = time.monotonic()
            assert line.startswith("worker w-0 runs")
            await there.until_status("r", "succeeded", seconds=15)
            return time.monotonic() - max(ready, began)
        finally:
            await stop(second)

    async def on_postgres(url: str) -> float:
        async with database(house, url) as there:
            return await main(there)

    if on == "sqlite":
        seconds = asyncio.run(main(house))
    else:
        seconds = asyncio.run(on_postgres(request.getfixturevalue("postgres_url")))
    assert seconds < 2


def test_a_second_worker_under_the_name_of_a_live_one_is_refused(house: House) -> None:
    """Also while the first one is stopped: the system knows that its process lives."""

    async def main() -> None:
        file = house.path / "there"
        await house.jobs.enqueue("waits", {"file": str(file)}, run_id="r")
        first = start(house, "w-0")
        try:
            await house.until_effect("waiting")
            first.send_signal(signal.SIGSTOP)
            second = start(house, "w-0")
            _, told = await asyncio.to_thread(second.communicate)
            assert second.returncode == 3
            assert f"the worker `w-0` is running already, as process {first.pid} on" in told
            assert "Traceback" not in told
            first.send_signal(signal.SIGCONT)
            file.touch()
            await house.until_status("r", "succeeded")
            assert house.effects.count("waiting") == 1
        finally:
            await stop(first)

    asyncio.run(main())


async def taken_on_another_machine(store: Any, name: WorkerName) -> None:
    entry = await store.get("worker", name.name)
    await store.put("worker", name.name, {**entry.body, "boot": "another"}, expected=entry.version)
    name._version = entry.version + 1


def test_on_another_machine_a_worker_that_beats_keeps_its_name() -> None:
    async def main() -> None:
        store = MemoryStore()
        first, second = WorkerName(store, "w"), WorkerName(store, "w")
        await first.take()
        await taken_on_another_machine(store, first)
        taking = asyncio.create_task(second.take())
        await asyncio.sleep(SILENCE_SECONDS / 2)
        await first.beat()
        with pytest.raises(JobError) as refused:
            await taking
        assert refused.value.code == "name_taken"

    asyncio.run(main())


def test_on_another_machine_a_silent_worker_loses_its_name_and_notices() -> None:
    async def main() -> None:
        store = MemoryStore()
        first, second = WorkerName(store, "w"), WorkerName(store, "w")
        await first.take()
        await taken_on_another_machine(store, first)
        began = time.monotonic()
        await second.take()
        assert time.monotonic() - began < 2
        with pytest.raises(JobError) as lost:
            await first.beat()
        assert lost.value.code == "name_taken"
        await first.leave()
        await second.beat()
        await second.leave()
        assert await store.get("worker", "w") is None

    asyncio.run(main())


def test_a_start_finds_the_runs_of_earlier_starts_only() -> None:
    async def main() -> None:
        store = MemoryStore()
        first, second = WorkerName(store, "w"), WorkerName(store, "w")
        await store.acquire("mine", owner=f"{first.owner}:1", seconds=60)
        await store.acquire("now", owner=f"{second.owner}:1", seconds=60)
        await store.acquire("other", owner="w-1#123:1", seconds=60)
        await store.acquire("plain", owner="w", seconds=60)
        assert [(run.run_id, owner) async for run, owner in second.orphans()] == [("mine", f"{first.owner}:1")]
        assert {run.run_id: run.held for run in await store.runs()} == dict.fromkeys(
            ("mine", "now", "other", "plain"), True
        )

    asyncio.run(main())


def test_a_worker_stops_when_another_one_takes_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.workers.worker_name.BEAT_SECONDS", 0.05)

    async def main() -> None:
        store = MemoryStore()
        runner, stopped = Runner(Workers(), store, owner="w"), asyncio.Event()
        async with runner.working(stopped):
            entry = await store.get("worker", "w")
            assert entry is not None
            await store.put("worker", "w", {**entry.body, "start": "another"}, expected=entry.version)
            async with asyncio.timeout(5):
                await stopped.wait()
        left = await store.get("worker", "w")
        assert left is not None
        assert left.body["start"] == "another"

    asyncio.run(main())
