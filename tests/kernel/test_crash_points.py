"""A run of three payments whose worker dies at every write, and at every pair of writes: nothing double, nothing lost.

A death before the write of a result is one after the payment, and a death after the write of an intent one before it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bobcat import MemoryStore, SQLiteStore
from kernel.crashing_process import AMOUNTS, Death, Outcome, all_of, survive, writes_of_a_run


@asynccontextmanager
async def store_of(kind: str, directory: Path) -> AsyncIterator[Any]:
    """A store of this kind."""
    if kind == "memory":
        yield MemoryStore()
        return
    store = SQLiteStore(directory / "runs.db")
    try:
        yield store
    finally:
        await store.aclose()


def deaths_of(writes: int) -> list[tuple[Death, ...]]:
    """No death, every single one, and every pair. A second attempt writes no more than the first, but for one record
    that it has resumed, one that it was abandoned, and a result for every intent."""
    points = [Death(at, after) for at in range(1, writes + 4) for after in (False, True)]
    singles: list[tuple[Death, ...]] = [(point,) for point in points]
    return [(), *singles, *((first, second) for first in points for second in points)]


def single_deaths_of(writes: int) -> list[tuple[Death, ...]]:
    """No death, and every single one."""
    return [each for each in deaths_of(writes) if len(each) < 2]


async def transactional_writes(store: SQLiteStore, path: Path) -> int:
    """The number of writes of a run whose payments are rows of a new table in the store's file."""
    await store.now()  # makes the file
    with sqlite3.connect(path) as connection:
        connection.execute("create table paid (run text, amount int)")
    connection.close()
    return await writes_of_a_run(store, "transactional")


async def campaign(store: Any, effect: Any, *, reconciled: bool) -> list[Outcome]:
    deaths = deaths_of(await writes_of_a_run(store, effect))
    assert len(deaths) > 600
    return await all_of(
        [survive(store, f"r{number}", each, effect, reconciled=reconciled) for number, each in enumerate(deaths)]
    )


def outcomes(kind: str, directory: Path, effect: Any, *, reconciled: bool) -> list[Outcome]:
    async def main() -> list[Outcome]:
        async with store_of(kind, directory) as store:
            return await campaign(store, effect, reconciled=reconciled)

    return asyncio.run(main())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_with_a_reconciler_every_payment_is_made_once(kind: str, tmp_path: Path) -> None:
    found = outcomes(kind, tmp_path, "unsafe", reconciled=True)
    assert [each.paid for each in found if each.paid != dict.fromkeys(AMOUNTS, 1)] == []
    assert all(each.result.final_answer == "all paid" for each in found)
    assert all(each.reported == dict.fromkeys(AMOUNTS, True) and not each.uncertain for each in found)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_without_one_no_payment_is_made_twice_and_every_uncertain_outcome_is_reported(
    kind: str, tmp_path: Path
) -> None:
    found = outcomes(kind, tmp_path, "unsafe", reconciled=False)
    assert sum(each.doubled for each in found) == 0
    assert sum(each.lost for each in found) == 0
    assert all(each.result.final_answer == "all paid" for each in found)
    for each in found:  # an uncertain payment is refused as such; any other one was made, and the model saw the result
        assert all(each.reported[amount] is (amount not in each.uncertain) for amount in AMOUNTS)
        assert all(each.paid[amount] == 1 for amount in AMOUNTS if amount not in each.uncertain)
    uncertain = [each for each in found if each.uncertain]
    assert {each.paid[amount] for each in uncertain for amount in each.uncertain} == {0, 1}, "a false uncertainty"


def test_a_keyed_tool_needs_neither_a_reconciler_nor_an_approval(tmp_path: Path) -> None:
    found = outcomes("memory", tmp_path, "keyed", reconciled=False)
    assert [each.paid for each in found if each.paid != dict.fromkeys(AMOUNTS, 1)] == []
    assert all(each.reported == dict.fromkeys(AMOUNTS, True) for each in found)


def test_a_transactional_tool_commits_with_its_result(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def main() -> list[Outcome]:
        store = SQLiteStore(path)
        try:
            deaths = single_deaths_of(await transactional_writes(store, path))
            return await all_of(
                [survive(store, f"r{number}", each, "transactional") for number, each in enumerate(deaths)], 1
            )
        finally:
            await store.aclose()

    found = asyncio.run(main())
    assert all(each.reported == dict.fromkeys(AMOUNTS, True) and not each.uncertain for each in found)
    connection = sqlite3.connect(path)
    rows = connection.execute("select run, amount, count(*) from paid group by run, amount").fetchall()
    connection.close()
    assert {count for _, _, count in rows} == {1}
    assert len(rows) == 3 * (len(found) + 1)


def test_the_durability_page_has_the_numbers_of_these_writes_and_runs(tmp_path: Path) -> None:
    async def main() -> tuple[int, int, int]:
        async with store_of("memory", tmp_path) as memory, store_of("sqlite", tmp_path) as sqlite:
            single, batches = [await writes_of_a_run(store) for store in (memory, sqlite)]
        other = tmp_path / "transactional"
        other.mkdir()
        async with store_of("sqlite", other) as store:
            return single, batches, await transactional_writes(store, other / "runs.db")

    single, batches, transactional = asyncio.run(main())
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "durability.md").read_text(encoding="utf-8")
    in_memory, in_sqlite = (len(deaths_of(writes)) for writes in (single, batches))
    sentence = (
        f"{single} single writes in memory (records, lease and status), which is {in_memory:,} runs, "
        f"and {batches} batches in SQLite, which is {in_sqlite:,}."
    )
    assert sentence in " ".join(page.split())
    for effect, runs, uncertain in (
        ("`unsafe`, with a reconciler", f"{in_memory:,} + {in_sqlite:,}", "0"),
        ("`unsafe`, without", f"{in_memory:,} + {in_sqlite:,}", "all"),
        ("`keyed`", f"{in_memory:,}", "0"),
        ("`transactional` (SQLite), single deaths", f"{len(single_deaths_of(transactional)):,}", "0"),
    ):
        assert f"| {effect} | {runs} | 0 | 0 | {uncertain} | 0 |" in page
