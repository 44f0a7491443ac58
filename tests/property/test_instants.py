"""Instants of datetimes are those that Python computes, in whatever time zone and of whatever class."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import campaign
from bobcat import Policy, Request

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Subclass(datetime):
    """A datetime of another class, with other storage behind it."""

    __slots__ = ("note",)


class Raising(tzinfo):
    def utcoffset(self, moment: datetime | None) -> timedelta:
        raise ValueError("no offset")

    def dst(self, moment: datetime | None) -> None:
        return None

    def tzname(self, moment: datetime | None) -> str:
        return "none"


def matched(moment: datetime) -> list[bool]:
    """Return whether a rule about an instant matches: a microsecond before a moment, at the moment, one after it."""
    found = []
    instant = moment.astimezone(UTC)
    for shift in (-1, 0, 1):
        try:
            bound = (instant + timedelta(microseconds=shift)).isoformat().replace("+00:00", "Z")
        except OverflowError:
            continue
        match = {"tool": "t", "context.timestamp.between": [bound, bound]}
        policy = Policy.compile({"version": 1, "rules": [{"id": "r", "match": match, "decision": "allow"}]})
        found.append(policy.evaluate(Request("t", {}, timestamp=moment)).matched_rules == ("r",))
    return found


zones = st.sampled_from(
    [
        UTC,
        timezone(timedelta(0)),
        timezone(timedelta(0), "other"),
        timezone(timedelta(hours=5, minutes=30)),
        timezone(timedelta(hours=-11, seconds=7)),
        ZoneInfo("UTC"),
        ZoneInfo("Europe/Berlin"),
    ]
)


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31, 23, 59, 59, 999_999)),
    zones,
    st.sampled_from([datetime, Subclass]),
    st.integers(0, 1),
)
@example(datetime(1969, 12, 31, 23, 59, 59, 999_999), UTC, datetime, 0)
@example(datetime(2024, 2, 29), UTC, datetime, 1)
@example(datetime(2000, 3, 1), UTC, datetime, 0)
@example(datetime(1900, 2, 28, 23), UTC, datetime, 0)
@example(datetime(2026, 10, 25, 2, 30), ZoneInfo("Europe/Berlin"), datetime, 1)
@settings(max_examples=campaign.examples(150), deadline=None)
def test_an_instant_is_the_one_that_python_computes(
    local: datetime, zone: tzinfo, kind: type[datetime], fold: int
) -> None:
    moment = kind(
        local.year,
        local.month,
        local.day,
        local.hour,
        local.minute,
        local.second,
        local.microsecond,
        tzinfo=zone,
        fold=fold,
    )
    assert matched(moment) == [False, True, False]


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_first_and_the_last_instant_are_read(moment: datetime) -> None:
    assert matched(moment).count(True) == 1


@pytest.mark.parametrize("zone", [None, Raising()])
def test_a_datetime_without_an_instant_is_no_instant(zone: tzinfo | None) -> None:
    match = {"tool": "t", "context.timestamp.ge": "0001-01-01T00:00:00Z"}
    policy = Policy.compile({"version": 1, "rules": [{"id": "r", "match": match, "decision": "allow"}]})
    decision = policy.evaluate(Request("t", {}, timestamp=datetime(2026, 1, 1, tzinfo=zone)))
    assert decision.verdict != "allow"
    assert decision.matched_rules[0].startswith("<rule_error:r:")
