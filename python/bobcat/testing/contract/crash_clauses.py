"""Durability clauses for failing storage: a killed server, a torn write, a closed file."""

from __future__ import annotations

import asyncio
import inspect
import time

from bobcat.journal.records import DuplicateRecord, StepRecord
from bobcat.testing.contract.subject import (
    NotApplicable,
    StoreUnderTest,
    append_all,
    demand,
    demand_refused,
    demand_same,
    record,
    refusal,
)

RECOVERY_SECONDS = 60.0
"""Seconds in which a store must recover after its storage is back."""


async def closing_keeps_everything(subject: StoreUnderTest) -> None:
    """Appended records are present after the store is closed and a new one is opened."""
    if not subject.shared:
        raise NotApplicable("store objects share nothing (`shared=False`)")
    run_id = subject.run_id()
    wanted = [record(run_id, seq) for seq in range(5)]
    store = await subject.store()
    await append_all(store, wanted)
    await subject.close()
    store = await subject.store()
    demand_same(await store.load(run_id), wanted, "the new store")
    await demand_refused(store.append(record(run_id, 4)), DuplicateRecord, "an append to a taken position")


async def a_crash_loses_nothing_acknowledged(subject: StoreUnderTest) -> None:
    """The storage crashes during writes: every acknowledged record is present afterwards, every other record is
    present whole or not at all, positions stay unique, and the store works again."""
    if subject.crash is None:
        raise NotApplicable("no `crash` was given")
    store = await subject.store()
    runs = [subject.run_id(str(number)) for number in range(4)]
    acknowledged: dict[str, list[StepRecord]] = {run_id: [] for run_id in runs}
    attempted: dict[str, list[StepRecord]] = {run_id: [] for run_id in runs}
    crashed = False

    async def write(run_id: str) -> None:
        seq, after = 0, 0
        until = time.monotonic() + RECOVERY_SECONDS
        while after < 5:
            entry = record(run_id, seq, {"step": seq, "text": "x" * 2000})
            attempted[run_id].append(entry)
            error = await refusal(store.append(entry))
            if error is None:
                acknowledged[run_id].append(entry)
                after += crashed
            elif isinstance(error, DuplicateRecord):
                demand(False, f"position {seq}, which only one writer uses, was reported as taken")
            elif time.monotonic() > until:
                demand(False, f"{RECOVERY_SECONDS} s after the crash an append still raises {error!r}")
            else:
                await asyncio.sleep(0.05)
            seq += 1
            await asyncio.sleep(0)

    writing = [asyncio.ensure_future(write(run_id)) for run_id in runs]
    await asyncio.sleep(0.1)
    crashing = subject.crash()
    if inspect.isawaitable(crashing):
        await crashing
    crashed = True
    for task in writing:
        await task
    for run_id in runs:
        found = await store.load(run_id)
        kept = {each.seq for each in found}
        lost = [each.seq for each in acknowledged[run_id] if each.seq not in kept]
        demand(not lost, f"{len(lost)} acknowledged records are gone, the first at position {lost[0] if lost else ''}")
        demand_same(found, [each for each in attempted[run_id] if each.seq in kept], "the records that were kept")
