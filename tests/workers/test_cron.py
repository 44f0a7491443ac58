"""Cron expressions: every minute of a year against a slow oracle, changes of clocks, leap days, mistakes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat.workers.cron import CronError, parse_cron

BERLIN = "Europe/Berlin"


def times(cron: str, zone: str, start: datetime, number: int) -> list[str]:
    """The next times, on the clock of the zone."""
    schedule, found = parse_cron(cron, zone), []
    for _ in range(number):
        start = schedule.after(start)
        found.append(start.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M %z"))
    return found


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("cron", "zone", "start", "expected"),
    [
        # the clock is set forward from 2 to 3: the skipped time fires right after the change
        ("30 2 * * *", BERLIN, utc(2026, 3, 28, 0), ["28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"]),
        ("0,30 2 * * *", BERLIN, utc(2026, 3, 29, 0), ["29 03:00 +0200", "30 02:00 +0200"]),
        ("*/30 * * * *", BERLIN, utc(2026, 3, 29, 0, 20), ["29 01:30 +0100", "29 03:00 +0200", "29 03:30 +0200"]),
        # the clock is set back from 3 to 2: a time of the clock fires once, an hour of `*` each time
        ("30 2 * * *", BERLIN, utc(2026, 10, 24, 12), ["25 02:30 +0200", "26 02:30 +0100"]),
        ("30 */2 * * *", BERLIN, utc(2026, 10, 24, 23), ["25 02:30 +0200", "25 04:30 +0100"]),
        ("30 * * * *", BERLIN, utc(2026, 10, 25, 0), ["25 02:30 +0200", "25 02:30 +0100", "25 03:30 +0100"]),
        # a change of half an hour, one at midnight, and a day that did not exist
        ("0 2 * * *", "Australia/Lord_Howe", utc(2026, 10, 3, 0), ["04 02:30 +1100", "05 02:00 +1100"]),
        ("0 0 * * *", "America/Sao_Paulo", utc(2018, 11, 3, 12), ["04 01:00 -0200", "05 00:00 -0200"]),
        ("0 12 * * *", "Pacific/Apia", utc(2011, 12, 29, 0), ["29 12:00 -1000", "31 00:00 +1400", "31 12:00 +1400"]),
        # leap days, also as one day of the week
        ("0 9 29 2 *", "UTC", utc(2026, 1, 1), ["29 09:00 +0000", "29 09:00 +0000"]),
        ("0 0 31 * *", "UTC", utc(2026, 2, 1), ["31 00:00 +0000", "31 00:00 +0000"]),
        # one of two day fields suffices
        ("0 0 13 * FRI", "UTC", utc(2026, 2, 1), ["06 00:00 +0000", "13 00:00 +0000", "20 00:00 +0000"]),
        ("0 0 * * fri-mon", "UTC", utc(2026, 2, 4), ["06 00:00 +0000", "07 00:00 +0000", "08 00:00 +0000"]),
        ("0 0 1 jan 7", "UTC", utc(2026, 12, 31), ["01 00:00 +0000", "03 00:00 +0000", "10 00:00 +0000"]),
    ],
)
def test_times(cron: str, zone: str, start: datetime, expected: list[str]) -> None:
    assert [each[8:] for each in times(cron, zone, start, len(expected))] == expected


def test_leap_years() -> None:
    assert [each[:4] for each in times("0 9 29 2 *", "UTC", utc(2026, 1, 1), 2)] == ["2028", "2032"]
    assert [each[:4] for each in times("0 9 29 2 *", "UTC", utc(2096, 3, 1), 1)] == ["2104"]


def part(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    pairs = st.lists(number, min_size=2, max_size=2, unique=True).map(sorted)
    return st.one_of(
        st.just("*"),
        number.map(str),
        st.integers(2, 20).map(lambda step: f"*/{step}"),
        pairs.map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.lists(number, min_size=1, max_size=3, unique=True).map(lambda each: ",".join(map(str, each))),
    )


DAYS = st.one_of(st.tuples(part(1, 28), part(1, 12), st.just("*")), st.tuples(st.just("*"), part(1, 12), part(0, 6)))
CRONS = st.tuples(part(0, 59), part(0, 23), DAYS).map(lambda each: " ".join((each[0], each[1], *each[2])))


@given(CRONS, st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1)))
def test_times_in_utc_are_those_of_another_implementation(cron: str, start: datetime) -> None:
    start = start.replace(tzinfo=UTC, microsecond=0)
    other, schedule, mine = croniter(cron, start), parse_cron(cron), start
    for _ in range(4):
        mine = schedule.after(mine)
        assert mine == other.get_next(datetime)


@settings(max_examples=campaign.examples(30))
@given(
    CRONS,
    st.sampled_from(
        [
            (BERLIN, utc(2026, 3, 29, 1)),
            (BERLIN, utc(2026, 10, 25, 1)),
            ("America/New_York", utc(2026, 11, 1, 6)),
            ("Australia/Lord_Howe", utc(2026, 4, 4, 15)),
            ("America/Sao_Paulo", utc(2018, 11, 4, 3)),
            ("Asia/Kathmandu", utc(2026, 1, 1)),
        ]
    ),
    st.integers(1, 150),
)
def test_a_change_of_clocks_has_each_time_of_the_clock_once(cron: str, change: tuple[str, datetime], lead: int) -> None:
    """Compare with every minute of some hours: an hour of `*` is real time, another one the first of its name."""
    zone, start = change[0], change[1] - timedelta(minutes=lead)
    schedule, place = parse_cron(cron, zone), ZoneInfo(zone)
    naive, daily = parse_cron(cron), parse_cron(f"0 0 {' '.join(cron.split()[2:])}")

    @cache
    def is_day(day: date) -> bool:
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return daily.after(midnight - timedelta(minutes=1)) == midnight

    moment, seen, expected = start, set(), []
    begin = moment
    for minute in range(-180, 240):
        each = moment + timedelta(minutes=minute)
        clock = each.astimezone(place).replace(tzinfo=None)
        is_time = clock.minute in naive.minutes and clock.hour in naive.hours and is_day(clock.date())
        if is_time and (schedule.hourly or clock not in seen) and minute > 0:
            expected.append(each)
        seen.add(clock)
    found = []
    while (begin := schedule.after(begin)) < moment + timedelta(minutes=240):
        found.append(begin)
    skipped = [each for each in found if each not in expected]
    assert [each for each in found if each in expected] == expected
    for each in skipped:  # right after a change of clocks
        assert each.astimezone(place).utcoffset() != (each - timedelta(minutes=1)).astimezone(place).utcoffset()


@pytest.mark.parametrize(
    ("cron", "problem"),
    [
        ("* * * *", "write the five fields minute, hour, day, month, weekday, not 4"),
        ("* * * * * *", "not 6"),
        ("", "not 0"),
        (5, "must be a string, got int"),
        ("60 * * * *", "minute (field 1): `60` is not from 0 to 59"),
        ("0 24 * * *", "hour (field 2): `24` is not from 0 to 23"),
        ("0 0 0 * *", "day of month (field 3): `0` is not from 1 to 31"),
        ("0 0 1 foo *", "month (field 4): `foo` is not from 1 to 12"),
        ("0 0 * * 8", "day of week (field 5): `8` is not from 0 to 7"),
        ("5-1 * * * *", "minute (field 1): `5-1`: the range is reversed"),
        ("*/0 * * * *", "minute (field 1): `*/0`: a step must be at least 1"),
        ("1,,2 * * * *", "minute (field 1): `` is not a value"),
        ("R * * * *", "minute (field 1): `r` is not from 0 to 59"),
        ("0 0 L * *", "day of month (field 3): `l` is not from 1 to 31"),
        ("٣ * * * *", "minute (field 1): `٣` is not a value"),
        ("0 0 30 2 *", "there is no such day"),
        ("0 0 31 4,6 *", "there is no such day"),
        ("9999999999999999999 * * * *", "is not from 0 to 59"),
    ],
)
def test_a_mistake_is_reported_with_its_place(cron: object, problem: str) -> None:
    with pytest.raises(CronError) as raised:
        parse_cron(cron)
    assert problem in str(raised.value)


@pytest.mark.parametrize("zone", ["Berlin", "", "../etc/passwd", "/etc/localtime", 5, None, "Europe/Berlin\0"])
def test_an_unknown_time_zone_is_refused(zone: object) -> None:
    with pytest.raises(CronError, match="is not a time zone"):
        parse_cron("* * * * *", zone)
