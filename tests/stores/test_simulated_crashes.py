"""Simulated crashes over stores on servers: their time is real, so a new worker comes under the dead one's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from bobcat import PostgresStore, RedisStore
from bobcat.testing import crashsim
from crashsim import payments

pytestmark = pytest.mark.filterwarnings("ignore::bobcat.errors.StoreWarning")


def killed(store: Callable[[], Any]) -> crashsim.Report:
    numbers = count()

    def shared(stage: crashsim.Stage) -> crashsim.Scenario:
        found = payments.reconciled(stage, lambda _: store())
        return replace(found, run_id=f"run-{next(numbers)}", options={"owner": "me"})

    return crashsim.campaign(shared, limit=16)


def test_a_run_in_postgres_survives_its_workers(postgres_url: str, schema: str) -> None:
    report = killed(lambda: PostgresStore(postgres_url, schema=schema, pool_size=1, durability="warn"))
    assert report.check().points > 40
    assert report.double == report.lost == report.uncertain == 0


def test_a_run_in_redis_survives_its_workers(redis_url: str, prefix: str) -> None:
    report = killed(lambda: RedisStore(redis_url, prefix=prefix, durability="warn"))
    assert report.check().points > 40
    assert report.double == report.lost == report.uncertain == 0
