"""The times of triggers: validation, the next time, and those that passed without a worker."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from bobcat.errors import JobError, TriggerError
from bobcat.triggers.model import Trigger, When
from bobcat.workers.schedules import Schedule, check_cron, following

GRACE = timedelta(seconds=60)
"""Age from which a due time counts as missed."""
MAX_CATCH_UP = 100
"""Most firings that `catch_up="all"` queues for one downtime: the latest."""
MAX_SECONDS = 366 * 86_400.0
PROBE_SECONDS = 60.0


def schedule_of(
    at: datetime | None, cron: str | None, every: float | timedelta | None, when_changed: str | None, timezone: str
) -> tuple[When, str, float]:
    """The kind, expression and interval of a new trigger. Raises `TriggerError` (`bad_trigger`)."""
    given = [at is not None, cron is not None, when_changed is not None]
    if sum(given) + (every is not None and when_changed is None) != 1:
        raise _bad("a trigger needs exactly one of at, cron, every and when_changed (which may have every)")
    if at is not None:
        if not isinstance(at, datetime) or at.tzinfo is None:
            raise _bad(f"at must be a datetime with a time zone, got `{at!r}`")
        return "at", at.astimezone(UTC).isoformat(), 0.0
    if cron is not None:
        try:
            check_cron(cron, timezone)
        except (ValueError, AttributeError) as error:
            raise error if isinstance(error, JobError) else _bad(str(error)) from error
        return "cron", cron, 0.0
    seconds = _seconds(PROBE_SECONDS if every is None else every)
    if when_changed is None:
        return "every", f"{seconds:g} s", seconds
    if not isinstance(when_changed, str) or not when_changed:
        raise _bad("when_changed must be the name of a probe")
    return "when_changed", when_changed, seconds


def first_time(trigger: Trigger, now: datetime) -> datetime:
    """The first time after a consent at `now`. Raises `TriggerError` (`past`)."""
    if trigger.when == "at":
        at = datetime.fromisoformat(trigger.expression)
        if at <= now:
            raise TriggerError("past", f"the time of the trigger `{trigger.id}` has passed: {trigger.expression}")
        return at
    return now if trigger.when == "when_changed" else next_time(trigger, now, now)


def next_time(trigger: Trigger, due: datetime, now: datetime) -> datetime:
    """The first time after `now` in the sequence that `due` belongs to."""
    if trigger.when == "cron":
        return following(Schedule(trigger.name, trigger.expression, {}, trigger.timezone, "", 0), now)
    step = timedelta(seconds=trigger.seconds)
    return due + step * (max(0, (now - due) // step) + 1)


def times_to_fire(trigger: Trigger, due: datetime, now: datetime) -> list[datetime]:
    """The times between `due` and `now` to fire now, by the policy of the trigger."""
    if trigger.when == "when_changed" or trigger.catch_up == "once":
        return [due]
    passed = [due]
    while trigger.when != "at" and (later := next_time(trigger, passed[-1], passed[-1])) <= now:
        passed = [*passed[-MAX_CATCH_UP + 1 :], later]
    return passed if trigger.catch_up == "all" else [moment for moment in passed if now - moment < GRACE]


def _seconds(every: float | timedelta) -> float:
    seconds = every.total_seconds() if isinstance(every, timedelta) else every
    if type(seconds) not in (int, float) or not math.isfinite(seconds) or not 1 <= seconds <= MAX_SECONDS:
        raise _bad(f"every must be between 1 second and 366 days, got `{every!r}`")
    return float(seconds)


def _bad(message: str) -> TriggerError:
    return TriggerError("bad_trigger", message)
