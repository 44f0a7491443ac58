"""Whole runs whose database is killed and started again in the middle: nothing happens twice, nothing is lost.

The servers are processes of this test, with a directory of their own. A run stands at each of its points, between any
two of its writes and inside its tool, when the server goes; it meets the server's absence with whatever it does next.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from bobcat import PostgresStore, RedisStore, RunResult
from kernel.crashing_process import AMOUNTS, Bank, CrashingStore, attempt, tools
from kernel.outages import Account, Halting, Outage, Point, account, points
from services import Server

EFFECTS = {"postgres": ("unsafe", "keyed", "transactional"), "redis": ("unsafe", "keyed")}
MAKES: dict[str, Callable[..., Any]] = {
    "postgres": partial(PostgresStore, schema="outages", pool_size=32),
    "redis": partial(RedisStore, pool_size=128),
}


@pytest.fixture(params=["postgres", "redis"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(kind: str, request: pytest.FixtureRequest) -> Iterator[Server]:
    found: Server = request.getfixturevalue(f"own_{kind}")
    yield found
    if not found.answers():
        found.start()


def payments(server: Server) -> dict[str, list[int]]:
    """Committed rows, by run."""
    found: dict[str, list[int]] = {}
    with psycopg.connect(server.url) as connection:
        for run_id, amount in connection.execute("SELECT run, amount FROM outage_payments").fetchall():
            found.setdefault(run_id, []).append(amount)
    return found


def make_table(server: Server) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS outage_payments (run text, amount int)")


async def writes_of(kind: str, store: Any, prefix: str) -> int:
    """The number of writes of a run."""
    counted = CrashingStore(store)
    await attempt(counted, f"{prefix}whole", tools(Bank(), "unsafe", reconciled=False))
    return counted.writes


async def accounts(kind: str, server: Server, store: Any, runs: Sequence[Halting]) -> dict[str, Account]:
    rows = await asyncio.to_thread(payments, server) if kind == "postgres" else {}
    return {run.run_id: await account(store, run, rows.get(run.run_id, ())) for run in runs}


def wrong(found: dict[str, Account]) -> dict[str, tuple[list[int], list[int], list[int]]]:
    """The runs that paid twice, that lost a payment, or that deny one."""
    every = {run_id: (each.doubled, each.lost, each.unsaid) for run_id, each in found.items()}
    return {run_id: what for run_id, what in every.items() if any(what)}


async def through(
    kind: str,
    server: Server,
    *,
    away: float,
    how: signal.Signals,
    store: Any,
    effects: Sequence[str] = (),
    reconciled: bool = False,
    **options: Any,
) -> tuple[list[Halting], list[RunResult]]:
    """Runs of every effect, one for each point, that meet one outage of `away` seconds and more."""
    prefix = f"{uuid4().hex[:8]}-"
    if kind == "postgres":
        await asyncio.to_thread(make_table, server)
    places = points(await writes_of(kind, store, prefix))
    assert len(places) > 20
    effects = effects or EFFECTS[kind]
    outage = Outage(len(places) * len(effects))
    runs = [
        Halting(f"{prefix}{effect}-{place.name}", effect, place, outage, "outage_payments", reconciled)
        for effect in effects
        for place in places
    ]

    async def back() -> None:
        await asyncio.sleep(away)
        await asyncio.to_thread(server.start)

    async with asyncio.timeout(100):
        met = [asyncio.ensure_future(run.meet(store, **options)) for run in runs]
        await outage.happens(lambda: server.end(how), back)
        results = list(await asyncio.gather(*met))
        assert [run.run_id for run in runs if not run.stood] == [], "every run meets the outage"
        return runs, results


def test_a_run_outlives_a_server_that_is_killed_between_any_two_of_its_writes(kind: str, server: Server) -> None:
    async def main() -> None:
        async with aclosing(MAKES[kind](server.url)) as store:
            how = signal.SIGQUIT if kind == "postgres" else signal.SIGKILL  # `pg_ctl stop -m immediate`
            runs, results = await through(kind, server, away=0.2, how=how, store=store)
            plain = {
                run.run_id: result for run, result in zip(runs, results, strict=True) if run.effect != "transactional"
            }
            assert {run_id: result.error for run_id, result in plain.items() if result.error} == {}
            found = await accounts(kind, server, store, runs)
            assert {
                run_id: each.paid for run_id, each in found.items() if run_id in plain and each.paid != once()
            } == {}
            # A transaction that was open is gone with the server: its tool has failed, or its attempt has.
            for run, result in zip(runs, results, strict=True):
                if result.error is not None:
                    assert result.error.startswith("store.append failed: StoreError: PostgreSQL: "), result.error
                    assert (await run.resume(store)).error is None
            found = await accounts(kind, server, store, runs)
            assert wrong(found) == {}

    asyncio.run(main())


def test_a_run_that_cannot_wait_any_longer_says_so_and_goes_on_later(kind: str, server: Server) -> None:
    """The server stays away longer than the store's patience."""

    async def main() -> None:
        async with aclosing(MAKES[kind](server.url, patience=0.3)) as store:
            runs, results = await through(kind, server, away=1.5, how=signal.SIGKILL, store=store)
            name = "PostgreSQL" if kind == "postgres" else "Redis"
            errors = [result.error for result in results if result.error is not None]
            assert len(errors) > len(runs) / 2
            for error in errors:
                assert error.startswith("store.") or "the transaction" in error, error
                assert f"StoreError: {name}: " in error, error
                assert "Traceback" not in error
        async with aclosing(MAKES[kind](server.url)) as store:  # that of a later worker
            resumed = await asyncio.gather(*(run.resume(store) for run in runs))
            assert {run.run_id: each.error for run, each in zip(runs, resumed, strict=True) if each.error} == {}
            found = await accounts(kind, server, store, runs)
            assert wrong(found) == {}
            exact = {run.run_id for run in runs if run.effect == "keyed"}
            assert {run_id: found[run_id].paid for run_id in exact if found[run_id].paid != once()} == {}
            uncertain = [
                run_id for run_id, each in found.items() if any("may have" in text for _, text in each.said.values())
            ]
            assert uncertain, "nothing was uncertain: the outage met no action"
            assert {run_id.split("-")[1] for run_id in uncertain} == {"unsafe"}

    asyncio.run(main())


def test_with_a_reconciler_every_payment_is_made_once(kind: str, server: Server) -> None:
    async def main() -> None:
        async with aclosing(MAKES[kind](server.url, patience=0.3)) as store:
            runs, _ = await through(
                kind, server, away=1.0, how=signal.SIGKILL, store=store, effects=["unsafe"], reconciled=True
            )
        async with aclosing(MAKES[kind](server.url)) as store:
            resumed = await asyncio.gather(*(run.resume(store) for run in runs))
            assert {each.error for each in resumed} == {None}
            found = await accounts(kind, server, store, runs)
            assert {run_id: each.paid for run_id, each in found.items() if each.paid != once()} == {}

    asyncio.run(main())


def test_a_worker_whose_lease_ends_while_the_server_is_away_does_nothing_more(kind: str, server: Server) -> None:
    """Its tool is ended before somebody else can have the run, and the error says why."""

    async def main() -> None:
        async with aclosing(MAKES[kind](server.url, patience=0.2)) as store:
            outage = Outage(1)
            run = Halting(uuid4().hex, "unsafe", Point(2, after=False, in_tool=True), outage)
            never = asyncio.Event()

            async def slow(amount: int, *, after: bool) -> None:
                if amount == AMOUNTS[1] and not after and not run.ended:
                    await run.stand()
                    await never.wait()

            run._in_tool = slow  # type: ignore[method-assign]
            meeting = asyncio.ensure_future(run.meet(store, lease_seconds=1.0))
            async with asyncio.timeout(60):
                await outage.happens(server.kill, _nothing)
                result = await meeting
                assert result.error is not None
                assert result.error.startswith("store.renew failed: "), result.error
        await asyncio.to_thread(server.start)
        async with aclosing(MAKES[kind](server.url)) as store:
            assert (await run.resume(store, owner="another")).error is None
            assert [amount for _, amount in run.ledger.paid] == [AMOUNTS[0], AMOUNTS[2]]
            found = await account(store, run)
            assert (found.lost, found.doubled, found.unsaid) == ([], [], [])
            assert "may have" in found.said[AMOUNTS[1]][1]

    asyncio.run(main())


async def _nothing() -> None:
    """The server stays away."""


def test_runs_go_on_while_the_server_is_killed_again_and_again(kind: str, server: Server) -> None:
    """At no point that anybody chose: whatever is under way."""

    async def main() -> None:
        if kind == "postgres":
            await asyncio.to_thread(make_table, server)
        async with aclosing(MAKES[kind](server.url)) as store:
            prefix, far = f"{uuid4().hex[:8]}-", Point(0, after=False)
            runs = [
                Halting(f"{prefix}{effect}-{number}", effect, far, Outage(0), "outage_payments")
                for number in range(24)
                for effect in EFFECTS[kind]
            ]
            ends: Counter[str] = Counter()

            async def until_over(run: Halting, at: float) -> None:
                await asyncio.sleep(at)
                while True:
                    result = await run.resume(store, owner=run.run_id)
                    ends[result.status] += 1
                    if result.error is None:
                        return
                    assert result.status == "failed", result.error
                    assert result.error.startswith("store."), result.error

            async def strike() -> None:
                for pause in (0.25, 0.35, 0.3):
                    await asyncio.sleep(pause)
                    server.kill()
                    await asyncio.to_thread(server.start)

            async with asyncio.timeout(100):
                every = [until_over(run, at / 40) for at, run in enumerate(runs)]
                await asyncio.gather(strike(), *every)
            found = await accounts(kind, server, store, runs)
            assert ends["succeeded"] == len(runs)
            assert wrong(found) == {}
            assert {run_id for run_id, each in found.items() if "keyed" in run_id and each.paid != once()} == set()

    asyncio.run(main())


def once() -> Counter[int]:
    return Counter(AMOUNTS)
