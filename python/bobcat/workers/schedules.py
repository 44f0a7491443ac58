"""Schedules: runs that are queued by a cron expression. Each time makes one run, whatever the number of workers.

The run id consists of the name and the time, so that queueing it twice has no effect. Times that passed without a
worker result in one run together, not in one each.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bobcat.errors import JobError
from bobcat.logs import logger
from bobcat.stores.protocol import DurableStore, Entry, RestorableStore, VersionConflict
from bobcat.text.json_text import format_exception
from bobcat.workers.cron import parse_cron
from bobcat.workers.job import Job
from bobcat.workers.jobs import Jobs

log = logger("workers")

KIND = "schedule"
RETRY = timedelta(seconds=2)
"""Time until a schedule that failed is tried again."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A run to queue at the times of a schedule. `cron` has the five usual fields."""

    name: str
    cron: str
    payload: Mapping[str, Any]
    timezone: str
    tenant: str
    priority: int
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ListedSchedule:
    """A schedule as its document has it. `next` is in ISO 8601, "" before the first time is known."""

    name: str
    cron: str
    timezone: str
    next: str
    error: str
    """The problem of its last time; "" when it was queued."""


async def list_schedules(store: DurableStore) -> list[ListedSchedule]:
    """The schedules of a store by name, also those that no app has any more."""
    found: list[Entry] = []
    while page := await store.scan(KIND, after=found[-1].key if found else ""):
        found.extend(page)
    names = ("cron", "timezone", "next", "error")
    return [ListedSchedule(entry.key, *(str(entry.body.get(name) or "") for name in names)) for entry in found]


def following(schedule: Schedule, moment: datetime) -> datetime:
    """The first time of a schedule after `moment`."""
    return parse_cron(schedule.cron, schedule.timezone).after(moment)


class ScheduleTimes:
    """The schedules of one worker. It reads one when its next time comes, or a while after its last error."""

    def __init__(self, schedules: list[Schedule]) -> None:
        self._schedules = schedules
        self._next: dict[str, datetime] = {}

    async def queue_due(self, store: DurableStore, jobs: Jobs) -> None:
        """Queue the runs of the schedules whose time has come."""
        if not self._schedules:
            return
        now = await store.now()
        due = [each for each in self._schedules if now >= self._next.get(each.name, now)]
        failed: set[str] = set()
        await queue_due(store, jobs, due, failed)
        for schedule in due:
            again = now + RETRY if schedule.name in failed else following(schedule, now)
            self._next[schedule.name] = again

    def seconds(self, now: datetime) -> float:
        """Seconds until the next time of a schedule."""
        moments = [self._next.get(schedule.name, now) for schedule in self._schedules]
        return min(((moment - now).total_seconds() for moment in moments), default=float("inf"))


async def queue_due(
    store: DurableStore, jobs: Jobs, schedules: list[Schedule], failed: set[str] | None = None
) -> list[Job]:
    """Queue the runs of due schedules; return their jobs. The names of failing schedules are added to `failed`.

    A failing schedule does not block the others: its error is logged, and kept in its document until it works.
    """
    queued: list[Job] = []
    for schedule in schedules:
        try:
            job = await _queue(store, jobs, schedule)
        except VersionConflict:
            continue  # another worker was first
        except Exception as error:
            await _record(store, schedule, format_exception(error))
            if failed is not None:
                failed.add(schedule.name)
            continue
        if job is not None:
            queued.append(job)
    return queued


async def _queue(store: DurableStore, jobs: Jobs, schedule: Schedule) -> Job | None:
    """Queue the run of one schedule, if its time has come, and record the next time."""
    now = await store.now()
    entry = await store.get(KIND, schedule.name)
    due = None if entry is None else _due(entry, schedule)
    if due is not None and now < due:
        return None
    body = {"cron": schedule.cron, "timezone": schedule.timezone, "next": following(schedule, now).isoformat()}
    job: Job | None = None
    if due is not None:
        try:
            restored = await store.restored_at() if isinstance(store, RestorableStore) else None
            if restored is not None and due < restored:
                raise JobError(
                    "restored", f"the run of {due.isoformat()} was not queued: it may have run before the restore"
                )
            job = await jobs.enqueue(
                schedule.name,
                schedule.payload,
                run_id=f"{schedule.name}@{due.isoformat()}",
                priority=schedule.priority,
                run_at=due,
                tenant=schedule.tenant,
                version=schedule.version,
            )
        except JobError as error:  # this time can never be queued, but the next one may
            log.warning("the schedule %s failed: %s", schedule.name, error)
            body |= {"error": str(error), "failed": due.isoformat()}
    await store.put(KIND, schedule.name, body, expected=0 if entry is None else entry.version)
    return job


def _due(entry: Entry, schedule: Schedule) -> datetime | None:
    """The recorded next time of a schedule; None when the recorded schedule differs or is damaged."""
    body = entry.body
    if (body.get("cron"), body.get("timezone")) != (schedule.cron, schedule.timezone):
        return None
    try:
        due = datetime.fromisoformat(body["next"])
    except (KeyError, TypeError, ValueError):
        log.warning("the record of the schedule %s is damaged: it restarts", schedule.name)
        return None
    return None if due.tzinfo is None else due


async def _record(store: DurableStore, schedule: Schedule, error: str) -> None:
    """Record the problem of a schedule, once for each problem. A store that fails now is tried again."""
    with suppress(Exception):
        entry = await store.get(KIND, schedule.name)
        if entry is not None and entry.body.get("error") == error:
            return
        log.warning("the schedule %s failed: %s", schedule.name, error)
        body = {**({} if entry is None else entry.body), "error": error}
        await store.put(KIND, schedule.name, body, expected=0 if entry is None else entry.version)
