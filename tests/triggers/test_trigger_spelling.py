"""What people write: times, principals, stores; and the error of each mistake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from bobcat import Principal, TriggerError, Triggers
from bobcat.triggers.payload import MAX_PAYLOAD
from triggers.conftest import ALICE, BOT, Place

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "zone"),
    [
        (NOON, None),
        (datetime(2026, 12, 1, 14, tzinfo=timezone(timedelta(hours=2))), None),
        ("2026-12-01T12:00:00Z", None),
        ("2026-12-01 13:00+01:00", None),
        ("2026-12-01T13:00", "Europe/Berlin"),
        (datetime(2026, 12, 1, 7), "America/New_York"),
        (timedelta(days=248), None),
        ("248d", None),
        ("35w3d", None),
        ("5951h60m", None),
    ],
)
async def test_spellings_of_a_time(place: Place, at: Any, zone: str | None) -> None:
    id = await place.triggers.propose("note", at=at, timezone=zone, confirmed_by="alice")
    assert (await place.triggers.get(id)).next == NOON


@pytest.mark.parametrize("every", [300, 300.0, "5m", "300s", "4m60s", " 5M ", timedelta(minutes=5)])
async def test_spellings_of_an_interval(place: Place, every: Any) -> None:
    id = await place.triggers.propose("note", every=every, confirmed_by="alice")
    trigger = await place.triggers.get(id)
    assert (trigger.seconds, trigger.next) == (300.0, place.store.moment + timedelta(minutes=5))


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        ({}, "bad_trigger", "got none of them"),
        ({"at": NOON, "cron": "* * * * *"}, "bad_trigger", "got at and cron"),
        ({"cron": "* * * * *", "every": 5}, "bad_trigger", "got cron and every"),
        ({"at": "2020-01-01T00:00Z"}, "past", "has passed"),
        ({"at": datetime(2026, 12, 1)}, "bad_trigger", "has no time zone"),
        ({"at": "2026-12-01"}, "bad_trigger", "has no time zone"),
        ({"at": "2026-03-29T02:30", "timezone": "Europe/Berlin"}, "bad_trigger", "does not occur"),
        ({"at": "tomorrow"}, "bad_trigger", "ISO 8601"),
        ({"at": 1_800_000_000}, "bad_trigger", "ISO 8601"),
        ({"at": timedelta.max}, "bad_trigger", "ISO 8601"),
        ({"at": "2026-12-01T12:00", "timezone": "Berlin"}, "bad_trigger", "`Berlin` is not a time zone"),
        ({"cron": "0 24 * * *"}, "bad_trigger", "hour (field 2): `24` is not from 0 to 23"),
        ({"cron": "* * * *"}, "bad_trigger", "five fields"),
        ({"cron": "0 0 30 2 *"}, "bad_trigger", "no such day"),
        ({"cron": 5}, "bad_trigger", "must be a string"),
        ({"cron": "* * * * *", "timezone": "Mars/Olympus"}, "bad_trigger", "`Mars/Olympus` is not a time zone"),
        ({"every": 5, "timezone": "UTC"}, "bad_trigger", "timezone belongs to cron and at"),
        ({"every": "5"}, "bad_trigger", "between 1 second and 366 days"),
        ({"every": "five minutes"}, "bad_trigger", "five minutes"),
        ({"every": "0s"}, "bad_trigger", "between 1 second"),
        ({"every": float("inf")}, "bad_trigger", "between 1 second"),
        ({"when_changed": 5}, "bad_trigger", "name of a probe"),
        ({"when_changed": lambda: 1}, "bad_trigger", "register the function"),
        ({"every": 5, "payload": {"x": object()}}, "bad_trigger", "must be JSON"),
        ({"every": 5, "payload": {"x": float("nan")}}, "bad_trigger", "must be JSON"),
        ({"every": 5, "payload": [1]}, "bad_trigger", "JSON object"),
        ({"every": 5, "payload": {"x": "é" * (MAX_PAYLOAD // 2)}}, "too_large", "65,536 bytes"),
        ({"every": 5, "catch_up": "later"}, "bad_trigger", "once, skip or all"),
        ({"every": 5, "tenant": 5}, "bad_trigger", "tenant"),
        ({"every": 5, "key": ""}, "bad_trigger", "key"),
        ({"every": 5, "by": 5}, "bad_trigger", "Principal"),
        ({"every": 5, "by": "robot:x"}, "bad_trigger", "Principal"),
        ({"every": 5, "name": ""}, "bad_trigger", "name of its run"),
        ({"every": 5, "name": "nothing"}, "bad_trigger", "this app has no run named `nothing`"),
    ],
)
async def test_a_mistake_has_a_code_and_its_place(
    place: Place, options: dict[str, Any], code: str, problem: str
) -> None:
    with pytest.raises(TriggerError) as raised:
        await place.triggers.propose(**{"name": "note", **options})
    assert raised.value.code == code
    assert problem in str(raised.value)
    assert await place.triggers.list() == [], "nothing is kept of it"


async def test_a_registered_probe_can_be_given_as_the_function(place: Place) -> None:
    id = await place.triggers.propose("note", when_changed=place.app.value, every="10s")
    assert (await place.triggers.get(id)).expression == "value"


async def test_principals_are_texts_or_values(place: Place) -> None:
    id = await place.triggers.propose("note", every=60, by="agent:bot")
    assert (await place.triggers.get(id)).by == BOT
    with pytest.raises(TriggerError) as raised:
        await place.triggers.confirm(id, by="agent:other")
    assert raised.value.code == "not_a_user"
    confirmed = await place.triggers.confirm(id, by="alice")
    assert confirmed.consent is not None
    assert confirmed.consent.by == ALICE
    anonymous = await place.triggers.propose("note", every=60)
    assert (await place.triggers.get(anonymous)).by == Principal("user", "anonymous")


async def test_a_key_repeats_nothing(place: Place) -> None:
    options: dict[str, Any] = {"at": "5m", "by": BOT, "key": "k"}
    id = await place.triggers.propose("note", **options)
    place.store.forward(minutes=10)
    assert await place.triggers.propose("note", **options) == id
    with pytest.raises(TriggerError) as raised:
        await place.triggers.propose("note", **{**options, "at": "6m"})
    assert raised.value.code == "taken"
    assert len(await place.triggers.list()) == 1


async def test_the_shape_of_the_first_page(tmp_path: Path) -> None:
    """A store by its path, no app: proposals, consents and the list."""
    async with Triggers(tmp_path / "runs.db") as triggers:
        id = await triggers.propose("report", cron="0 9 * * *", payload={"text": "hi"})
        assert (await triggers.confirm(id, by="alice")).state == "active"
        assert [each.id for each in await triggers.list()] == [id]
        assert (await triggers.pause(id)).state == "paused"
        assert (await triggers.resume(id, by="alice")).state == "active"
        assert (await triggers.delete(id)).state == "deleted"
        assert await triggers.list() == []
        assert [event.kind for event in await triggers.events(id)] == [
            f"trigger.{kind}" for kind in ("proposed", "confirmed", "paused", "resumed", "deleted")
        ]
        with pytest.raises(TriggerError) as raised:
            await triggers.get("nothing")
        assert raised.value.code == "unknown"


@pytest.mark.parametrize("arguments", [{"app": 5}, {"tools": object()}, {"policy": object()}])
async def test_an_app_of_another_kind_is_refused(place: Place, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Triggers(place.store, **arguments)
