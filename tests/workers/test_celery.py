"""Celery as the engine, on RabbitMQ and on Redis: the contract, real worker processes, and a broker that is away."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bobcat.stores import SQLiteStore
from bobcat.testing import Engine, run_dispatcher_contract
from bobcat.testing.dispatcher_contract.suite import CLAUSES
from workers.conftest import APP, House

pytest.importorskip("celery")

from bobcat.workers.celery import CeleryDispatcher

RABBITMQ = os.environ.get("BOBCAT_TEST_AMQP_URL", "amqp://guest:guest@127.0.0.1:5672//")


@pytest.fixture(params=["rabbitmq", "redis"])
def broker(request: pytest.FixtureRequest) -> Any:
    if request.param == "redis":
        return f"{request.getfixturevalue('redis_url').rstrip('/0')}/9"
    with socket.socket() as probe:
        probe.settimeout(2)
        if probe.connect_ex(("127.0.0.1", 5672)) != 0:
            pytest.skip("there is no RabbitMQ on 127.0.0.1:5672")
    return RABBITMQ


def test_celery_keeps_the_contract(broker: str, tmp_path: Path) -> None:
    report = asyncio.run(
        run_dispatcher_contract(lambda: Engine(SQLiteStore(tmp_path / "runs.db"), CeleryDispatcher(broker)))
    )
    assert set(report.kept) == {clause.__name__ for clause in CLAUSES}


def start(house: House, broker: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bobcat", "worker", str(APP), "--store", house.url, "--lease-seconds", "1"]
    command += ["--dispatcher", "celery", "--broker", broker]
    return subprocess.Popen(command, env={**os.environ, "EFFECTS": str(house.effects_file)})


def test_a_killed_worker_process_is_replaced_by_another(house: House, broker: str) -> None:
    async def main() -> None:
        from bobcat.workers import Jobs

        dispatcher, file = CeleryDispatcher(broker), house.path / "there"
        jobs = Jobs(house.store, dispatcher)
        await jobs.enqueue("two", {"file": str(file)}, run_id=f"r-{uuid4().hex[:6]}")
        (run_id,) = [run.run_id for run in await house.store.runs()]
        first = start(house, broker)
        second = None
        try:
            await house.until_effect("thinking")
            await house.until_recorded(run_id, "action.result")
            first.send_signal(signal.SIGKILL)
            await asyncio.to_thread(first.wait)
            file.touch()
            second = start(house, broker)
            await house.until_status(run_id, "succeeded")
            assert house.effects.count("one") == 1
            assert house.effects.count("two") == 1
            second.terminate()
            assert await asyncio.to_thread(second.wait, 20) == 0
        finally:
            for process in filter(None, (first, second)):
                process.kill()
                await asyncio.to_thread(process.wait)
            await dispatcher.aclose()

    asyncio.run(main())


def test_a_task_wakes_a_worker_that_would_look_much_later(broker: str, tmp_path: Path) -> None:
    from bobcat.testing.dispatcher_contract.subject import Behaviour
    from bobcat.workers import Jobs, Runner

    class Mute(SQLiteStore):
        """A store whose announcements are lost."""

        async def wait_queued(self, seconds: float) -> bool:
            await asyncio.sleep(seconds)
            return False

    async def main() -> float:
        behaviour, stop = Behaviour(), asyncio.Event()
        store, dispatcher = Mute(tmp_path / "runs.db"), CeleryDispatcher(broker, poll_seconds=60)
        producer = CeleryDispatcher(broker)
        runner = Runner(behaviour.app(), store)
        working = asyncio.create_task(dispatcher.work(runner, concurrency=1, stop=stop, grace_seconds=1))
        await asyncio.sleep(2)
        began = time.monotonic()
        await Jobs(store, producer).enqueue(behaviour.kind)
        async with asyncio.timeout(20):
            while not behaviour.finished:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        seconds = behaviour.started[0][1] - began
        stop.set()
        await working
        await producer.aclose()
        await store.aclose()
        return seconds

    assert asyncio.run(main()) < 5


def test_without_a_broker_runs_are_queued_and_executed(house: House, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        from bobcat.workers import Jobs, Runner

        away = "amqp://guest:guest@127.0.0.1:1//"
        producer, dispatcher, stop = CeleryDispatcher(away), CeleryDispatcher(away, poll_seconds=0.2), asyncio.Event()
        await Jobs(house.store, producer).enqueue("note", {"text": "hello"}, run_id="r")
        working = asyncio.create_task(
            dispatcher.work(Runner(house.app.workers, house.store), concurrency=1, stop=stop, grace_seconds=1)
        )
        await house.until_status("r", "succeeded")
        stop.set()
        await working

    asyncio.run(main())
    assert "no worker was notified of run r" in caplog.text
    assert "the broker is unavailable" in caplog.text
