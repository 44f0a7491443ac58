"""Damaged rows of a server: each store reports `damaged`, for every part."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import psycopg
import pytest
import redis

from bobcat import PostgresStore, RedisStore, StoreError
from stores.appender import entry

BODIES = ["", "{", "[]", "5", "[" * 5_000, '"\\ud800']


async def refused(call: Awaitable[Any]) -> str:
    with pytest.raises(StoreError) as caught:
        await call
    return caught.value.code


def every_call_is_refused(make: Callable[[], Any], damage: Callable[[], None]) -> None:
    async def use() -> None:
        async with aclosing(make()) as store:
            await store.append(entry("r", 0))
            await store.set_status("r", "running")
            if await store.get("k", "d") is None:
                await store.put("k", "d", {"x": 1}, expected=0)
            await asyncio.to_thread(damage)
            for call in (store.load("r"), store.run("r"), store.runs(), store.get("k", "d"), store.scan("k")):
                assert await refused(call) == "damaged"

    asyncio.run(use())


@pytest.mark.parametrize("body", BODIES)
def test_invalid_bodies_in_postgresql_are_refused(postgres_url: str, schema: str, body: str) -> None:
    def damage() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            for table, column in (("records", "body"), ("runs", "detail"), ("documents", "body")):
                connection.execute(f'UPDATE "{schema}".{table} SET {column} = %s'.encode(), (body,))

    every_call_is_refused(lambda: PostgresStore(postgres_url, schema=schema, durability="warn"), damage)


def test_an_invalid_time_in_postgresql_is_refused(postgres_url: str, schema: str) -> None:
    async def use() -> None:
        async with aclosing(PostgresStore(postgres_url, schema=schema, durability="warn")) as store:
            await store.append(entry("r", 0))
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(f"UPDATE \"{schema}\".records SET made = 'yesterday'".encode())
            assert await refused(store.load("r")) == "damaged"

    asyncio.run(use())


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")  # a server for tests may lose things
@pytest.mark.parametrize("body", [*BODIES, b"\xff", b"0123456789abcdef0123456789abcdef{"])
def test_invalid_values_in_redis_are_refused(redis_url: str, prefix: str, body: str | bytes) -> None:
    def damage() -> None:
        with redis.Redis.from_url(redis_url) as client:
            client.hset(f"{prefix}records:r", "0", body)
            client.hset(f"{prefix}run:r", "detail", body)
            client.hset(f"{prefix}documents:k", "d", body)

    every_call_is_refused(lambda: RedisStore(redis_url, prefix=prefix, durability="warn"), damage)
