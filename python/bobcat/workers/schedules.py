"""Schedules: runs that the clock queues. Any number of workers look at the clock; each time makes one run.

The run id is the name and the time, so that queueing it twice is queueing it once. Times that passed while no worker
was there are made up for by one run, not by one each.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bobcat.errors import JobError
from bobcat.logs import logger
from bobcat.plain_json import describe
from bobcat.stores.durable import DurableStore, Entry, RestorableStore, VersionConflict
from bobcat.workers.job import Job, Jobs
from bobcat.workers.registry import Schedule

log = logger("workers")

KIND = "schedule"


def check_cron(cron: str, timezone: str) -> None:
    """Refuse what is no schedule. Raises `ValueError`, and `JobError` when croniter is not installed."""
    try:
        from croniter import croniter
    except ImportError as error:
        raise JobError("missing_extra", "a cron schedule needs `pip install 'bobcat[workers]'`") from error
    if len(cron.split()) != 5 or not croniter.is_valid(cron):
        raise ValueError(f"`{cron}` is no schedule: write the five fields minute, hour, day, month, weekday")
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"`{timezone}` is no time zone: write one such as `Europe/Berlin`") from error


def following(schedule: Schedule, moment: datetime) -> datetime:
    """The first time of a schedule after `moment`."""
    from croniter import croniter

    local = moment.astimezone(ZoneInfo(schedule.timezone))
    found = croniter(schedule.cron, local).get_next(datetime)
    assert isinstance(found, datetime)
    return found.astimezone(UTC)


async def queue_due(store: DurableStore, jobs: Jobs, schedules: list[Schedule]) -> list[Job]:
    """Queue the runs whose time has come; the jobs.

    A schedule that fails keeps no other from its runs: its error is logged, and kept in its document until it works.
    """
    queued: list[Job] = []
    for schedule in schedules:
        try:
            job = await _queue(store, jobs, schedule)
        except VersionConflict:
            continue  # another worker was first
        except Exception as error:
            await _record(store, schedule, describe(error))
            continue
        if job is not None:
            queued.append(job)
    return queued


async def _queue(store: DurableStore, jobs: Jobs, schedule: Schedule) -> Job | None:
    """Queue the run of one schedule, if its time has come, and note the next time."""
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
        except JobError as error:  # this time cannot be queued, now or later: the next one may
            log.warning("the schedule %s failed: %s", schedule.name, error)
            body |= {"error": str(error), "failed": due.isoformat()}
    await store.put(KIND, schedule.name, body, expected=0 if entry is None else entry.version)
    return job


def _due(entry: Entry, schedule: Schedule) -> datetime | None:
    """The next time of a schedule as it is on record; None when it was another schedule then, or is damaged."""
    body = entry.body
    if (body.get("cron"), body.get("timezone")) != (schedule.cron, schedule.timezone):
        return None
    try:
        due = datetime.fromisoformat(body["next"])
    except (KeyError, TypeError, ValueError):
        log.warning("the schedule %s is not what was written: it begins anew", schedule.name)
        return None
    return None if due.tzinfo is None else due


async def _record(store: DurableStore, schedule: Schedule, error: str) -> None:
    """Keep why a schedule does not work, once for each reason. A store that cannot keep it now is told again."""
    with suppress(Exception):
        entry = await store.get(KIND, schedule.name)
        if entry is not None and entry.body.get("error") == error:
            return
        log.warning("the schedule %s failed: %s", schedule.name, error)
        body = {**({} if entry is None else entry.body), "error": error}
        await store.put(KIND, schedule.name, body, expected=0 if entry is None else entry.version)
