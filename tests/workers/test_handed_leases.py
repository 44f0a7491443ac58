"""The lease of a claim is that of the run: nothing acquires it again, and a failure is recorded by one write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat import FinalAnswer, Policy, ToolSet
from bobcat.stores.protocol import LeaseLost, RunStatus
from bobcat.workers import Delivery, Job, Jobs, Retry, Runner, Workers
from workers.test_claimed_runs import KINDS
from workers.test_dead_workers import make_store

POLICY = Policy.compile("rules: []")
WRITES = "acquire", "begin", "queue", "set_status", "finish", "conclude", "append_fenced", "append_group", "release"

pytestmark = pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")


class Agent:
    identity = "agent"

    def __init__(self, fails: bool, meanwhile: Callable[[], Any] | None = None) -> None:
        self._fails, self._meanwhile = fails, meanwhile

    async def step(self, conversation: Any) -> Any:
        if self._meanwhile is not None:
            await self._meanwhile()
        if self._fails:
            raise RuntimeError("the model is down")
        return FinalAnswer("done")


class Journalist:
    """Notes the writes of a store, and the status of the run after each."""

    def __init__(self, store: Any) -> None:
        self.writes: list[str] = []
        self.statuses: list[RunStatus] = []
        self._store = store
        for name in WRITES:
            if hasattr(store, name):
                setattr(store, name, self._noting(name, getattr(store, name)))

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **options: Any) -> Any:
            result = await method(*args, **options)
            self.writes.append(name)
            run = await self._store.run("r")
            if run is not None:
                self.statuses.append(run.status)
            return result

        return call


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return make_store(request.param, tmp_path, request)


def app(agent: Agent, attempts: int = 3) -> Workers:
    workers = Workers(retry=Retry(attempts, backoff_seconds=0.001))

    @workers.run("r")
    def made(job: Job) -> dict[str, Any]:
        return {"agent": agent, "task": "go", "tools": ToolSet(), "policy": POLICY}

    return workers


async def attempts(store: Any, workers: Workers, until: str) -> list[Delivery | None]:
    """Work until an attempt has an outcome."""
    runner, found = Runner(workers, store), list[Delivery | None]()
    async with asyncio.timeout(60):
        while not found or getattr(found[-1], "outcome", "") != until:
            found.append(await runner.run_next())
            await asyncio.sleep(0.02)
    return [each for each in found if each is not None]


def test_a_run_continues_under_the_lease_of_its_claim(store: Any) -> None:
    async def main() -> None:
        await Jobs(store).enqueue("r", run_id="r")
        noted = Journalist(store)
        await attempts(store, app(Agent(fails=False)), "succeeded")
        run = await store.run("r")
        assert (run.status, run.fence, run.held) == ("succeeded", 1, False)
        assert not {"acquire", "begin"} & {*noted.writes}
        assert "release" not in noted.writes or not hasattr(store, "conclude")
        await store.aclose()

    asyncio.run(main())


def test_a_run_that_is_tried_again_never_has_the_status_failed(store: Any) -> None:
    async def main() -> None:
        await Jobs(store).enqueue("r", run_id="r")
        noted = Journalist(store)
        found = await attempts(store, app(Agent(fails=True)), "dead")
        assert [each.outcome for each in found if each is not None] == ["queued", "queued", "dead"]
        assert "failed" not in noted.statuses
        assert noted.statuses.index("queued") < noted.statuses.index("dead")
        run = await store.run("r")
        assert (run.detail["attempts"], run.held, run.detail["records"]) == (3, False, run.records)
        assert run.detail["chain"] == run.head
        await store.aclose()

    asyncio.run(main())


def test_a_failure_that_is_final_is_recorded_once(store: Any) -> None:
    async def main() -> None:
        await Jobs(store).enqueue("r", run_id="r")
        noted = Journalist(store)
        await attempts(store, app(Agent(fails=True), attempts=1), "failed")
        one_write = hasattr(store, "finish")
        assert ("set_status" in noted.writes, "release" in noted.writes) == (not one_write, not one_write)
        run = await store.run("r")
        assert (run.status, run.held) == ("failed", False)
        await store.aclose()

    asyncio.run(main())


def test_a_claim_that_was_lost_before_the_run_began_executes_nothing(store: Any) -> None:
    async def main() -> None:
        await Jobs(store).enqueue("r", run_id="r")
        asked: list[int] = []

        async def ask() -> None:
            asked.append(1)

        runner = Runner(app(Agent(fails=False, meanwhile=ask)), store)
        claim = await runner.claim()
        assert claim is not None
        other = await store.acquire("r", owner=claim.lease.owner, seconds=60)
        delivery = await runner.deliver(claim)
        assert (delivery.outcome, delivery.begun, asked) == ("busy", False, [])
        with pytest.raises(LeaseLost):
            await store.set_status("r", "failed", lease=claim.lease)
        await store.release(other)
        await store.aclose()

    asyncio.run(main())
