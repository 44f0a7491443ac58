"""A turn of a long thread: as many operations of the store and as many records read as one of a short thread."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bobcat import MemoryStore, SQLiteStore
from bobcat.threads import Ended
from thread_conversations import Ledger as Payments
from thread_conversations import awaited, collect, thread

READS = ("load", "load_from", "scan")


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
    async with thread(store, Payments()) as talk:
        for number in range(1, turns[-1] + 1):
            store.counts.clear()
            events = await collect(talk.send("1"))
            assert isinstance(events[-1], Ended)
            await talk._task  # type: ignore[misc]  # the turn's worker has released the thread
            if number in turns:
                found.append(store.counts.copy())
    return found


def check_equal(found: list[Counter[str]]) -> None:
    """Every operation happens as often. The watcher of cancellations and renewals depend on time."""
    for counts in found:
        for name in ("get", "renew", "now"):
            counts.pop(name, None)
    first, *others = found
    assert all(counts == first for counts in others), found


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return CountingStore(MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "threads.db"))


@awaited
async def test_turn_60_reads_and_writes_as_much_as_turn_30(store: Any) -> None:
    found = await counts_at(store, (30, 60))
    assert found[0]["run"] <= 1, "a run is summarised in time that grows with its journal"
    check_equal(found)


@pytest.mark.slow
@awaited
async def test_turn_5000_reads_and_writes_as_much_as_turn_100(store: Any) -> None:
    check_equal(await counts_at(store, (100, 1000, 5000)))
