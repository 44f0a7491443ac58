"""A rolling deploy with real processes: two versions of an app on one store, suspended runs, grants, and `kill -9`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bobcat.approvals import Approvals
from bobcat.workers.share import VERSIONS_SECONDS
from workers.conftest import House
from workers.test_procrastinate import database

APP = Path(__file__).parent / "versioned_app.py"


class Fleet:
    """Worker processes of the versions of one app."""

    def __init__(self, house: House, on_version: str) -> None:
        self.house, self.on_version = house, on_version
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, version: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "bobcat", "worker", str(APP), "--store", self.house.url]
        command += ["--lease-seconds", "1", "--dispatcher", "store", "--grace", "5"]
        settings = {"APP_VERSION": version, "ON_VERSION": self.on_version, "EFFECTS": str(self.house.effects_file)}
        process = subprocess.Popen(command, env={**os.environ, **settings})
        self.started.append(process)
        return process

    async def queue(self, *run_ids: str) -> None:
        for run_id in run_ids:
            await self.house.jobs.enqueue("order", run_id=run_id)

    async def suspended(self, *run_ids: str) -> None:
        for run_id in run_ids:
            await self.house.until_status(run_id, "suspended")

    async def grant(self, *run_ids: str) -> None:
        for approval in (await Approvals(self.house.store).list_all()).approvals:
            if approval.run_id in run_ids and approval.status == "pending":
                await Approvals(self.house.store).grant(approval.id, approver="alice")

    async def registered(self, version: str) -> None:
        """Wait until a worker of the version has started, and the others know of it."""

        async def is_it() -> bool:
            entry = await self.house.store.get("app", "versions")
            return entry is not None and version in entry.body["versions"]

        await self.house.until(is_it, f"a worker of version {version}")
        await asyncio.sleep(VERSIONS_SECONDS * 1.2)

    async def version_of(self, run_id: str) -> str:
        run = await self.house.store.run(run_id)
        return str(run.queue.version)

    async def attempts(self, run_id: str) -> list[str]:
        """The versions of the attempts, as the journal has them."""
        records = await self.house.store.load(run_id)
        return [record.body["binding"]["app"] for record in records if "binding" in record.body]


@asynccontextmanager
async def fleet(house: House, on_version: str) -> AsyncIterator[Fleet]:
    there = Fleet(house, on_version)
    try:
        yield there
    finally:
        for process in there.started:
            process.kill()
            await asyncio.to_thread(process.wait)


@pytest.fixture(params=["sqlite", "postgres"])
def on_store(request: pytest.FixtureRequest, house: House) -> Any:
    @asynccontextmanager
    async def opened() -> AsyncIterator[House]:
        if request.param == "sqlite":
            yield house
            return
        async with database(house, request.getfixturevalue("postgres_url")) as there:
            yield there

    return opened


def test_moved_runs_continue_on_the_next_version_with_their_grants(on_store: Any) -> None:
    """The rolling example of docs/how-to/deploy-workers.md."""

    async def main() -> None:
        async with on_store() as house, fleet(house, "move") as there:
            first = there.start("1")
            await there.queue("a", "b", "c")
            await there.suspended("a", "b", "c")
            await there.grant("a")
            await house.until_status("a", "succeeded")
            second = there.start("2")  # both serve the store now
            await there.queue("d")
            await there.suspended("d")
            first.send_signal(signal.SIGKILL)
            await asyncio.to_thread(first.wait)
            await there.grant("b")  # asked by 1, answered while only 2 is there
            await house.until_status("b", "succeeded")
            second.send_signal(signal.SIGKILL)
            await asyncio.to_thread(second.wait)
            await there.grant("c", "d")  # answered while no worker is there
            there.start("2")
            await house.until_status("c", "succeeded")
            await house.until_status("d", "succeeded")
            assert sorted(house.effects) == ["paid a by 1", "paid b by 2", "paid c by 2", "paid d by 2"]
            assert [await there.version_of(run_id) for run_id in "abc"] == ["1", "1", "1"]
            assert await there.attempts("b") == ["1", "2"]
            assert await there.attempts("a") == ["1", "1"]

    asyncio.run(main())


def test_a_newer_version_that_was_begun_is_not_continued_by_an_older_one(house: House) -> None:
    async def main() -> None:
        async with fleet(house, "move") as there:
            there.start("1")
            await there.queue("a")
            await there.suspended("a")
            second = there.start("2")
            first = there.started[0]
            first.send_signal(signal.SIGSTOP)  # so that the new one begins the run
            await there.queue("b")
            await there.suspended("b")
            second.send_signal(signal.SIGKILL)
            await asyncio.to_thread(second.wait)
            first.send_signal(signal.SIGCONT)
            await there.grant("a", "b")
            await house.until_status("a", "succeeded")
            await asyncio.sleep(1.5)
            assert await house.status("b") == "queued"
            there.start("2")
            await house.until_status("b", "succeeded")
            assert sorted(house.effects) == ["paid a by 1", "paid b by 2"]

    asyncio.run(main())


def test_pinned_runs_wait_for_their_own_version(on_store: Any) -> None:
    async def main() -> None:
        async with on_store() as house, fleet(house, "pin") as there:
            first = there.start("1")
            await there.queue("a", "b")
            await there.suspended("a", "b")
            first.send_signal(signal.SIGKILL)
            await asyncio.to_thread(first.wait)
            there.start("2")
            await there.grant("a", "b")
            await there.queue("c")
            await there.suspended("c")
            assert [await house.status("a"), await house.status("b")] == ["queued", "queued"]
            assert house.effects == []
            there.start("1")
            await house.until_status("a", "succeeded")
            await house.until_status("b", "succeeded")
            assert sorted(house.effects) == ["paid a by 1", "paid b by 1"]
            assert [await there.version_of(run_id) for run_id in "abc"] == ["1", "1", "2"]

    asyncio.run(main())


def test_drained_workers_end_what_they_have_and_begin_nothing(house: House) -> None:
    async def main() -> None:
        async with fleet(house, "drain") as there:
            there.start("1")
            await there.queue("a")
            await there.suspended("a")
            second = there.start("2")
            await there.registered("2")
            await there.queue("b")
            await there.suspended("b")
            await there.grant("b")
            await house.until_status("b", "succeeded")
            second.send_signal(signal.SIGKILL)
            await asyncio.to_thread(second.wait)
            await there.queue("c")
            await there.grant("a")
            await house.until_status("a", "succeeded")
            await asyncio.sleep(1)
            assert await house.status("c") == "queued"  # only the old version is there
            there.start("2")
            await there.suspended("c")
            assert house.effects == ["paid b by 2", "paid a by 1"]

    asyncio.run(main())
