"""Stores whose time a test moves: by their own clock, or, on a server, by moving every time that it has kept."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bobcat import FileStore, MemoryStore, PostgresStore, RedisStore, SQLiteStore

T = TypeVar("T")

_SHIFT_POSTGRES = """UPDATE {0}.runs SET run_at = run_at - %(by)s, expires = expires - %(by)s, look = look - %(by)s,
    updated = updated - %(by)s"""
_SHIFT_REDIS = """
local prefix, by = ARGV[1], tonumber(ARGV[2])
local function earlier(number) return string.format('%.0f', tonumber(number) - by) end
for _, key in ipairs(redis.call('KEYS', prefix .. 'run:*')) do
    for _, field in ipairs({'run_at', 'expires', 'look', 'updated'}) do
        local was = redis.call('HGET', key, field)
        if was then redis.call('HSET', key, field, earlier(was)) end
    end
end
for _, pattern in ipairs({'queue:due', 'queue:running', 'queue:look', 'queue:group:*', 'runs', 'status:*'}) do
    for _, key in ipairs(redis.call('KEYS', prefix .. pattern)) do
        for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
            redis.call('ZINCRBY', key, -by, member)
        end
    end
end
"""


class SimulatedStores:
    """Makes stores of one kind, all on one event loop, and moves their time."""

    def __init__(self, kind: str, path: Path, request: pytest.FixtureRequest) -> None:
        self.kind, self._path, self._request = kind, path, request
        self._loop = asyncio.Runner()
        self._moment = datetime(2030, 1, 1, tzinfo=UTC)
        self._shared: Any = None

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Complete a coroutine."""
        return self._loop.run(call)

    def store(self) -> Any:
        """A store without due runs of a kind that no test has used."""
        path = self._path / uuid.uuid4().hex
        match self.kind:
            case "memory":
                return MemoryStore(clock=lambda: self._moment)
            case "sqlite":
                path.mkdir()
                return SQLiteStore(path / "runs.db", clock=lambda: self._moment)
            case "file":
                return FileStore(path, clock=lambda: self._moment)
            case "postgres":
                if self._shared is None:
                    self._url, self._schema = map(self._request.getfixturevalue, ("postgres_url", "schema"))
                    self._shared = PostgresStore(self._url, schema=self._schema, durability="warn")
            case _:
                if self._shared is None:
                    self._url, self._prefix = map(self._request.getfixturevalue, ("redis_url", "prefix"))
                    self._shared = RedisStore(self._url, prefix=self._prefix, durability="warn")
        return self._shared

    def end(self, store: Any) -> None:
        """Close a store that is not shared."""
        if store is not self._shared:
            self.run(store.aclose())

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._moment += timedelta(seconds=seconds)
        if self.kind == "postgres":
            self.run(self._shift_postgres(timedelta(seconds=seconds)))
        elif self.kind == "redis":
            self.run(self._shift_redis(seconds))

    async def _shift_postgres(self, by: timedelta) -> None:
        import psycopg

        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            await connection.execute(_SHIFT_POSTGRES.format(f'"{self._schema}"').encode(), {"by": by})

    async def _shift_redis(self, seconds: float) -> None:
        from redis.asyncio import Redis

        client = Redis.from_url(self._url)
        await client.eval(_SHIFT_REDIS, 0, self._prefix, str(int(seconds * 1e6)))
        await client.aclose()

    def close(self) -> None:
        """Close the shared store and the loop."""
        if self._shared is not None:
            self.run(self._shared.aclose())
        self._loop.close()
