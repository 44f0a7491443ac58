"""Schedules: runs that the clock queues. Any number of workers look at the clock; each time makes one run.

The run id is the name and the time, so that queueing it twice is queueing it once. Times that passed while no worker
was there are made up for by one run, not by one each.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bobcat.errors import JobError
from bobcat.stores.durable import DurableStore, VersionConflict
from bobcat.workers.job import Job, Jobs
from bobcat.workers.registry import Schedule

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
    """Queue the runs whose time has come; the jobs."""
    queued: list[Job] = []
    for schedule in schedules:
        now = await store.now()
        entry = await store.get(KIND, schedule.name)
        same = entry is not None and (entry.body["cron"], entry.body["timezone"]) == (schedule.cron, schedule.timezone)
        body = {"cron": schedule.cron, "timezone": schedule.timezone, "next": following(schedule, now).isoformat()}
        if entry is not None and same:
            due = datetime.fromisoformat(entry.body["next"])
            if now < due:
                continue
            run_id = f"{schedule.name}@{due.isoformat()}"
            queued.append(
                await jobs.enqueue(
                    schedule.name,
                    schedule.payload,
                    run_id=run_id,
                    priority=schedule.priority,
                    run_at=due,
                    tenant=schedule.tenant,
                )
            )
        try:
            await store.put(KIND, schedule.name, body, expected=0 if entry is None else entry.version)
        except VersionConflict:
            continue  # another worker was first
    return queued
