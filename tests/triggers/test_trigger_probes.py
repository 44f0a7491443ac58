"""Probes that raise, hang, or answer late: they delay no other trigger and fire nothing twice."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from bobcat import WorkerTriggers
from triggers.conftest import ALICE, Place


async def add(place: Place, name: str = "other", **options: Any) -> str:
    options = {"when_changed": name, "every": 10, **options}
    return await place.triggers.propose("note", by=ALICE, confirmed_by=ALICE, **options)


@pytest.fixture
def hanging(place: Place) -> Any:
    """A probe that hangs until the event is set, and the number of its calls."""
    place.app.triggers._probes.seconds = 0.2
    event, calls = threading.Event(), []

    @place.app.triggers.probe("other")
    def other() -> int:
        calls.append(1)
        event.wait(300)
        return len(calls)

    yield event, calls
    event.set()


async def settle(place: Place) -> None:
    """Wait until no probe is being called."""
    tasks = [task for task in place.app.triggers._probing.values() if not task.done()]
    if tasks:
        await asyncio.wait(tasks, timeout=30)


async def test_a_hanging_probe_ends_at_its_limit_and_delays_no_other_trigger(place: Place, hanging: Any) -> None:
    event, calls = hanging
    id, note = await add(place), await place.triggers.propose("note", every=10, by=ALICE, confirmed_by=ALICE)
    place.store.forward(seconds=10)
    await place.work()
    assert (await place.outcomes(note), event.is_set()) == (["queued"], False)
    await settle(place)
    trigger = await place.triggers.get(id)
    assert "did not return within 0.2 s" in trigger.error
    for _ in range(3):  # while it hangs it is not called again
        place.store.forward(seconds=10)
        await place.work()
        await settle(place)
    assert len(calls) == 1
    assert "has not returned yet" in (await place.triggers.get(id)).error
    event.set()
    for _ in range(500):
        place.store.forward(seconds=10)
        await place.work()
        await settle(place)
        if "queued" in await place.outcomes(id):
            break
    assert ((await place.triggers.get(id)).error, len(calls) > 1) == ("", True)
    assert "queued" in await place.outcomes(id)


async def test_an_async_probe_that_hangs_is_cancelled(place: Place) -> None:
    place.app.triggers._probes.seconds = 0.1
    ended = []

    @place.app.triggers.probe("other")
    async def other() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)
        return 1

    id = await add(place)
    await place.work()
    await settle(place)
    assert (ended, "did not return" in (await place.triggers.get(id)).error) == ([1], True)


@pytest.mark.parametrize("error", [RuntimeError("down"), SystemExit(1), StopIteration(), KeyboardInterrupt()])
async def test_a_probe_that_raises_fires_nothing_and_is_called_again(place: Place, error: BaseException) -> None:
    values: list[Any] = [1, error, 1, 2]

    @place.app.triggers.probe("other")
    def other() -> Any:
        value = values.pop(0)
        if isinstance(value, BaseException):
            raise value
        return value

    id, errors = await add(place), []
    for _ in range(4):
        await place.work()
        await settle(place)
        await place.work()
        errors.append(bool((await place.triggers.get(id)).error))
        place.store.forward(seconds=10)
    assert (errors, await place.outcomes(id)) == ([False, True, False, False], ["queued"])


async def test_a_change_that_a_dead_worker_has_seen_fires_once(place: Place) -> None:
    id = await add(place, "value")
    await place.work()
    place.app.state["value"] = 2
    place.store.forward(seconds=10)

    class Died(BaseException):
        pass

    async def die(*args: Any) -> None:
        raise Died

    engine: Any = place.app.triggers
    original, engine._queue = engine._queue, die
    await place.sweep()  # the change is on record, and nothing is queued
    await asyncio.gather(*engine._probing.values(), return_exceptions=True)
    assert await place.outcomes(id) == []
    engine._queue = original
    place.app.state["value"] = object()  # the probe fails now
    place.store.forward(seconds=30)
    await place.work()
    await place.work()
    assert (await place.outcomes(id), place.effects) == (["queued"], 1)
    place.app.state["value"] = 2
    place.store.forward(seconds=30)
    await place.work()
    assert place.effects == 1, "the same change does not fire again"


def test_the_names_of_probes_are_unique(place: Place) -> None:
    engine: WorkerTriggers = place.app.triggers
    assert engine.probes == ("value",)
    with pytest.raises(ValueError, match="two probes"):
        engine.probe("value")
    with pytest.raises(ValueError, match="non-empty"):
        engine.probe("")
