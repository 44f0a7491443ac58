"""A turn of a long thread: as many operations of the store and as many records read as one of a short thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import MemoryStore, SQLiteStore
from bobcat.model.run import FinalAnswer, Message, ToolCall
from thread_conversations import Ledger as Payments
from thread_conversations import Payer, awaited, thread
from thread_turns import TURN_MESSAGES, take, talk

READS = ("load", "load_from", "scan")
TIMED = ("get", "renew", "now")
"""Operations of the watcher of cancellations and of heartbeats: how often they happen depends on time."""


class Silent:
    """A payer without `stream`: the number of its records does not depend on time."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        return await Payer().step(conversation)


class CountingStore:
    """Counts its operations, and the records and documents that they return."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.counts: Counter[str] = Counter()

    # Any: a method of the store.
    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any, **options: Any) -> Any:
            result = await method(*args, **options)
            self.counts[name] += 1
            if name in READS:
                self.counts[f"{name} returned"] += len(result)
            return result

        return call


async def counts_at(store: CountingStore, turns: tuple[int, ...]) -> list[Counter[str]]:
    """The counts of the turns of these numbers."""
    found = []
    async with thread(store, Payments(), agent=Silent()) as talk:
        for number in range(1, turns[-1] + 1):
            store.counts.clear()
            await talk.queue("1")
            await talk._task  # type: ignore[misc]  # the turn has ended, and its worker has released the thread
            if number in turns:
                found.append(store.counts.copy())
    return found


def check_equal(found: list[Counter[str]]) -> None:
    """Every operation happens as often."""
    for counts in found:
        for name in TIMED:
            counts.pop(name, None)
    first, *others = found
    assert all(counts == first for counts in others), found


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return CountingStore(MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "threads.db"))


@awaited
async def test_turn_70_reads_and_writes_as_much_as_turn_40(store: Any) -> None:
    found = await counts_at(store, (40, 70))
    assert found[0]["run"] <= 1, "a run is summarised in time that grows with its journal"
    check_equal(found)


@pytest.mark.slow
@awaited
async def test_turn_5000_reads_and_writes_as_much_as_turn_100(store: Any) -> None:
    check_equal(await counts_at(store, (100, 1000, 5000)))


async def counts_of_a_turn(store: CountingStore, id: str, messages: int) -> tuple[Counter[str], Counter[str]]:
    """The counts of two turns of a thread of so many messages: of the object that took them, and of a new one."""
    async with talk(store, id) as before:
        await take(before, messages // TURN_MESSAGES)
        assert len(await before.messages(last=1)) == TURN_MESSAGES
        store.counts.clear()
        await take(before, 1)
        known = store.counts.copy()
    async with talk(store, id) as opened:
        store.counts.clear()
        await take(opened, 1)
        return known, store.counts.copy()


@awaited
async def test_a_turn_after_10000_messages_costs_at_most_twice_one_after_100() -> None:
    """Counted in operations of the store and in records that it returned: beyond one page, nothing grows any more."""
    store = CountingStore(MemoryStore())
    turns = [await counts_of_a_turn(store, f"t{messages}", messages) for messages in (100, 1_000, 10_000)]
    for short, middle, long in zip(*turns, strict=True):
        check_equal([middle, long])
        assert operations(short) == operations(long)
        assert long.total() <= 2 * sum(short[name] for name in short if name not in TIMED), (short, long)


def operations(counts: Counter[str]) -> dict[str, int]:
    """The operations of the store, without the records that they returned."""
    return {name: count for name, count in counts.items() if name not in TIMED and not name.endswith("returned")}
