"""A store, an app and its effects, for the tests of workers."""

# ruff: noqa: ASYNC110 - processes communicate by files here
from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bobcat.stores import PostgresStore, SQLiteStore
from bobcat.workers import Jobs, Runner, StoreDispatcher, Workers
from stores.conftest import prefix, schema

__all__ = ["prefix", "schema"]

APP = Path(__file__).parent / "worker_app.py"


class House:
    """A store, an app, and the file of its effects."""

    def __init__(self, path: Path, url: str | None = None) -> None:
        self.path = path
        self.url = url or f"sqlite:////{str(path / 'runs.db').lstrip('/')}"
        self.store: Any = SQLiteStore(path / "runs.db") if url is None else PostgresStore(url)
        self.jobs = Jobs(self.store)
        self.app = load(APP)
        self.effects_file = path / "effects"
        self.effects_file.touch()

    @property
    def effects(self) -> list[str]:
        return self.effects_file.read_text().splitlines()

    async def work(self, workers: Workers | None = None, **options: Any) -> None:
        """Make everything there is to do now."""
        runner = Runner(workers or self.app.workers, self.store, **options)
        async with asyncio.timeout(60):
            await StoreDispatcher(until_idle=True).work(runner, concurrency=4, stop=asyncio.Event(), grace_seconds=0)

    async def status(self, run_id: str) -> str:
        run = await self.store.run(run_id)
        return "unknown" if run is None else run.status

    async def until(self, true: Callable[[], Awaitable[bool]], what: str, seconds: float = 60) -> None:
        """Wait until something is true; a test that waits too long fails with what it waited for."""
        try:
            async with asyncio.timeout(seconds):
                while not await true():
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pytest.fail(f"waited {seconds} s for {what}; effects: {self.effects}")

    async def until_status(self, run_id: str, status: str, seconds: float = 60) -> None:
        async def is_it() -> bool:
            return await self.status(run_id) == status

        await self.until(is_it, f"{run_id} to be {status}", seconds)

    async def until_recorded(self, run_id: str, kind: str) -> None:
        async def is_it() -> bool:
            return any(record.kind == kind for record in await self.store.load(run_id))

        await self.until(is_it, f"a record {kind} of {run_id}")

    async def until_effect(self, text: str) -> None:
        async def is_it() -> bool:
            return text in self.effects

        await self.until(is_it, f"the effect {text!r}")


class Processes:
    def __init__(self, house: House) -> None:
        self.house = house
        self.started: list[subprocess.Popen[str]] = []

    def worker(self, *options: str, lease: float = 2.0) -> subprocess.Popen[str]:
        command = [
            sys.executable, "-m", "bobcat", "worker", str(APP),
            "--store", self.house.url, "--lease-seconds", str(lease), *options,
        ]  # fmt: skip
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ.copy())
        self.started.append(process)
        return process

    def bobcat(self, *args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bobcat", *args, "--store", self.house.url]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("worker_app", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["worker_app"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setenv("EFFECTS", str(tmp_path / "effects"))
    return House(tmp_path)


@pytest.fixture
def processes(house: House) -> Iterator[Processes]:
    made = Processes(house)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)
