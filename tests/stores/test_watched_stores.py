"""`bobcat ui` on every store: runs are listed and shown, and an approval is granted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bobcat import FileStore, FinalAnswer, MemoryStore, PostgresStore, RedisStore, SQLiteStore
from bobcat.stores.protocol import DurableStore
from ui.console import send, served, suspended

MAKERS: dict[str, Callable[[Path, pytest.FixtureRequest], DurableStore]] = {
    "memory": lambda _, __: MemoryStore(),
    "sqlite": lambda place, _: SQLiteStore(place / "runs.db"),
    "file": lambda place, _: FileStore(place / "runs"),
    "postgres": lambda _, request: PostgresStore(
        request.getfixturevalue("postgres_url"), schema=request.getfixturevalue("schema"), durability="warn"
    ),
    "redis": lambda _, request: RedisStore(
        request.getfixturevalue("redis_url"), prefix=request.getfixturevalue("prefix"), durability="warn"
    ),
}


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
@pytest.mark.parametrize("kind", MAKERS)
def test_a_store_is_shown_and_answered(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    store = MAKERS[kind](tmp_path, request)

    async def main() -> None:
        async with served(store) as browser:
            asked = (await suspended(store)).result.approvals[0]
            await suspended(store, FinalAnswer("done"), run_id="r-2")
            alice = await browser.of("alice")
            runs = (await alice.get("/runs")).text
            assert runs.index("/run?id=r-2") < runs.index("/run?id=r-1")
            assert "/run?id=r-2" not in (await alice.get("/runs", params={"status": "suspended"})).text
            assert "restart" in (await alice.get("/run?id=r-1")).text
            sent = await send(alice, await alice.get(f"/approvals/{asked}"), "grant")
            assert sent.status_code == 303
            assert "granted by alice" in (await alice.get(sent.headers["location"])).text
        await store.aclose()

    asyncio.run(main())
