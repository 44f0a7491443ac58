"""Triggers in a store: reading, changing under concurrency, and quotas."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from bobcat.errors import TriggerError
from bobcat.model.decision import Principal
from bobcat.stores.protocol import DurableStore, VersionConflict
from bobcat.tools.digest import exact_digest
from bobcat.triggers.model import (
    FIRING_KIND,
    KIND,
    LIVE,
    QUOTA_KIND,
    Firing,
    Trigger,
    firing_from_json,
    trigger_from_json,
)


async def read(store: DurableStore, id: str) -> tuple[Trigger, int]:
    """One trigger and the version of its document. Raises `TriggerError` (`unknown`, `damaged`)."""
    entry = await store.get(KIND, id)
    if entry is None:
        raise TriggerError("unknown", f"there is no trigger `{id}` in this store")
    return trigger_from_json(entry.body), entry.version


async def update(store: DurableStore, id: str, changed: Callable[[Trigger], Trigger]) -> Trigger:
    """Replace a trigger by what `changed` makes of it."""
    while True:
        known, version = await read(store, id)
        trigger = changed(known)
        if trigger == known:
            return known
        with suppress(VersionConflict):
            await store.put(KIND, id, trigger.to_json(), expected=version)
            return trigger


async def record(store: DurableStore, firing: Firing) -> None:
    """Record a firing, once for each time."""
    with suppress(VersionConflict):
        key = f"{firing.trigger}@{firing.due.isoformat()}"
        await store.put(FIRING_KIND, key, firing.to_json(), expected=0)


async def firings(store: DurableStore, id: str) -> list[Firing]:
    """The firings of a trigger, oldest first."""
    prefix, found = f"{id}@", list[Firing]()
    page = await store.scan(FIRING_KIND, after=prefix)
    while page and page[0].key.startswith(prefix):
        found += [firing_from_json(entry.body) for entry in page if entry.key.startswith(prefix)]
        page = await store.scan(FIRING_KIND, after=page[-1].key)
    return found


async def count_trigger(store: DurableStore, trigger: Trigger, limit: int) -> None:
    """Count a trigger for its proposer. Raises `TriggerError` (`quota`)."""
    key = f"triggers:{exact_digest([trigger.by.kind, trigger.by.id])}"
    while True:
        entry = await store.get(QUOTA_KIND, key)
        ids = [] if entry is None else list(entry.body["ids"])
        if trigger.id in ids:
            return
        if len(ids) >= limit:
            ids = [each for each in ids if await _is_live(store, each)]
        if len(ids) >= limit:
            raise TriggerError("quota", f"{_name(trigger.by)} has {limit} triggers, which is the limit")
        body = {"ids": [*ids, trigger.id]}
        with suppress(VersionConflict):
            await store.put(QUOTA_KIND, key, body, expected=0 if entry is None else entry.version)
            return


async def count_firing(store: DurableStore, trigger: Trigger, run_id: str, limit: int, now: datetime) -> bool:
    """Count a firing for the day, once for each run id; false when the limit is reached."""
    key = f"firings:{exact_digest([trigger.by.kind, trigger.by.id])}"
    day = now.date().isoformat()
    while True:
        entry = await store.get(QUOTA_KIND, key)
        runs = list(entry.body["runs"]) if entry is not None and entry.body["day"] == day else []
        if run_id in runs:
            return True
        if len(runs) >= limit:
            return False
        with suppress(VersionConflict):
            body = {"day": day, "runs": [*runs, run_id]}
            await store.put(QUOTA_KIND, key, body, expected=0 if entry is None else entry.version)
            return True


async def _is_live(store: DurableStore, id: str) -> bool:
    try:
        return (await read(store, id))[0].state in LIVE
    except TriggerError as error:
        return error.code == "damaged"


def _name(principal: Principal) -> str:
    return f"the {principal.kind} `{principal.id}`"
