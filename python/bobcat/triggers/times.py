"""The times of triggers: validation, the next time, and those that passed without a worker."""

from __future__ import annotations

from datetime import datetime, timedelta

from bobcat.errors import TriggerError
from bobcat.triggers.model import Trigger, When
from bobcat.triggers.spelling import bad, moment_of, seconds_of
from bobcat.workers.cron import CronError, parse_cron

GRACE = timedelta(seconds=60)
"""Age from which a due time counts as missed."""
MAX_CATCH_UP = 100
"""Most firings that `catch_up="all"` queues for one downtime: the latest."""
PROBE_SECONDS = 60.0


def schedule_of(
    at: object, cron: object, every: object, when_changed: object, *, timezone: str | None, now: datetime
) -> tuple[When, str, float]:
    """The kind, expression and interval of a new trigger. Raises `TriggerError` (`bad_trigger`)."""
    given = [name for name, value in (("at", at), ("cron", cron), ("when_changed", when_changed)) if value is not None]
    if every is not None and when_changed is None:
        given.append("every")
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise bad(f"a trigger needs one of at, cron, every and when_changed (which may have every), got {got}")
    if timezone is not None and given[0] not in ("at", "cron"):
        raise bad(f"timezone belongs to cron and at, not to {given[0]}")
    if at is not None:
        return "at", moment_of(at, timezone, now).isoformat(), 0.0
    if cron is not None:
        try:
            parse_cron(cron, "UTC" if timezone is None else timezone)
        except CronError as error:
            raise bad(str(error)) from error
        return "cron", str(cron), 0.0
    seconds = seconds_of(PROBE_SECONDS if every is None else every)
    if when_changed is None:
        return "every", f"{seconds:g} s", seconds
    if not isinstance(when_changed, str) or not when_changed:
        raise bad(f"when_changed must be the name of a probe that the app has registered, got `{when_changed!r}`")
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
        return parse_cron(trigger.expression, trigger.timezone).after(now)
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
