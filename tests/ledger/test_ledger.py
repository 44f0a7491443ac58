"""The ledger's operations: amounts, refusals, and a model of accounts that it agrees with."""

from __future__ import annotations

import asyncio
import pickle
import tempfile
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import Cap, Ledger, LedgerError, Price, Prices, SQLiteStore, Usage
from bobcat.stores import PostgresStore
from ledger.awaited import awaited

PRICES = Prices.from_mapping({"m": {"input": 3, "output": 15, "cache_read": "0.30"}}, date="2026-10-24")
MICRO = 1_000_000


def code_of(call: Any) -> str:
    with pytest.raises(LedgerError) as refused:
        call()
    return refused.value.code


@awaited
async def test_a_call_is_reserved_committed_and_counted(place: str) -> None:
    async with Ledger(place, [Cap("run", usd=1, tokens=9_000), Cap("day", usd=5)], prices=PRICES) as ledger:
        reservation = await ledger.reserve(model="m", input_tokens=1000, output_tokens=2000, run="r")
        assert (reservation.usd, reservation.tokens) == (33_000, 3000)
        held = [(each.spent, each.reserved) for each in await ledger.balances(run="r")]
        assert held == [(0, 33_000), (0, 3000), (0, 33_000)]
        spent = await ledger.commit(reservation, Usage(500, 100, 400, None, "m"))
        assert (spent.usd, spent.tokens) == (1500 + 1500 + 120, 1000)
        assert [each.reserved for each in await ledger.balances(run="r")] == [0, 0, 0]
        (row,) = await ledger.spending("model")
        assert (row.name, row.usd, row.tokens, row.calls) == ("m", 3120, 1000, 1)
        with pytest.raises(LedgerError, match="settled before"):
            await ledger.release(reservation)


@awaited
async def test_costs_are_rounded_up(place: str) -> None:
    cheap = Prices.from_mapping({"m": {"input": "0.000001", "output": 0}}, date="2026-10-24")
    async with Ledger(place, prices=cheap) as ledger:
        reservation = await ledger.reserve(model="m", input_tokens=1)
        assert reservation.usd == 1
        assert (await ledger.commit(reservation, Usage(1, 1))).usd == 1


@awaited
async def test_a_reply_without_a_usage_costs_its_reservation(place: str) -> None:
    async with Ledger(place, prices=PRICES) as ledger:
        reservation = await ledger.reserve(model="m", output_tokens=1000)
        assert (await ledger.commit(reservation)).usd == reservation.usd == 15_000


@awaited
async def test_usage_above_the_reservation_counts(place: str) -> None:
    async with Ledger(place, [Cap("run", usd=1)], prices=PRICES) as ledger:
        await ledger.commit(await ledger.reserve(model="m", output_tokens=10, run="r"), Usage(0, 100_000, model="m"))
        (balance,) = await ledger.balances(run="r")
        assert (balance.spent, balance.remaining) == (1_500_000, 0)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("above_cap", {"usd": "1.000001", "run": "r", "tenant": "t"}),
    ("above_cap", {"model": "m", "input_tokens": 5001, "run": "r", "tenant": "t"}),
    ("exhausted", {"usd": "0.6", "run": "r", "tenant": "t"}),
    ("no_scope", {"usd": 1, "run": "r"}),
    ("unknown_model", {"model": "other", "run": "r", "tenant": "t"}),
    ("unknown_model", {"input_tokens": 1, "run": "r", "tenant": "t"}),
    ("bad_amount", {"usd": -1, "run": "r", "tenant": "t"}),
    ("bad_amount", {"usd": float("nan"), "run": "r", "tenant": "t"}),
    ("bad_amount", {"usd": Decimal("Infinity"), "run": "r", "tenant": "t"}),
    ("bad_amount", {"usd": "0.0000001", "run": "r", "tenant": "t"}),
    ("bad_amount", {"usd": True, "run": "r", "tenant": "t"}),
    ("bad_amount", {"model": "m", "input_tokens": -1, "run": "r", "tenant": "t"}),
    ("bad_amount", {"model": "m", "output_tokens": 1.5, "run": "r", "tenant": "t"}),
    ("bad_amount", {"model": "m", "output_tokens": 10**16, "run": "r", "tenant": "t"}),
]


@awaited
async def test_refused_reservations_change_nothing(place: str) -> None:
    caps = [Cap("run", usd=1), Cap("month", tokens=5000, by="tenant")]
    async with Ledger(place, caps, prices=PRICES) as ledger:
        await ledger.reserve(usd="0.5", run="r", tenant="t")
        before = await ledger.balances(run="r", tenant="t")
        for code, asked in REFUSED:
            with pytest.raises(LedgerError) as refused:
                await ledger.reserve(**asked)
            assert refused.value.code == code, asked
        assert await ledger.balances(run="r", tenant="t") == before
        assert len(await ledger.unsettled()) == 1
        error = refused.value
        copy = pickle.loads(pickle.dumps(error))
        assert (copy.code, str(copy), copy.asked) == (error.code, str(error), error.asked)


@pytest.mark.parametrize("usage", [Usage(-1, 0), Usage(0, 10**16), Usage(0, True), Usage(0, float("nan"))])  # type: ignore[arg-type]
@awaited
async def test_an_invalid_usage_leaves_the_reservation(place: str, usage: Usage) -> None:
    async with Ledger(place, prices=PRICES) as ledger:
        reservation = await ledger.reserve(model="m", output_tokens=10)
        with pytest.raises(LedgerError) as refused:
            await ledger.commit(reservation, usage)
        assert refused.value.code == "bad_amount"
        assert await ledger.unsettled() == [reservation]


def test_invalid_caps_and_prices_are_refused() -> None:
    for bad in (-1, float("nan"), float("inf"), "much", None, 10**10):
        assert code_of(lambda bad=bad: Price(bad, 1)) == "bad_amount" if bad is not None else True
        assert code_of(lambda bad=bad: Cap("run", usd=bad)) == ("bad_cap" if bad is None else "bad_amount")
    assert code_of(lambda: Cap("week", usd=1)) == "bad_cap"  # type: ignore[arg-type]
    assert code_of(lambda: Cap("run", usd=1, by="tenant")) == "bad_cap"
    assert code_of(lambda: Cap("run", tokens=-1)) == "bad_amount"
    assert code_of(lambda: Prices.from_mapping({"m": {"input": 1}}, date="2026-10-24")) == "bad_prices"
    assert code_of(lambda: Prices.from_mapping({"m": {"input": 1, "output": 1, "x": 1}}, date="2026-10-24"))
    assert code_of(lambda: Prices.from_mapping({}, date="today")) == "bad_prices"
    assert code_of(lambda: Prices.stock().of("claude-1")) == "unknown_model"
    with pytest.raises(TypeError, match="list of Cap"):
        Ledger("never.db", Cap("run", usd=1))  # type: ignore[arg-type]


def test_a_model_with_a_date_has_the_price_of_the_model() -> None:
    stock = Prices.stock()
    assert stock.of("claude-sonnet-4-5-20250929") == stock.of("claude-sonnet-4-5")
    assert stock.of("gpt-5-2025-08-07") == stock.of("gpt-5")
    default = Prices.from_mapping({}, date="2026-10-24", default={"input": 0, "output": 0})
    assert default.of("local") == Price(0, 0)


@awaited
async def test_periods_begin_with_the_day_of_utc(place: str) -> None:
    now = [datetime(2026, 11, 30, 23, 59, tzinfo=UTC)]
    async with Ledger(place, [Cap("day", usd=1), Cap("month", usd=2)], clock=lambda: now[0]) as ledger:
        late = await ledger.reserve(usd=1)
        now[0] = datetime(2026, 12, 1, tzinfo=UTC)
        await ledger.commit(late, usd="0.9")
        await ledger.reserve(usd=1)
        assert [(row.name, row.usd) for row in await ledger.spending("day")] == [
            ("2026-12-01", 0), ("2026-11-30", 900_000),
        ]  # fmt: skip
        assert [row.name for row in await ledger.spending("month", since=now[0])] == ["2026-12"]


MIDNIGHTS = [
    (datetime(2026, 12, 31, 23, 59, 59, 999_999, UTC), ("2026-12-31", "2026-12"), ("2027-01-01", "2027-01")),
    (datetime(2028, 2, 28, 23, 59, 59, 999_999, UTC), ("2028-02-28", "2028-02"), ("2028-02-29", "2028-02")),
    (datetime(2026, 3, 1, 13, 59, 59, 999_999, timezone(timedelta(hours=14))), ("2026-02-28", "2026-02"),
     ("2026-03-01", "2026-03")),
    (datetime(2026, 3, 28, 19, 59, 59, 999_999, ZoneInfo("America/New_York")), ("2026-03-28", "2026-03"),
     ("2026-03-29", "2026-03")),
]  # fmt: skip


@pytest.mark.parametrize(("last", "old", "new"), MIDNIGHTS)
@awaited
async def test_a_day_and_a_month_end_at_midnight_in_utc(
    tmp_path: Path, last: datetime, old: tuple[str, str], new: tuple[str, str]
) -> None:
    now = [last]
    async with Ledger(tmp_path / "l.db", [Cap("day", usd=1)], clock=lambda: now[0]) as ledger:
        held = await ledger.reserve(usd=1)
        with pytest.raises(LedgerError, match="no room"):
            await ledger.reserve(usd="0.01")
        now[0] = last + timedelta(microseconds=1)
        assert (await ledger.balances())[0].remaining == 1_000_000
        await ledger.reserve(usd=1)
        await ledger.commit(held, usd="0.5")
        assert (await ledger.balances())[0].remaining == 0, "a commit counts for the day of its reservation"
        assert [row.name for row in await ledger.spending("day")] == [new[0], old[0]]
        assert [row.name for row in await ledger.spending("month")] == sorted({new[1], old[1]}, reverse=True)
        assert [row.name for row in await ledger.spending("day", since=now[0])] == [new[0]]
        now[0] = last
        await ledger.reserve(usd="0.5")  # a clock that is set back
        with pytest.raises(LedgerError, match="no room"):
            await ledger.reserve(usd="0.01")


@awaited
async def test_times_without_a_zone_and_invalid_limits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="clock must return a time with its zone"):
        Ledger(tmp_path / "l.db", clock=lambda: datetime(2026, 11, 1))
    async with Ledger(tmp_path / "l.db") as ledger:
        with pytest.raises(TypeError, match="since must have a time zone"):
            await ledger.spending("day", since=datetime(2026, 11, 1))
        for limit in (0, -1, True, "5"):
            with pytest.raises(LedgerError, match="limit must be an integer"):
                await ledger.unsettled(limit=limit)  # type: ignore[arg-type]
        assert await ledger.spending("run", limit=10**30) == []


@awaited
async def test_a_ledger_lives_in_the_store_of_the_runs(tmp_path: Path, database: str) -> None:
    for store in (SQLiteStore(tmp_path / "runs.db"), PostgresStore(database)):
        async with Ledger(store, [Cap("run", usd=1)]) as ledger:
            await store.put("kind", "key", {"a": 1}, expected=0)
            await ledger.reserve(usd=1, run="r")
            assert (await store.get("kind", "key")) is not None
        await store.aclose()
    async with Ledger(f"sqlite:///{tmp_path}/runs.db", must_exist=True) as again:
        assert len(await again.unsettled()) == 1
    SQLiteStore(tmp_path / "plain.db")
    for missing in (tmp_path / "none.db", tmp_path / "plain.db"):
        assert code_of(lambda missing=missing: Ledger(missing, must_exist=True)) == "not_there"
    (tmp_path / "text").write_text("not a database, but some text of sufficient length" * 20)
    assert code_of(lambda: Ledger(tmp_path / "text")) == "not_a_store"
    assert code_of(lambda: Ledger("redis://127.0.0.1")) == "bad_store"
    assert code_of(lambda: Ledger("")) == "bad_store"


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "commit", "release"]), st.integers(0, 130), st.integers(0, 3), st.integers(0, 9)
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(OPERATIONS)
def test_the_ledger_agrees_with_a_model(operations: list[tuple[str, int, int, int]]) -> None:
    async def main(path: Path) -> None:
        spent, reserved = dict.fromkeys("0123", 0), dict.fromkeys("0123", 0)
        live: list[tuple[Any, str, int]] = []
        async with Ledger(path, [Cap("thread", usd=100), Cap("day", usd=250)]) as ledger:
            for what, amount, thread, pick in operations:
                name = str(thread)
                if what == "reserve":
                    room = spent[name] + reserved[name] + amount <= 100
                    room = room and sum(spent.values()) + sum(reserved.values()) + amount <= 250
                    try:
                        live.append((await ledger.reserve(usd=amount, thread=name), name, amount))
                        assert room
                        reserved[name] += amount
                    except LedgerError as error:
                        refused = error.code
                        assert not room
                        assert refused == ("above_cap" if amount > 100 else "exhausted")
                elif live:
                    reservation, name, held = live.pop(pick % len(live))
                    reserved[name] -= held
                    if what == "commit":
                        await ledger.commit(reservation, usd=amount)
                        spent[name] += amount
                    else:
                        await ledger.release(reservation.id)
                for name in spent:
                    found, day = await ledger.balances(thread=name)
                    assert (found.spent, found.reserved) == (spent[name] * MICRO, reserved[name] * MICRO)
                assert (day.spent, day.reserved) == (sum(spent.values()) * MICRO, sum(reserved.values()) * MICRO)
            assert len(await ledger.unsettled()) == len(live)

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(main(Path(directory) / "ledger.db"))
