"""A thread whose process stops at any store operation is continued by another: nothing twice, nothing lost."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from bobcat import MemoryStore
from bobcat.threads import Ended, TurnStarted
from thread_conversations import Ledger, StoppingStore, awaited, collect, thread


async def stopped_at(at: int) -> bool:
    """Stop a thread at this point of its second turn, and continue it. False when it ended before."""
    inner, ledger = MemoryStore(), Ledger()
    async with thread(inner, ledger, owner="w") as talk:
        await collect(talk.send("10"))
    before = await collect(thread(inner, ledger).events())
    store = StoppingStore(inner, at)
    talk = thread(store, ledger, owner="w")
    known = asyncio.all_tasks()
    sending = asyncio.create_task(collect(talk.send("20", key="k")))
    stop = asyncio.create_task(store.stopped.wait())
    await asyncio.wait([sending, stop], return_when=asyncio.FIRST_COMPLETED)
    stopped = store.stopped.is_set()
    seen = await collect(thread(inner, ledger).events())
    store._left = 0
    for _ in range(3):
        for task in asyncio.all_tasks() - known:
            task.cancel()
        await asyncio.sleep(0)
    with suppress(BaseException):
        await asyncio.wait([sending], timeout=0)
    async with thread(inner, ledger, owner="w") as talk:
        await collect(talk.send("20", key="k"))
        await collect(talk.send("30"))
        events = await collect(talk.events())
    assert events[: len(before)] == before
    assert events[: len(seen)] == seen
    assert [each.seq for each in events] == list(range(1, len(events) + 1))
    assert [each.text for each in events if isinstance(each, TurnStarted)] == ["10", "20", "30"]
    assert [each.outcome for each in events if isinstance(each, Ended)] == ["succeeded"] * 3
    assert ledger.paid == ["10", "20", "30"]
    return stopped


@pytest.mark.parametrize("part", range(4))
@awaited
async def test_no_stop_loses_or_repeats_anything(part: int) -> None:
    points = 0
    while await stopped_at(points * 4 + part):
        points += 1
    assert points > 10
