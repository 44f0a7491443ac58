"""Leases count by the server's clock: that of a worker may say what it likes."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest

from bobcat import PostgresStore, RedisStore
from bobcat.testing import run_store_contract

ABOUT_TIME = [
    "a_lease_keeps_others_out",
    "a_lease_ends",
    "a_renewal_counts_from_now",
    "a_taken_run_is_lost",
    "a_run_has_a_status",
    "runs_are_listed",
    "time_is_the_stores",
]
DAY = 86_400 * 10**9


@pytest.fixture(params=[-DAY, DAY], ids=["a day behind", "a day ahead"])
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    right = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right() + request.param)
    monkeypatch.setattr(time, "time", lambda: (right() + request.param) / 1e9)


@pytest.mark.usefixtures("wrong_clock")
def test_postgres_tells_the_time(postgres_url: str, schema: str) -> None:
    make = partial(PostgresStore, postgres_url, schema=schema, durability="warn")
    assert list(asyncio.run(run_store_contract(make, only=ABOUT_TIME)).kept) == ABOUT_TIME


@pytest.mark.usefixtures("wrong_clock")
@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_redis_tells_the_time(redis_url: str, prefix: str) -> None:
    make = partial(RedisStore, redis_url, prefix=prefix, durability="warn")
    assert list(asyncio.run(run_store_contract(make, only=ABOUT_TIME)).kept) == ABOUT_TIME
