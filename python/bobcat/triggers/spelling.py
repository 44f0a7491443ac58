"""Spellings of times, intervals and principals that people write: `5m`, ISO 8601, `agent:bot`."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from bobcat.errors import TriggerError
from bobcat.model.decision import Principal
from bobcat.workers.cron import CronError, zone_of

ANONYMOUS = Principal("user", "anonymous")
MAX_SECONDS = 366 * 86_400.0
_KINDS = ("user", "service", "agent")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,6})?[smhdw])+", re.ASCII)
_PART = re.compile(r"([0-9.]+)([smhdw])")


def seconds_of(every: object) -> float:
    """An interval in seconds: a number, a timedelta, or text such as `90s`, `5m` or `1h30m`. Raises `TriggerError`."""
    seconds: Any = every  # Any: checked below
    if isinstance(every, timedelta):
        seconds = every.total_seconds()
    elif isinstance(every, str):
        seconds = _duration(every)
    if type(seconds) not in (int, float) or not math.isfinite(seconds) or not 1 <= seconds <= MAX_SECONDS:
        raise bad(f"every must be between 1 second and 366 days: seconds, a timedelta or `5m`, got `{every!r}`")
    return float(seconds)


def moment_of(at: object, timezone: str | None, now: datetime) -> datetime:
    """A point in time in UTC: a datetime or its ISO 8601 text, or the time from now, as a timedelta or `5m`.

    One without an offset is a time of the clock in `timezone`, and needs one. Raises `TriggerError`.
    """
    late = at if isinstance(at, timedelta) else _from_now(at)
    try:
        if late is not None:
            return now + late
        found = datetime.fromisoformat(at) if isinstance(at, str) else at
        if not isinstance(found, datetime):
            raise ValueError("not a time")
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise bad(
            f"at must be a datetime with a time zone, ISO 8601 text such as `2026-12-01T09:00+01:00`, "
            f"or the time from now such as `5m`, got `{at!r}`"
        ) from error
    return _local(found, timezone, at)


def principal_of(by: object, what: str) -> Principal:
    """A principal, or the one that a text names: `alice` is a user, `agent:bot` an agent. Raises `TriggerError`."""
    if isinstance(by, str):
        kind, colon, id = by.partition(":")
        if not colon:
            kind, id = "user", by
        if kind in _KINDS and id.strip():
            return Principal(cast("Any", kind), id)  # Any: one of the kinds
    if isinstance(by, Principal) and by.id:
        return by
    raise bad(f"{what} must be a Principal, or text such as `alice` or `agent:bot`, got `{by!r}`")


def bad(message: str) -> TriggerError:
    """The error of an invalid trigger."""
    return TriggerError("bad_trigger", message)


def _from_now(at: object) -> timedelta | None:
    if not isinstance(at, str) or (seconds := _duration(at)) is None:
        return None
    return timedelta(seconds=seconds)


def _duration(text: str) -> float | None:
    text = text.strip().lower()
    if _DURATION.fullmatch(text) is None:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _local(clock: datetime, timezone: str | None, at: object) -> datetime:
    if timezone is None:
        raise bad(f"at has no time zone: write an offset, or pass timezone, got `{at!r}`")
    try:
        zone = zone_of(timezone)
    except CronError as error:
        raise bad(str(error)) from error
    found = clock.replace(tzinfo=zone).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) != clock.replace(fold=0):
        raise bad(f"`{at}` does not occur in {timezone}: the clock is set forward then")
    return found
