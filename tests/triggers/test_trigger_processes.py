"""Two real workers fire each time once, on SQLite and on PostgreSQL, also when the firing one is killed."""

# ruff: noqa: ASYNC110, ASYNC240 - processes communicate by files here

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat.stores.urls import open_store
from bobcat.triggers import Triggers
from triggers.conftest import ALICE, APP, BOT, Place


@contextmanager
def two_workers(url: str, crash: str = "") -> Iterator[None]:
    command = [sys.executable, "-m", "bobcat", "worker", str(APP), "--store", url, "--lease-seconds", "1"]
    env = {**os.environ, "CRASH": crash}
    started = [subprocess.Popen(command, stderr=subprocess.DEVNULL, env=env) for _ in range(2)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait(timeout=60)


async def until(done: Any) -> None:
    async with asyncio.timeout(60):
        while not await done():
            await asyncio.sleep(0.1)


async def fire(place: Place, url: str, crash: str = "") -> tuple[int, list[str], list[str]]:
    """Let two workers fire a one-shot and an interval; the effects, run ids and statuses."""
    store: Any = open_store(url, must_exist=False)
    triggers = Triggers(store, place.app.triggers)
    soon = await store.now() + timedelta(seconds=1)
    await triggers.propose("note", every=1, by=BOT)  # without consent
    one = await triggers.propose("note", at=soon, by=BOT, confirmed_by=ALICE)
    more = await triggers.propose("note", every=1, catch_up="all", by=ALICE, confirmed_by=ALICE)

    async def fired() -> list[str]:
        return [firing.run_id for id in (one, more) for firing in await triggers.history(id)]

    with two_workers(url, crash):

        async def enough() -> bool:
            return len(await triggers.history(more)) >= 3 and bool(await triggers.history(one))

        await until(enough)
        await triggers.pause(more)
        await asyncio.sleep(2)  # a worker that had read the trigger before may queue until now

        async def over() -> bool:
            runs = [await store.run(id) for id in await fired()]
            return all(run is not None and run.status == "succeeded" for run in runs)

        await until(over)
    ids = await fired()
    runs = [run.run_id for run in await store.runs()]
    await store.aclose()
    return place.effects, sorted(ids), sorted(runs)


@pytest.mark.slow
async def test_two_workers_fire_each_time_once_on_sqlite(place: Place) -> None:
    effects, ids, runs = await fire(place, f"sqlite:///{place.path}/shared.db")
    assert (effects, runs) == (len(ids), ids)


async def test_two_workers_fire_each_time_once_on_postgresql(place: Place, database: str) -> None:
    effects, ids, runs = await fire(place, database)
    assert (effects, runs) == (len(ids), ids)


@pytest.mark.parametrize(
    "point",
    [
        "after queueing",
        *(
            pytest.param(point, marks=pytest.mark.slow)
            for point in ("in a step", "before the effect", "after the effect")
        ),
    ],
)
async def test_a_killed_worker_loses_and_doubles_nothing(place: Place, point: str) -> None:
    effects, ids, runs = await fire(place, f"sqlite:///{place.path}/shared.db", point)
    assert Path(place.path / "died").exists()
    assert (effects, runs) == (len(ids), ids)
