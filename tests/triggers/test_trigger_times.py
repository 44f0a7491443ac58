"""Times: one-shot, cron over a change of clocks, intervals, probes, downtime, restored stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.triggers.model import Trigger
from bobcat.triggers.times import MAX_CATCH_UP, next_time, times_to_fire
from triggers.conftest import ALICE, Place

START = datetime(2026, 1, 1, tzinfo=UTC)


async def add(place: Place, **options: Any) -> str:
    return await place.triggers.propose("note", by=ALICE, confirmed_by=ALICE, **options)


async def test_a_one_shot_fires_once(place: Place) -> None:
    id = await add(place, at=place.store.moment + timedelta(minutes=5))
    await place.work()
    assert place.effects == 0
    for _ in range(3):
        place.store.forward(minutes=5)
        await place.work()
    assert (place.effects, (await place.triggers.get(id)).state) == (1, "done")


async def test_cron_keeps_the_local_hour_when_clocks_change(place: Place) -> None:
    id = await add(place, cron="0 9 * * *", timezone="Europe/Berlin")  # clocks change on 29 March 2026
    due = []
    for _ in range(3):
        trigger = await place.triggers.get(id)
        assert trigger.next is not None
        due.append(trigger.next)
        place.store.moment = trigger.next
        await place.work()
    assert [moment.hour for moment in due] == [7, 7, 7]
    assert place.effects == 3


async def test_cron_of_a_winter_day_is_an_hour_later_in_utc(place: Place) -> None:
    place.store.moment = datetime(2026, 3, 27, 12, tzinfo=UTC)
    id = await add(place, cron="0 9 * * *", timezone="Europe/Berlin")
    trigger = await place.triggers.get(id)
    assert trigger.next == datetime(2026, 3, 28, 8, tzinfo=UTC)


@pytest.mark.parametrize(("catch_up", "fired"), [("once", 1), ("skip", 0), ("all", 5)])
async def test_times_without_a_worker(place: Place, catch_up: Any, fired: int) -> None:
    id = await add(place, every=600, catch_up=catch_up)
    place.store.forward(minutes=55)
    await place.work()
    assert place.effects == fired
    assert await place.outcomes(id) == (["queued"] * fired or ["skipped"])
    place.store.forward(minutes=5, seconds=1)
    await place.work()
    assert place.effects == fired + 1, "the next time is on schedule"


async def test_a_probe_costs_no_model_call_while_nothing_changes(place: Place) -> None:
    id = await add(place, when_changed="value", every=10)
    for _ in range(5):
        await place.work()
        place.store.forward(seconds=10)
    assert (place.app.state["steps"], place.effects, await place.outcomes(id)) == (0, 0, [])
    place.app.state["value"] = {"now": 2}
    for _ in range(3):
        await place.work()
        place.store.forward(seconds=10)
    assert (place.app.state["steps"], place.effects) == (2, 1)


async def test_a_failing_probe_fires_nothing_and_is_shown(place: Place) -> None:
    id = await add(place, when_changed="value", every=10)
    await place.work()
    place.app.state["value"] = object()  # not JSON
    place.store.forward(seconds=10)
    await place.work()
    assert (place.effects, "TypeError" in (await place.triggers.get(id)).error) == (0, True)


async def test_no_firing_from_before_a_restore(place: Place) -> None:
    id = await add(place, every=60)
    place.store.forward(minutes=2)
    restored = place.store.moment
    place.store.restored_at = lambda: _value(restored)  # type: ignore[method-assign]
    await place.work()
    assert (place.effects, await place.outcomes(id)) == (0, ["skipped"])
    place.store.forward(minutes=1)
    await place.work()
    assert place.effects == 1


async def _value(moment: datetime) -> datetime:
    return moment


def trigger(seconds: float, catch_up: Any) -> Trigger:
    return Trigger("t", "note", {}, "every", "", ALICE, START, seconds, catch_up=catch_up)


SECONDS = st.integers(1, 100_000)


@given(SECONDS, st.floats(0, 10_000_000), st.sampled_from(["once", "skip", "all"]))
def test_due_times_are_on_the_grid_distinct_and_bounded(seconds: int, late: float, catch_up: str) -> None:
    step, now = timedelta(seconds=seconds), START + timedelta(seconds=late)
    if late / seconds > 5_000:
        now = START + step * 5_000
    every = trigger(seconds, catch_up)
    found, later = times_to_fire(every, START, now), next_time(every, START, now)
    assert all((moment - START) % step == timedelta(0) for moment in (*found, later))
    assert now < later <= now + step
    assert found == sorted(set(found))
    assert len(found) <= MAX_CATCH_UP
    assert all(START <= moment <= now for moment in found)
