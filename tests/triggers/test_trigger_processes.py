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

from bobcat import Thread
from bobcat.stores.urls import open_store
from bobcat.threads import Ended, TurnStarted
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


async def fire(place: Place, url: str, crash: str = "", **options: Any) -> tuple[int, list[str], list[str]]:
    """Let two workers fire a one-shot and an interval; the effects, run ids and statuses."""
    name = "talk" if options else "note"
    payload = {"text": "fired"}
    store: Any = open_store(url, must_exist=False)
    triggers = Triggers(store, place.app.triggers)
    soon = await store.now() + timedelta(seconds=1)
    await triggers.propose(name, every=1, by=BOT, payload=payload, **options)  # without consent
    one = await triggers.propose(name, at=soon, by=BOT, confirmed_by=ALICE, payload=payload, **options)
    more = await triggers.propose(
        name, every=1, catch_up="all", by=ALICE, confirmed_by=ALICE, payload=payload, **options
    )

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
    if options:
        await check_thread(place.app, store, options["thread"], ids)
    runs = [run.run_id for run in await store.runs(limit=500) if not run.run_id.startswith("thread:")]
    await store.aclose()
    return place.effects, sorted(ids), sorted(runs)


async def check_thread(app: Any, store: Any, name: str, ids: list[str]) -> None:
    """Check that the thread has one turn for each firing, all of which have succeeded."""
    thread = Thread(store, name, agent=app.Speaker(), tools=app.state["tools"], policy=app.state["policy"])
    events = [event async for event in thread.events()]
    assert [event.text for event in events if isinstance(event, TurnStarted)] == ["fired"] * len(ids)
    assert [event.outcome for event in events if isinstance(event, Ended)] == ["succeeded"] * len(ids)
    turns = [run.detail["turn"] for id in ids if (run := await store.run(id)) is not None]
    assert sorted(turns) == list(range(1, len(ids) + 1))


async def test_two_workers_send_each_firing_to_a_thread_once_on_postgresql(place: Place, database: str) -> None:
    effects, ids, runs = await fire(place, database, thread="acme/42")
    assert (effects, runs) == (len(ids), ids)


@pytest.mark.parametrize(
    "point",
    [
        "in a step",
        *(
            pytest.param(point, marks=pytest.mark.slow)
            for point in ("", "after queueing", "before the effect", "after the effect")
        ),
    ],
)
async def test_a_killed_worker_loses_and_doubles_no_turn(place: Place, point: str) -> None:
    effects, ids, runs = await fire(place, f"sqlite:///{place.path}/shared.db", point, thread="acme/42")
    assert Path(place.path / "died").exists() == bool(point)
    assert (effects, runs) == (len(ids), ids)


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
