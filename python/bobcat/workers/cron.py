"""Cron expressions: five fields in a time zone, the next time of one, and the place of a mistake in one.

An hour of `*` means each hour that passes. Other hours are local times of the clock: one that occurs twice when the
clock is set back fires at the first, and one that is skipped when it is set forward fires right after the change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of week", 0, 7, {name: number for number, name in enumerate(_DAYS)}),
)
_PART = re.compile(r"(?:(?P<any>\*)|(?P<first>[0-9a-z]+)(?:-(?P<last>[0-9a-z]+))?)(?:/(?P<step>[0-9]+))?", re.ASCII)
_MAX_DAYS = 366 * 41
"""Days to search: 29 February is the same day of the week after at most 40 years."""
_SHIFT = timedelta(hours=3)
"""Longer than a change of clocks moves the time of a day."""


class CronError(ValueError):
    """A cron expression, or a time zone, that is invalid."""


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed expression. Each field is the set of its values; `either`: one of the two day fields suffices."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    hourly: bool
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime:
        """The first time after `moment`, in UTC. Raises `CronError` for an expression that never occurs."""
        local = moment.astimezone(self.zone).replace(tzinfo=None)
        earliest = local - _SHIFT
        for offset in range(_MAX_DAYS):
            day = earliest.date() + timedelta(days=offset)
            if self._matches(day):
                found = self._first_on(day, earliest, moment)
                if found is not None:
                    return found
        raise CronError("there is no such day")

    def _matches(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_date, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_date or by_week if self.either else by_date and by_week

    def _first_on(self, day: date, earliest: datetime, moment: datetime) -> datetime | None:
        """The first time on a day after `moment`. Times of the clock are searched only around it."""
        best: datetime | None = None
        latest = datetime.max
        for hour in self.hours:
            for minute in self.minutes:
                clock = datetime(day.year, day.month, day.day, hour, minute)
                if clock < earliest:
                    continue
                if clock > latest:
                    return best
                for each in self._moments(clock):
                    if each > moment and (best is None or each < best):
                        best, latest = each, clock + _SHIFT
        return best

    def _moments(self, clock: datetime) -> Iterator[datetime]:
        """The moments at which the clock shows this time: one; on the day of a change also two, or none."""
        first, second = (clock.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first <= second:
            yield first
            if self.hourly and first < second:
                yield second
        elif not self.hourly:
            yield _change(self.zone, second, first)


def parse_cron(cron: object, timezone: object = "UTC") -> Cron:
    """Parse the five fields. Raises `CronError` with the field and the part that is wrong."""
    if not isinstance(cron, str):
        raise CronError(f"a schedule must be a string, got {type(cron).__name__}")
    texts = cron.split()
    if len(texts) != len(_FIELDS):
        raise CronError(
            f"`{cron}` is not a schedule: write the five fields minute, hour, day, month, weekday, not {len(texts)}"
        )
    try:
        minutes, hours, days, months, weekdays = (_values(text, number) for number, text in enumerate(texts))
    except CronError as error:
        raise CronError(f"`{cron}` is not a schedule: {error}") from None
    either = not texts[2].startswith("*") and not texts[4].startswith("*")
    found = Cron(
        tuple(sorted(minutes)), tuple(sorted(hours)), days, months,
        frozenset(each % 7 for each in weekdays), either, len(hours) == 24, zone_of(timezone),
    )  # fmt: skip
    try:
        found.after(datetime(2000, 1, 1, tzinfo=UTC))
    except CronError as error:
        raise CronError(f"`{cron}` is not a schedule: {error}") from None
    return found


def zone_of(timezone: object) -> ZoneInfo:
    """The time zone of this name. Raises `CronError`."""
    try:
        return ZoneInfo(timezone)  # type: ignore[arg-type]  # any object
    except (ZoneInfoNotFoundError, ValueError, TypeError, AttributeError, OSError) as error:
        raise CronError(f"`{timezone}` is not a time zone: write one such as `Europe/Berlin`") from error


def _values(text: str, number: int) -> frozenset[int]:
    name, low, high, _ = _FIELDS[number]
    found: set[int] = set()
    for part in text.lower().split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise CronError(f"{name} (field {number + 1}): `{part}` is not a value such as `5`, `1-5` or `*/10`")
        first, last = match["first"], match["last"]
        start = low if match["any"] else _number(first, number)
        end = _number(last, number) if last else start if first and not match["step"] else high
        end += 7 if high == 7 and start > end else 0  # from Friday to Monday
        step = int(match["step"] or 1)
        if step < 1 or start > end:
            reason = "a step must be at least 1" if step < 1 else "the range is reversed"
            raise CronError(f"{name} (field {number + 1}): `{part}`: {reason}")
        found.update(range(start, end + 1, step))
    return frozenset(found)


def _number(text: str, number: int) -> int:
    name, low, high, names = _FIELDS[number]
    value = names.get(text, int(text) if text.isdigit() and len(text) < 4 else -1)
    if not low <= value <= high:
        raise CronError(f"{name} (field {number + 1}): `{text}` is not from {low} to {high}")
    return value


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The moment between two others, to the minute, at which the clock is set forward."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(minutes=1):
        middle = before + timedelta(minutes=(after - before) // timedelta(minutes=2))
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after
