"""A call that blocks the event loop for longer than a lease costs no run its lease: a thread renews all of them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bobcat import (
    FinalAnswer,
    MemoryStore,
    PostgresStore,
    RunResult,
    SQLiteStore,
    ToolCall,
    ToolSet,
    compile_policy,
    run_agent,
    tool,
)
from bobcat.runtime.lease import LeaseKeeper
from bobcat.stores.file import FileStore
from bobcat.stores.protocol import Lease, RunBusy
from bobcat.stores.redis import RedisStore

ALLOW = compile_policy("rules: [{id: all, match: {tool.in: [block, wait]}, decision: allow}]")
LEASE = 1.0
Opened = Callable[[], Any]  # Any: a store of any kind


@pytest.fixture(params=["memory", "sqlite", "file", "postgres", "redis"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Open another store object over the same storage."""
    name = uuid4().hex[:12]
    match request.param:
        case "memory":
            memory = MemoryStore()
            return lambda: memory
        case "sqlite":
            return lambda: SQLiteStore(tmp_path / "runs.db")
        case "file":
            return lambda: FileStore(tmp_path / "runs")
        case "postgres":
            url = request.getfixturevalue("postgres_url")
            return lambda: PostgresStore(url, schema=f"bobcat_test_{name}", durability="warn")
        case _:
            url = request.getfixturevalue("redis_url")
            return lambda: RedisStore(url, prefix=f"bobcat-test-{name}:", durability="warn")


@asynccontextmanager
async def all_of(*stores: Any) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for store in stores:
            await store.aclose()


class Once:
    identity = "Once"

    def __init__(self, name: str) -> None:
        self.name = name

    async def step(self, conversation: Any) -> Any:
        return ToolCall(self.name, {}) if len(conversation) == 1 else FinalAnswer(conversation[-1].content)


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    return thread, found


@pytest.mark.filterwarnings("ignore::bobcat.errors.StoreWarning")
def test_no_run_beside_a_blocking_call_is_taken_by_another_worker(opened: Opened, caplog: Any) -> None:
    """The blocked run, and those that wait beside it, are renewed; another worker finds all of them busy."""
    began, attempts, together = threading.Event(), list[str](), asyncio.Barrier(3)

    @tool(effect="none")
    async def block() -> str:
        await together.wait()  # the other runs have begun, too
        began.set()
        time.sleep(LEASE * 4)  # noqa: ASYNC251  the fault: it blocks the event loop
        return "blocked"

    @tool(effect="none")
    async def wait() -> str:
        await together.wait()
        await asyncio.sleep(LEASE * 3)
        return "waited"

    async def main() -> list[RunResult]:
        store = opened()
        async with all_of(store):
            kinds: dict[str, Any] = {"r-0": wait, "r-1": wait, "r-2": block}
            return await asyncio.gather(*(
                run_agent(Once(each.__name__), "go", tools=ToolSet.from_functions(each), policy=ALLOW,
                          store=store, run_id=run_id, lease_seconds=LEASE)
                for run_id, each in kinds.items()
            ))  # fmt: skip

    def intrude() -> None:
        began.wait(20)

        async def tried() -> None:
            store = opened()
            async with all_of(store if not isinstance(store, MemoryStore) else MemoryStore()):
                until = time.monotonic() + LEASE * 3.5
                while time.monotonic() < until:
                    for run_id in ("r-0", "r-1", "r-2"):
                        try:
                            await store.acquire(run_id, owner="intruder", seconds=LEASE)
                            attempts.append(run_id)
                        except RunBusy:
                            await asyncio.sleep(0.05)

        asyncio.run(tried())

    thread, _ = in_thread(intrude)
    with caplog.at_level(logging.WARNING, logger="bobcat.stores"):
        results = asyncio.run(main())
    thread.join()
    assert attempts == []
    assert [result.final_answer for result in results] == ["[ok] waited", "[ok] waited", "[ok] blocked"]
    assert "an event loop has been blocked for" in caplog.text


def test_a_loop_that_stays_blocked_loses_its_leases_in_the_end(tmp_path: Path, caplog: Any) -> None:
    """Renewals for ever would keep a run from all workers: after ten lease durations another one takes it."""
    lease, began, taken = 0.1, threading.Event(), threading.Event()
    fences: list[int] = []

    @tool(effect="none")
    async def block() -> str:
        began.set()
        assert taken.wait(60), "no other worker could take the run"
        return "blocked"

    async def main() -> tuple[RunResult, list[str]]:
        async with aclosing(SQLiteStore(tmp_path / "runs.db")) as store:
            tools = ToolSet.from_functions(block)
            result = await run_agent(
                Once("block"), "go", tools=tools, policy=ALLOW, store=store, run_id="r", lease_seconds=lease
            )
            return result, [each.kind for each in await store.load("r")]

    async def take() -> None:
        async with aclosing(SQLiteStore(tmp_path / "runs.db")) as store:
            while True:
                try:
                    fences.append((await store.acquire("r", owner="another", seconds=60)).fence)
                    return
                except RunBusy:
                    await asyncio.sleep(0.02)

    def intrude() -> None:
        began.wait(20)
        asyncio.run(take())
        taken.set()

    thread, _ = in_thread(intrude)
    with caplog.at_level(logging.ERROR, logger="bobcat.stores"):
        result, kinds = asyncio.run(main())
    thread.join()
    assert fences == [2]
    assert result.outcome in ("superseded", "failed"), result
    assert "action.result" not in kinds
    assert "its leases are renewed no more" in caplog.text


def test_one_statement_renews_all_leases_of_a_store(tmp_path: Path) -> None:
    calls: list[int] = []

    class Counted(SQLiteStore):
        async def renew_all(self, leases: Any, *, seconds: float) -> Any:
            calls.append(len(leases))
            return await super().renew_all(leases, seconds=seconds)

    @tool(effect="none")
    async def wait() -> str:
        await asyncio.sleep(LEASE * 2)
        return "waited"

    async def main() -> list[RunResult]:
        async with aclosing(Counted(tmp_path / "runs.db")) as store:
            tools = ToolSet.from_functions(wait)
            return await asyncio.gather(*(
                run_agent(Once("wait"), "go", tools=tools, policy=ALLOW, store=store, run_id=f"r-{each}",
                          lease_seconds=LEASE)
                for each in range(20)
            ))  # fmt: skip

    assert [result.outcome for result in asyncio.run(main())] == ["succeeded"] * 20
    assert max(calls) == 20
    assert len(calls) < 20  # 20 runs of two lease durations need at least five renewals each


@pytest.mark.filterwarnings("ignore::bobcat.errors.StoreWarning")
def test_a_run_that_another_worker_has_taken_ends_although_its_neighbours_go_on(opened: Opened) -> None:
    together: asyncio.Barrier

    @tool(effect="none")
    async def wait() -> str:
        await together.wait()
        await asyncio.sleep(LEASE * 3)
        return "waited"

    async def main() -> list[RunResult]:
        nonlocal together
        together = asyncio.Barrier(3)
        store = opened()
        tools = ToolSet.from_functions(wait)
        async with all_of(store):
            runs = [
                asyncio.create_task(run_agent(Once("wait"), "go", tools=tools, policy=ALLOW, store=store, run_id=run_id,
                                              owner="worker", lease_seconds=LEASE))
                for run_id in ("kept", "taken")
            ]  # fmt: skip
            await together.wait()  # both runs have begun
            await store.acquire("taken", owner="worker", seconds=60)  # a worker that restarted under the same name
            return await asyncio.gather(*runs)

    kept, taken = asyncio.run(main())
    assert kept.final_answer == "[ok] waited"
    assert (taken.outcome, taken.error) == ("superseded", "superseded: another worker is executing run 'taken'")


def test_a_lease_of_a_closed_event_loop_ends(tmp_path: Path) -> None:
    """Its run was left without a release: nothing renews it any more."""

    async def leave() -> None:
        lease_keeper = LeaseKeeper(SQLiteStore(tmp_path / "runs.db"), "r", owner=None, seconds=LEASE)
        await lease_keeper.acquire()
        lease_keeper.start_heartbeat(lambda loss: None)

    async def take() -> Lease:
        async with aclosing(SQLiteStore(tmp_path / "runs.db")) as other:
            return await other.acquire("r", owner="another", seconds=1)

    asyncio.run(leave())
    time.sleep(LEASE * 1.2)
    assert asyncio.run(take()).owner == "another"


def test_neighbours_of_a_long_transaction_keep_their_leases_in_sqlite(tmp_path: Path) -> None:
    """The transaction holds the file: other workers wait for its end, and must not be the first to write then."""
    began, taken = threading.Event(), list[str]()

    @tool(effect="transactional")
    async def block(transaction: Any) -> str:
        transaction.connection.execute("CREATE TABLE paid (amount)")
        began.set()
        await asyncio.sleep(LEASE * 3)
        return "paid"

    @tool(effect="none")
    async def wait() -> str:
        await asyncio.sleep(LEASE * 4)
        return "waited"

    async def main() -> list[RunResult]:
        async with aclosing(SQLiteStore(tmp_path / "runs.db")) as store:
            kinds: dict[str, Any] = {"r-0": wait, "r-1": wait, "r-2": block}
            return await asyncio.gather(*(
                run_agent(Once(each.__name__), "go", tools=ToolSet.from_functions(each), policy=ALLOW,
                          store=store, run_id=run_id, lease_seconds=LEASE)
                for run_id, each in kinds.items()
            ))  # fmt: skip

    def intrude() -> None:
        began.wait(20)

        async def tried() -> None:
            async with aclosing(SQLiteStore(tmp_path / "runs.db")) as store:
                for run_id in ("r-0", "r-1"):
                    try:
                        await store.acquire(run_id, owner="intruder", seconds=LEASE)  # it waits for the transaction
                        taken.append(run_id)
                    except RunBusy:
                        continue

        asyncio.run(tried())

    thread, _ = in_thread(intrude)
    results = asyncio.run(main())
    thread.join()
    assert taken == []
    assert [result.final_answer for result in results] == ["[ok] waited", "[ok] waited", "[ok] paid"]
