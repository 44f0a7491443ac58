"""A cancellation says what became of the run: it never overwrites how the run ended."""

# ruff: noqa: ASYNC110 - only the store can say how its runs stand
from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bobcat import FinalAnswer, MemoryStore, ToolSet, compile_policy
from bobcat.errors import JobError
from bobcat.stores.protocol import StatusConflict
from bobcat.workers import Job, Jobs, Runner, StoreDispatcher, Workers
from workers.conftest import House
from workers.test_dead_workers import make_store

NOTHING = compile_policy("rules: []")
RUNS = 60


class Answers:
    identity = "Answers"

    async def step(self, conversation: Any) -> Any:
        await asyncio.sleep(0)
        return FinalAnswer("done")


def app() -> Workers:
    workers = Workers()

    @workers.run("short")
    def short(job: Job) -> dict[str, Any]:
        return {"agent": Answers(), "task": "answer", "tools": ToolSet.from_functions(), "policy": NOTHING}

    return workers


@pytest.mark.parametrize("kind", ["memory", "sqlite", "file", "postgres", "redis"])
@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
def test_no_finished_run_is_recorded_as_cancelled_under_load(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async def main() -> None:
        store = make_store(kind, tmp_path, request)
        jobs, stop = Jobs(store), asyncio.Event()
        for number in range(RUNS):
            await jobs.enqueue("short", run_id=f"r{number}")
        working = asyncio.create_task(
            StoreDispatcher(poll_seconds=0.01).work(Runner(app(), store), concurrency=8, stop=stop, grace_seconds=30)
        )
        answers: dict[str, str] = {}

        async def cancel(run_id: str) -> None:
            try:
                run = await jobs.cancel(run_id)
                answers[run_id] = "unknown" if run is None else run.status
            except JobError as error:
                answers[run_id] = error.code

        for number in range(RUNS):
            await asyncio.gather(cancel(f"r{number}"), cancel(f"r{RUNS - 1 - number}"))
        async with asyncio.timeout(60):
            while [run for status in ("queued", "running") for run in await store.runs(status=status)]:
                await asyncio.sleep(0.05)
        stop.set()
        await working
        for number in range(RUNS):
            run_id = f"r{number}"
            run, records = await store.run(run_id), await store.load(run_id)
            answered = any(record.kind == "final" for record in records)
            assert run.status == ("succeeded" if answered else "cancelled"), (run_id, answers[run_id])
            if answers[run_id] == "cancelled":
                assert not answered, "it learnt that the run is cancelled, and the run answered"
        await store.aclose()

    asyncio.run(main())


def test_a_run_that_ends_while_it_is_cancelled_is_over(house: House) -> None:
    """Between the look at its status and the word to its worker, it succeeds."""

    async def main() -> None:
        store = MemoryStore()
        jobs = Jobs(store)
        await jobs.enqueue("short", run_id="r")
        change = jobs.change

        async def slowly(run_id: str, **fields: Any) -> Job:
            if fields.get("cancelled"):
                assert (await Runner(app(), store).execute(run_id)).outcome == "succeeded"
            return await change(run_id, **fields)

        jobs.change = slowly  # type: ignore[method-assign]
        with pytest.raises(JobError) as caught:
            await jobs.cancel("r")
        assert (caught.value.code, str(caught.value)) == ("over", "the run `r` is over (succeeded)")
        assert (await store.run("r")).status == "succeeded"  # type: ignore[union-attr]
        assert (await jobs.get("r")).cancelled is None

    asyncio.run(main())


@pytest.mark.parametrize("then", ["resume", "enqueue"])
def test_what_is_queued_again_does_not_overwrite_the_end_either(then: str) -> None:
    class Late(MemoryStore):
        """Lets the run be made between the look at its status and the write."""

        armed = False

        async def run(self, run_id: str) -> Any:
            found = await super().run(run_id)
            if self.armed:
                self.armed = False
                with suppress(StatusConflict):
                    await self.set_status(run_id, "queued", expected=())
                await Runner(app(), self).execute(run_id)
            return found

    async def main() -> None:
        store = Late()
        jobs = Jobs(store)
        if then == "resume":
            await jobs.enqueue("short", run_id="r")
            store.armed = True
            with pytest.raises(JobError, match="is over"):
                await jobs.resume("r")
        else:
            await store.put("job", "r", Job("r", "short", {}, await store.now()).to_json(), expected=0)
            store.armed = True
            await jobs.enqueue("short", run_id="r")
        assert (await store.run("r")).status == "succeeded"

    asyncio.run(main())


def test_a_run_that_ends_while_its_worker_is_stopped_stays_ended() -> None:
    """The cancellation of the worker's task arrives after the run was noted as succeeded."""

    class Cancelling(MemoryStore):
        task: asyncio.Task[Any] | None = None

        async def set_status(self, run_id: str, status: Any, **options: Any) -> None:
            await super().set_status(run_id, status, **options)
            if status == "succeeded" and self.task is not None:
                self.task.cancel()

    async def main() -> str:
        store = Cancelling()
        await Jobs(store).enqueue("short", run_id="r")
        store.task = asyncio.create_task(Runner(app(), store).execute("r"))
        await asyncio.gather(store.task, return_exceptions=True)
        return (await store.run("r")).status  # type: ignore[union-attr]

    assert asyncio.run(main()) == "succeeded"


def test_a_store_whose_set_status_expects_nothing_is_looked_at_first() -> None:
    class Older(MemoryStore):
        async def set_status(self, run_id: str, status: Any, *, detail: Any = None, lease: Any = None) -> None:  # type: ignore[override]
            await super().set_status(run_id, status, detail=detail, lease=lease)

    async def main() -> None:
        store = Older()
        jobs = Jobs(store)
        await jobs.enqueue("short", run_id="r")
        assert (await jobs.cancel("r")).status == "cancelled"  # type: ignore[union-attr]
        await jobs.resume("r")
        assert (await Runner(app(), store).execute("r")).outcome == "succeeded"
        with pytest.raises(JobError, match="is over"):
            await jobs.cancel("r")

    asyncio.run(main())
