"""Attempts at a run by the code of its failure, its end as a dead run, and the limits of its kind."""

# ruff: noqa: ASYNC110 - the store has no event for the state of a run

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from bobcat import FinalAnswer, MemoryStore, Policy, ToolSet
from bobcat.stores.protocol import RunSummary
from bobcat.workers import Job, Jobs, Retry, Runner, StoreDispatcher, Workers
from workers.conftest import House

POLICY = Policy.compile("rules: []")


class Failing:
    identity = "agent"

    async def step(self, conversation: Any) -> Any:
        raise RuntimeError("the model is down")


class Done:
    identity = "agent"

    async def step(self, conversation: Any) -> Any:
        return FinalAnswer("done")


def arguments(agent: Any) -> dict[str, Any]:
    return {"agent": agent, "task": "go", "tools": ToolSet(), "policy": POLICY}


def app(
    retry: Retry | None = None, maker: Callable[[Job], Any] = lambda job: arguments(Failing()), **kind: Any
) -> Workers:
    workers = Workers(retry=retry)
    workers.run("r", **kind)(maker)
    return workers


async def work(workers: Workers, store: Any, seconds: float = 20.0, until: Callable[[], Any] | None = None) -> None:
    runner, stop = Runner(workers, store), asyncio.Event()
    dispatcher = StoreDispatcher(poll_seconds=0.5, until_idle=until is None)
    async with asyncio.timeout(seconds):
        working = asyncio.create_task(dispatcher.work(runner, concurrency=8, stop=stop, grace_seconds=1))
        while until is not None and not await until():
            await asyncio.sleep(0.02)
        if until is not None:
            stop.set()
        await working


async def run_of(store: Any, run_id: str = "r") -> RunSummary:
    run: RunSummary = await store.run(run_id)
    return run


def is_over(store: Any, run_id: str = "r") -> Callable[[], Any]:
    async def check() -> bool:
        return (await run_of(store, run_id)).status in ("failed", "dead")

    return check


def ended(workers: Workers) -> RunSummary:
    async def main() -> RunSummary:
        store = MemoryStore()
        await Jobs(store).enqueue("r", run_id="r")
        await work(workers, store, until=is_over(store))
        return await run_of(store)

    return asyncio.run(main())


QUICK: dict[str, Any] = {"backoff_seconds": 0.01}


@pytest.mark.parametrize(
    ("retry", "status", "attempts"),
    [
        (Retry(3, **QUICK), "dead", 3),
        (Retry(3, **QUICK, by_code={"agent_failed": Retry(5, **QUICK)}), "dead", 5),
        (Retry(3, **QUICK, by_code={"agent_failed": None}), "failed", 1),
        (Retry(3, **QUICK, by_code={"agent_timed_out": None}), "dead", 3),
        (Retry(1), "failed", 1),
    ],
)
def test_a_run_is_tried_as_often_as_the_code_of_its_failure_permits(
    retry: Retry, status: str, attempts: int, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[int] = []

    def made(job: Job) -> dict[str, Any]:
        tried.append(job.attempts)
        return arguments(Failing())

    run = ended(app(retry, made))
    assert (run.status, tried) == (status, [*range(1, attempts + 1)])
    assert run.detail["attempts"] == attempts
    assert str(run.detail["error"]).endswith("the model is down")
    assert (run.detail.get("reason") == f"attempts exhausted ({attempts} of {attempts})") == (status == "dead")
    told = [record for record in caplog.records if record.levelno == logging.ERROR and record.name == "bobcat.workers"]
    assert [(record.status, record.run_id) for record in told] == [(status, "r")]  # type: ignore[attr-defined]


def test_a_failure_that_no_attempt_avoids_can_be_tried_again() -> None:
    assert ended(app(Retry(3, **QUICK), lambda job: "no run")).status == "failed"
    run = ended(app(Retry(3, by_code={"not_a_run": Retry(2, **QUICK)}), lambda job: "no run"))
    assert (run.status, run.detail["attempts"]) == ("dead", 2)


def test_the_retries_of_a_kind_replace_those_of_the_app() -> None:
    workers = Workers(retry=Retry(1))
    workers.run("r", retry=Retry(4, **QUICK))(lambda job: arguments(Failing()))
    assert ended(workers).detail["attempts"] == 4


def test_a_dead_run_is_reported_once_and_can_be_resumed() -> None:
    reported: list[tuple[str, str]] = []

    async def report(job: Job, reason: str) -> None:
        reported.append((job.run_id, reason))
        raise RuntimeError("the pager is down")  # it must not matter

    async def main() -> None:
        store = MemoryStore()
        workers = app(Retry(2, **QUICK))
        workers.on_dead = report
        await Jobs(store).enqueue("r", run_id="r")
        await work(workers, store, until=is_over(store))
        assert [run.run_id for run in await store.runs(status="dead")] == ["r"]
        assert [run_id for run_id, _ in reported] == ["r"]
        assert "the model is down" in reported[0][1]
        await work(workers, store)  # nothing is due
        assert (await run_of(store)).status == "dead"
        await Jobs(store).resume("r")
        await work(app(maker=lambda job: arguments(Done())), store)
        assert (await run_of(store)).status == "succeeded"

    asyncio.run(main())


def test_pauses_double_and_are_shortened_at_random() -> None:
    retry = Retry(6, backoff_seconds=10, jitter=0.5, max_backoff_seconds=60)
    for attempts, longest in ((1, 10), (2, 20), (3, 40), (4, 60), (5, 60)):
        pauses = [retry.pause(attempts) or 0.0 for _ in range(200)]
        assert longest / 2 <= min(pauses) < longest * 0.75 < max(pauses) <= longest
    assert retry.pause(6) is None
    assert {Retry(3, backoff_seconds=4, jitter=0).pause(2) for _ in range(9)} == {8.0}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_attempts": 0}, "max_attempts must be an integer of at least 1, got `0`"),
        ({"max_attempts": True}, "max_attempts must be an integer of at least 1, got `True`"),
        ({"backoff_seconds": -1}, "backoff_seconds must be a number of seconds of at least 0, got `-1`"),
        ({"backoff_seconds": float("nan")}, "backoff_seconds must be a number of seconds of at least 0, got `nan`"),
        ({"jitter": 1.5}, "jitter must be between 0 and 1, got `1.5`"),
        (
            {"by_code": {"agent_fail": None}},
            "by_code names `agent_fail`, which is no code of a failure; did you mean `agent_failed`?",
        ),
        ({"by_code": {"busy": 3}}, "by_code[`busy`] must be None, or a Retry without by_code"),
    ],
)  # fmt: skip
def test_invalid_retries_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        Retry(**options)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rate": "100"}, "a rate must be a number and a unit, such as `10/s`, `100/m`, `5/h` or `1/d`, got `'100'`"),
        ({"rate": "0/s"}, "a rate must be a number and a unit, such as `10/s`, `100/m`, `5/h` or `1/d`, got `'0/s'`"),
        ({"concurrency": 0}, "concurrency must be an integer of at least 1, got `0`"),
        ({"concurrency": True}, "concurrency must be an integer of at least 1, got `True`"),
        ({"retry": 3}, "retry must be a Retry, got `3`"),
    ],
)
def test_invalid_options_of_a_kind_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        Workers().run("r", **options)
    assert str(refused.value) == text


def test_runs_of_a_kind_start_at_most_at_its_rate_whatever_the_number_of_workers(house: House) -> None:
    """Other kinds are not held up, and the runs keep their order."""
    started: list[tuple[str, datetime]] = []

    def made(job: Job) -> dict[str, Any]:
        started.append((job.run_id, datetime.now()))
        return arguments(Done())

    async def main() -> None:
        workers = app(maker=made, rate="10/s")
        workers.run("other")(made)
        for each in range(8):
            await house.jobs.enqueue("r", run_id=f"r-{each}")
        for each in range(4):
            await house.jobs.enqueue("other", run_id=f"other-{each}")

        async def over() -> bool:
            return len(started) == 12

        await asyncio.gather(work(workers, house.store, until=over), work(workers, house.store, until=over))

    asyncio.run(main())
    limited = [(run_id, at) for run_id, at in started if run_id.startswith("r-")]
    assert [run_id for run_id, _ in limited] == [f"r-{each}" for each in range(8)]
    assert limited[-1][1] - limited[0][1] >= timedelta(seconds=0.6)
    assert max(at for run_id, at in started if run_id.startswith("other")) < limited[-1][1]


def test_runs_of_a_kind_execute_at_most_at_its_concurrency_over_all_workers(house: House) -> None:
    at_once, most = 0, 0

    class Slow:
        identity = "slow"

        async def step(self, conversation: Any) -> Any:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0.05)
            at_once -= 1
            return FinalAnswer("done")

    async def main() -> None:
        workers = app(maker=lambda job: arguments(Slow()), concurrency=2)
        for each in range(8):
            await house.jobs.enqueue("r", run_id=f"r-{each}")

        async def over() -> bool:
            return not [run for run in await house.store.runs() if run.status != "succeeded"]

        await asyncio.gather(work(workers, house.store, until=over), work(workers, house.store, until=over))

    asyncio.run(main())
    assert most == 2
