"""Stores that processes share: killed in the middle of appends, and racing for positions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stores.appender import acknowledged_by_all, acknowledged_until, entry, make_store, start

PROCESSES = 4


@pytest.fixture(params=["sqlite", "file", "postgres", "redis"])
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Names a store on a fresh storage."""
    if request.param == "postgres":
        return f"postgres:{request.getfixturevalue('postgres_url')}#{request.getfixturevalue('schema')}"
    if request.param == "redis":
        return f"redis:{request.getfixturevalue('redis_url')}#{request.getfixturevalue('prefix')}"
    return f"{request.param}:{tmp_path / 'runs'}"


def loaded(spec: str, run_id: str) -> list[dict[str, object]]:
    async def load() -> list[dict[str, object]]:
        store = make_store(spec)
        records = await store.load(run_id)
        await store.append(entry(run_id, 10**9))  # it can still be written
        await store.aclose()
        return [dict(record.body) for record in records]

    return asyncio.run(load())


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
@pytest.mark.parametrize("count", [1, 7, 40])
def test_a_writer_that_is_killed_loses_nothing_that_was_acknowledged(spec: str, count: int) -> None:
    acknowledged = acknowledged_until(start(spec, "r"), count)
    bodies = loaded(spec, "r")
    assert {body["seq"] for body in bodies} >= set(acknowledged)
    assert len(bodies) <= len(acknowledged) + 1
    assert all(len(str(body["text"])) == 3000 for body in bodies)


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_processes_that_race_for_positions_never_share_one(spec: str) -> None:
    acknowledged = acknowledged_by_all([start(spec, "r", seconds=1.5) for _ in range(PROCESSES)])
    bodies = loaded(spec, "r")
    assert sorted(acknowledged) == [body["seq"] for body in bodies]
    assert len(acknowledged) == len(set(acknowledged)) > 0
