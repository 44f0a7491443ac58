"""Wake suspended runs: the one that asked, and one that waits for its approvals, as a firing does for its turn.

An answer announces itself: a waiting run costs its rows and no poll. A process that dies between an answer and the
status of its run leaves a look behind, which a worker makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from bobcat.stores.protocol import DurableStore, RunStatus, RunSummary, StatusConflict, VersionConflict, change_status
from bobcat.stores.queue import has_queue

WAITING = "waiting"
"""Kind of the documents of runs whose approvals another run waits for; the key is the run that asks."""
JOB_KIND = "job"
"""Kind of the documents from which workers create runs; `bobcat.workers` writes them."""
LOOK_SECONDS = 5.0
"""Time until a worker looks at a run whose answer is being recorded."""
SUSPENDED: tuple[RunStatus, ...] = ("suspended",)


async def wait_for(store: DurableStore, asking: str, waiting: str) -> bool:
    """Record that the run `waiting` continues after answers to the run `asking`. False when it is on record already."""
    while True:
        entry = await store.get(WAITING, asking)
        if entry is not None and entry.body.get("run_id") == waiting:
            return False
        try:
            await store.put(WAITING, asking, {"run_id": waiting}, expected=0 if entry is None else entry.version)
        except VersionConflict:
            continue
        return True


async def wake(store: DurableStore, asking: str, detail: Mapping[str, Any]) -> bool:  # Any: JSON
    """Queue the suspended run that asked, and the one that waits for it; `detail` is added to their status.

    False without a run that a worker can create: the program that began the run calls `run_agent` again.
    """
    queued = False
    for run in await _suspended(store, asking):
        try:
            await change_status(store, run.run_id, "queued", expected=SUSPENDED, detail={**run.detail, **detail})
        except StatusConflict:  # another process has resumed or ended it
            continue
        queued = True
    return queued


async def look_soon(store: DurableStore, asking: str) -> None:
    """Make a worker look at the runs that an answer will wake, in case this process dies before it has done so."""
    if has_queue(store):
        for run in await _suspended(store, asking):
            await store.look_at(run.run_id, await store.now() + timedelta(seconds=LOOK_SECONDS))


async def waiting_runs(store: DurableStore, asking: str) -> tuple[str, ...]:
    """The run that asked, and the one that waits for it."""
    entry = await store.get(WAITING, asking)
    return (asking,) if entry is None else (asking, str(entry.body.get("run_id")))


async def _suspended(store: DurableStore, asking: str) -> list[RunSummary]:
    """The suspended ones of `waiting_runs` that have a job."""
    runs = [await store.run(run_id) for run_id in await waiting_runs(store, asking)]
    suspended = [run for run in runs if run is not None and run.status == "suspended"]
    return [run for run in suspended if await store.get(JOB_KIND, run.run_id) is not None]
