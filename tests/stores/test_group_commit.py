"""Group commit of a PostgreSQL store: appends of concurrent runs in one statement, each with its own outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import DuplicateRecord, PostgresStore, StepRecord
from bobcat.stores.codec import row_of
from bobcat.stores.group_commit import GROUPS_AT_ONCE, MAX_RUNS, GroupCommit, Unit
from bobcat.stores.protocol import GroupingStore, Lease, LeaseLost
from stores.cutting_proxy import CuttingProxy

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def record(run_id: str, seq: int, **body: Any) -> StepRecord:
    return StepRecord(run_id, seq, "k", "", {"n": seq, **body}, MOMENT)


def unit(run_id: str, first: int, count: int = 1) -> Unit:
    rows = [row_of(record(run_id, first + index)) for index in range(count)]
    return Unit(Lease(run_id, "a", 1, MOMENT), rows, [(run_id, row.seq) for row in rows])


@pytest.fixture
def make(postgres_url: str, schema: str) -> Callable[..., PostgresStore]:
    return partial(PostgresStore, postgres_url, schema=schema, durability="warn")


class Server:
    """A table of runs in memory. `refuses` are runs whose units never fit; every `fails`-th statement breaks."""

    def __init__(self, refuses: frozenset[str] = frozenset(), fails: int = 0, pause: int = 1) -> None:
        self.made: list[tuple[str, int]] = []
        self.sizes: list[int] = []
        self.at_once = self.most_at_once = 0
        self._refuses, self._fails, self._pause = refuses, fails, pause
        self.commits = GroupCommit[Unit, None](self.together, self.alone)

    async def together(self, units: Sequence[Unit]) -> dict[str, None]:
        self.sizes.append(len(units))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            for _ in range(self._pause):
                await asyncio.sleep(0)
            if self._fails and len(self.sizes) % self._fails == 0:
                raise ConnectionError("cut")
            runs = [each.lease.run_id for each in units]
            assert len(set(runs)) == len(runs) <= MAX_RUNS
            kept = {run_id for run_id in runs if run_id not in self._refuses}
            self.made += [(row.run_id, row.seq) for each in units for row in each.rows if row.run_id in kept]
            return dict.fromkeys(kept)
        finally:
            self.at_once -= 1

    async def alone(self, unit: Unit) -> None:
        await asyncio.sleep(0)
        if unit.lease.run_id in self._refuses:
            raise LeaseLost(unit.lease.run_id)
        self.made += [(row.run_id, row.seq) for row in unit.rows]


@settings(max_examples=200, deadline=None)
@given(
    runs=st.lists(st.lists(st.integers(1, 3), max_size=5), min_size=1, max_size=12),
    refused=st.frozensets(st.integers(0, 11)),
    fails=st.integers(0, 3),
    pause=st.integers(0, 4),
)
def test_every_unit_is_made_once_in_the_order_of_its_run(
    runs: list[list[int]], refused: frozenset[int], fails: int, pause: int
) -> None:
    server = Server(frozenset(map(str, refused)), fails, pause)

    async def write(number: int, counts: list[int]) -> None:
        first = 0
        for count in counts:
            made = server.commits.write(unit(str(number), first, count))
            if number in refused:
                with pytest.raises(LeaseLost):
                    await made
            else:
                await made
            first += count

    async def main() -> None:
        await asyncio.gather(*(write(number, counts) for number, counts in enumerate(runs)))

    asyncio.run(main())
    wanted = {str(number): sum(counts) for number, counts in enumerate(runs) if number not in refused and counts}
    assert Counter(run_id for run_id, _ in server.made) == Counter(wanted)
    for run_id, count in wanted.items():
        assert [seq for each, seq in server.made if each == run_id] == list(range(count))
    assert server.most_at_once <= GROUPS_AT_ONCE


def test_appends_that_wait_share_a_statement_and_a_second_one_of_a_run_waits() -> None:
    server = Server(pause=3)

    async def main() -> None:
        first = [asyncio.create_task(server.commits.write(unit(f"r{number}", 0))) for number in range(100)]
        again = asyncio.create_task(server.commits.write(unit("r0", 1)))
        await asyncio.gather(*first, again)

    asyncio.run(main())
    assert len(server.made) == 101
    assert max(server.sizes) == MAX_RUNS
    assert server.made.index(("r0", 0)) < server.made.index(("r0", 1))


def test_a_call_that_is_cancelled_while_it_waits_is_not_made_and_delays_no_other() -> None:
    server = Server(pause=5)

    async def main() -> None:
        tasks = [asyncio.create_task(server.commits.write(unit(f"r{number}", 0))) for number in range(9)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        late = asyncio.create_task(server.commits.write(unit("late", 0)))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.gather(*tasks)
        with pytest.raises(asyncio.CancelledError):
            await late
        await server.commits.write(unit("after", 0))

    asyncio.run(main())
    assert {run_id for run_id, _ in server.made} == {*(f"r{number}" for number in range(9)), "after"}


def gathered(*works: Coroutine[Any, Any, object]) -> Coroutine[Any, Any, list[object]]:
    async def main() -> list[object]:
        return list(await asyncio.gather(*works, return_exceptions=True))

    return main()


async def held(store: PostgresStore, runs: int) -> list[Lease]:
    return [await store.acquire(f"r{number}", owner="a", seconds=600) for number in range(runs)]


def test_concurrent_runs_share_commits_and_keep_their_journals(make: Callable[..., PostgresStore]) -> None:
    runs, records = 20, 15

    async def main() -> tuple[int, list[list[int]], list[Any]]:
        async with aclosing(make()) as store:
            assert isinstance(store, GroupingStore)
            leases = await held(store, runs)
            together = 0
            every = store._append_units

            async def counted(units: Sequence[Unit]) -> dict[str, None]:
                nonlocal together
                kept = await every(units)
                assert kept.keys() == {each.run_id for each in units}
                together += 1
                return kept

            store._commits = GroupCommit[Unit, None](counted, store._append_unit)

            async def write(lease: Lease) -> None:
                for seq in range(records):
                    await store.append_fenced(record(lease.run_id, seq, chain=f"h{seq}"), lease)

            await asyncio.gather(*map(write, leases))
            seqs = [[each.seq for each in await store.load(lease.run_id)] for lease in leases]
            return together, seqs, [await store.run(lease.run_id) for lease in leases]

    together, seqs, found = asyncio.run(main())
    assert seqs == [list(range(records))] * runs
    assert {(run.records, run.appended, run.head) for run in found} == {(records, records, f"h{records - 1}")}
    assert 0 < together < runs * records / 4


def test_one_that_lost_its_lease_or_its_place_fails_and_the_others_are_made(make: Callable[..., PostgresStore]) -> None:
    async def main() -> tuple[list[object], list[list[int]], int]:
        async with aclosing(make()) as store:
            leases = await held(store, 6)
            await gathered(*(store.append_fenced(record(lease.run_id, 0), lease) for lease in leases))
            await store.release(leases[1])
            taken = await store.acquire("r1", owner="b", seconds=600)
            calls = [store.append_fenced(record(lease.run_id, 1), lease) for lease in leases[:3]]
            calls += [
                store.append_fenced(record("r3", 0), leases[3]),  # another record is there
                store.append_group([record("r4", seq) for seq in (1, 2, 3)], leases[4]),
                store.append_group([record("r5", seq) for seq in (0, 1)], leases[5]),
            ]
            outcomes = await gathered(*calls)
            seqs = [[each.seq for each in await store.load(f"r{number}")] for number in range(6)]
            await store.append_fenced(record("r1", 1), taken)
            return outcomes, seqs, await store.epoch()

    outcomes, seqs, epoch = asyncio.run(main())
    assert [None if each is None else type(each) for each in outcomes] == [
        None, LeaseLost, None, DuplicateRecord, None, DuplicateRecord
    ]  # fmt: skip
    assert seqs == [[0, 1], [0], [0, 1], [0], [0, 1, 2, 3], [0]]
    assert epoch == 1


def test_a_group_is_all_or_nothing_also_beside_others(make: Callable[..., PostgresStore]) -> None:
    async def main() -> None:
        async with aclosing(make()) as store:
            lease, other = await held(store, 2)
            beside = iter(range(100))

            async def group(*seqs: int) -> object:
                found = await gathered(
                    store.append_group([record("r0", seq) for seq in seqs], lease),
                    store.append_fenced(record("r1", next(beside)), other),
                )
                assert found[1] is None
                return found[0]

            assert await group(0, 1) is None
            assert isinstance(await group(1, 2), DuplicateRecord)
            assert isinstance(await group(2, 2), DuplicateRecord)
            assert await group() is None
            assert [each.seq for each in await store.load("r0")] == [0, 1]
            assert await store.epoch() == 1
            with pytest.raises(LeaseLost):  # the store is an older copy of itself
                await store.append_group([record("r0", seq) for seq in (2, 4)], lease)
            assert [each.seq for each in await store.load("r0")] == [0, 1]
            assert await store.epoch() == 2

    asyncio.run(main())


def test_a_run_ends_and_is_released_in_one_statement(make: Callable[..., PostgresStore]) -> None:
    async def main() -> None:
        async with aclosing(make()) as store:
            (lease,) = await held(store, 1)
            await store.finish("succeeded", detail={"records": 0}, lease=lease)
            found = await store.run("r0")
            assert found is not None
            assert (found.status, found.held, found.detail) == ("succeeded", False, {"records": 0})
            await store.finish("succeeded", detail={"records": 0}, lease=lease)  # the answer of the first was lost
            with pytest.raises(LeaseLost):
                await store.finish("failed", detail={}, lease=lease)
            await store.acquire("r0", owner="b", seconds=600)
            with pytest.raises(LeaseLost):
                await store.finish("succeeded", detail={"records": 0}, lease=lease)

    asyncio.run(main())


def test_a_statement_whose_answer_was_lost_is_made_once(postgres_url: str, schema: str) -> None:
    parts = urlsplit(postgres_url)
    if parts.hostname not in ("127.0.0.1", "localhost") or parts.password:
        pytest.skip("the proxy forwards to this machine, without a password")
    user = f"{parts.username}@" if parts.username else ""

    async def main() -> tuple[int, list[list[int]]]:
        async with CuttingProxy(parts.port or 5432) as proxy:
            url = f"postgresql://{user}127.0.0.1:{proxy.port}{parts.path}?sslmode=disable&gssencmode=disable"
            async with aclosing(PostgresStore(url, schema=schema, durability="warn")) as store:
                leases = await held(store, 12)
                proxy.cut_next(b"pg_current_wal_flush_lsn")
                await asyncio.gather(*(store.append_fenced(record(lease.run_id, 0), lease) for lease in leases))
                cuts = proxy.cuts
                await asyncio.gather(*(store.append_fenced(record(lease.run_id, 1), lease) for lease in leases))
                return cuts, [[each.seq for each in await store.load(lease.run_id)] for lease in leases]

    cuts, seqs = asyncio.run(main())
    assert cuts == 1
    assert seqs == [[0, 1]] * 12


def test_a_lock_of_another_session_delays_and_loses_nothing(
    make: Callable[..., PostgresStore], postgres_url: str, schema: str
) -> None:
    """Another session holds the rows of two runs while statements wait for them."""

    async def main() -> list[list[int]]:
        async with aclosing(make()) as store:
            leases = await held(store, 8)
            async with await psycopg.AsyncConnection.connect(postgres_url) as other:
                lock = f"SELECT 1 FROM \"{schema}\".runs WHERE run_id IN ('r0', 'r5') FOR UPDATE"
                await other.execute(lock.encode())
                writing = [asyncio.create_task(store.append_fenced(record(lease.run_id, 0), lease)) for lease in leases]
                await asyncio.sleep(0.05)
                assert not all(task.done() for task in writing)
                await other.commit()
                await asyncio.gather(*writing)
            return [[each.seq for each in await store.load(lease.run_id)] for lease in leases]

    assert asyncio.run(main()) == [[0]] * 8
