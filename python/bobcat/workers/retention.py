"""Retention: runs that are over are removed after a time, by one worker at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import get_args

from bobcat.logs import logger
from bobcat.stores.protocol import DurableStore, RunStatus, VersionConflict
from bobcat.text.elapsed import span_of
from bobcat.text.json_text import format_exception
from bobcat.workers.activity import Activity
from bobcat.workers.erasing import OPEN, prune_runs

KIND, KEY = "retention", "next"
"""The document with the time of the next removal: of many workers, one changes it."""
EVERY = timedelta(minutes=10)
RETRY_SECONDS = 30.0
OVER: tuple[str, ...] = tuple(status for status in get_args(RunStatus) if status not in OPEN)
"""Statuses that can have a retention."""

log = logger("workers")

Retention = Mapping[str, timedelta]
"""The time after which runs of a status are removed."""


def check_retention(retention: Retention) -> Retention:
    """Return the retention. Raises `ValueError` for a status of runs that go on, and for a negative time."""
    for status, age in retention.items():
        if status not in OVER:
            raise ValueError(f"a retention is for {', '.join(f'`{known}`' for known in OVER)}, not for `{status}`")
        if not isinstance(age, timedelta) or age < timedelta(0):
            raise ValueError(f"the retention of `{status}` must be a positive `timedelta`, got `{age!r}`")
    return retention


def retention_of(text: str) -> Retention:
    """Parse `30d`, which is for every status of runs that are over, or `succeeded=7d,failed=90d`.

    Raises `ValueError`.
    """
    if "=" not in text:
        return dict.fromkeys(OVER, span_of(text))
    found: dict[str, timedelta] = {}
    for part in text.split(","):
        status, _, age = part.strip().partition("=")
        if status in found:
            raise ValueError(f"`{status}` has two times")
        found[status] = span_of(age)
    return check_retention(found)


async def prune_for_ever(store: DurableStore, retention: Retention, activity: Activity) -> None:
    """Remove old runs every `EVERY`, in one of the workers of the store. A store that is unavailable is asked again."""
    while True:
        try:
            if await _is_turn(store):
                await prune_once(store, retention, activity)
        except Exception as error:  # an unavailable store is asked again
            log.warning("old runs were not removed: %s", format_exception(error))
        await asyncio.sleep(RETRY_SECONDS)


async def prune_once(store: DurableStore, retention: Retention, activity: Activity) -> None:
    """Remove the runs whose retention has ended."""
    done = await prune_runs(store, retention, await store.now())
    removed = sum(each.problem is None for each in done)
    activity.count_pruned(removed)
    if removed:
        log.info("retention removed %d runs", removed)


async def _is_turn(store: DurableStore) -> bool:
    """Claim the next removal, if it is due. Of many workers one does."""
    entry, now = await store.get(KIND, KEY), await store.now()
    if entry is not None:
        due = _moment(entry.body.get("next"))
        if due is not None and now < due <= now + EVERY:  # a later one was written before the date was set back
            return False
    body = {"next": (now + EVERY).isoformat()}
    try:
        await store.put(KIND, KEY, body, expected=0 if entry is None else entry.version)
    except VersionConflict:
        return False
    return True


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return None if found is None or found.tzinfo is None else found
