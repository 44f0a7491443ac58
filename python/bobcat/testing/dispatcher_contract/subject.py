"""The engine under test, and workers on it: what the clauses of the contract use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from bobcat.compiler import compile_policy
from bobcat.model.run import FinalAnswer
from bobcat.stores.protocol import DurableStore
from bobcat.testing.contract.subject import Violated
from bobcat.tools.toolset import ToolSet
from bobcat.workers.dispatcher import Dispatcher
from bobcat.workers.job import Job
from bobcat.workers.jobs import Jobs
from bobcat.workers.registry import Workers
from bobcat.workers.retry import Retry
from bobcat.workers.runner import Runner

POLL = 0.02
LEASE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Engine:
    """One process on the engine: a store over the shared storage, and a dispatcher, each a new object."""

    store: DurableStore
    dispatcher: Dispatcher


MakeEngine = Callable[[], Engine | Awaitable[Engine]]


class Behaviour:
    """What the runs of a clause do, and what they have done."""

    def __init__(self) -> None:
        self.kind = f"contract-{uuid4().hex[:8]}"
        self.started: list[tuple[str, float]] = []
        self.finished: list[str] = []
        self.at_once = self.most_at_once = 0
        self.seconds = 0.0
        self.failures: dict[str, int] = {}

    def names(self) -> list[str]:
        """The runs that were started, in order; one that was started again is there again."""
        return [run_id for run_id, _ in self.started]

    def app(self, **options: Any) -> Workers:  # Any: options of the app
        """An app with the kind of runs."""
        workers = Workers(retry=Retry(5, backoff_seconds=0.05), **options)
        workers.run(self.kind)(self._made)
        return workers

    def _made(self, job: Job) -> dict[str, Any]:  # Any: arguments of run_agent
        return {"agent": _Agent(self, job), "task": "", "tools": ToolSet(), "policy": compile_policy("rules: []")}


class _Agent:
    identity = "contract"

    def __init__(self, behaviour: Behaviour, job: Job) -> None:
        self._behaviour, self._job = behaviour, job

    async def step(self, conversation: object) -> FinalAnswer:
        """Do what the clause wants."""
        behaviour, run_id = self._behaviour, self._job.run_id
        behaviour.started.append((run_id, time.monotonic()))
        if behaviour.failures.get(run_id, 0) > 0:
            behaviour.failures[run_id] -= 1
            raise RuntimeError("a failure of the contract")
        behaviour.at_once += 1
        behaviour.most_at_once = max(behaviour.most_at_once, behaviour.at_once)
        try:
            await asyncio.sleep(behaviour.seconds)
        finally:
            behaviour.at_once -= 1
        behaviour.finished.append(run_id)
        return FinalAnswer("done")


class EngineUnderTest:
    """Processes on the engine, for one clause."""

    def __init__(self, make: MakeEngine) -> None:
        self._make = make
        self._open = AsyncExitStack()

    async def engine(self) -> Engine:
        """A new process on the engine; closed after the clause."""
        made = self._make()
        engine = made if isinstance(made, Engine) else await made
        self._open.push_async_callback(engine.store.aclose)
        close: Callable[[], Awaitable[None]] | None = getattr(engine.dispatcher, "aclose", None)
        if close is not None:
            self._open.push_async_callback(close)
        return engine

    async def producer(self) -> tuple[Jobs, DurableStore]:
        """A process that queues runs, and its store."""
        engine = await self.engine()
        return Jobs(engine.store, engine.dispatcher), engine.store

    @asynccontextmanager
    async def working(
        self, workers: Workers, *, concurrency: int = 4, grace_seconds: float = 10.0
    ) -> AsyncIterator[asyncio.Event]:
        """A worker process, stopped at the end of the block. Setting the event stops it before."""
        engine = await self.engine()
        runner = Runner(workers, engine.store, dispatcher=engine.dispatcher, lease_seconds=LEASE_SECONDS)
        stop = asyncio.Event()
        working = asyncio.create_task(
            engine.dispatcher.work(runner, concurrency=concurrency, stop=stop, grace_seconds=grace_seconds)
        )
        try:
            yield stop
        finally:
            stop.set()
            await working

    async def close(self) -> None:
        """Close the stores and the dispatchers."""
        await self._open.aclose()


async def until(true: Callable[[], bool | Awaitable[bool]], what: str, seconds: float = 30.0) -> None:
    """Wait until something is true. Raises `Violated`."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                found = true()
                if found if isinstance(found, bool) else await found:
                    return
                await asyncio.sleep(POLL)
    except TimeoutError:
        raise Violated(f"after {seconds:g} s: not {what}") from None


async def until_status(store: DurableStore, run_id: str, status: str) -> None:
    """Wait until a run has a status. Raises `Violated`."""

    async def has_it() -> bool:
        run = await store.run(run_id)
        return run is not None and run.status == status

    await until(has_it, f"{status}: {run_id}")
