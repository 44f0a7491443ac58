"""One run, one worker: leases, their renewal and their end, and what a worker does that lost its run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import bobcat
from bobcat import AuditEvent, CancelToken, FinalAnswer, MemoryStore, RunResult, ToolCall, ToolSet, tool
from bobcat.runtime.compat import LYNX_2_5
from bobcat.runtime.loop import run_with
from bobcat.runtime.options import Options
from bobcat.stores.protocol import Lease, LeaseLost
from kernel.scripted import Scripted

ALLOW = bobcat.compile_policy("rules: [{id: r, match: {}, decision: allow}]")


class Worker:
    """A worker with a name, whose tool does what the test says."""

    def __init__(self, store: Any, name: str, during: Callable[[], Any] | None = None, **options: Any) -> None:
        self.store, self.name, self.during = store, name, during
        self.ran: list[int] = []
        self.fences: list[int] = []
        self.events: list[AuditEvent] = []
        self.options = options

    async def run(self, *replies: object) -> RunResult:
        @tool(effect=self.options.get("effect", "unsafe"), name="act")
        async def act(n: int, fence: int = 0) -> str:
            self.ran.append(n)
            self.fences.append(fence)
            if self.during is not None:
                waits = self.during()
                if waits is not None:
                    await waits
            return "done"

        async def sink(event: AuditEvent) -> None:
            self.events.append(event)

        options = {name: value for name, value in self.options.items() if name != "effect"}
        script = replies or (ToolCall("act", {"n": 0}), ToolCall("act", {"n": 1}), FinalAnswer("over"))
        return await bobcat.run_agent(
            Scripted(*script), "task", tools=ToolSet.from_functions(act), policy=ALLOW, store=self.store, run_id="r",
            owner=self.name, sinks=[sink], **{"lease_seconds": 30, **options},
        )  # fmt: skip

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


class Clock:
    """A store's time that a test moves."""

    def __init__(self) -> None:
        self.time = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def stand_still(seconds: float) -> None:
    """Block the event loop."""
    time.sleep(seconds)


def bounded(main: Any) -> Any:
    """Run a coroutine; one that hangs fails."""

    async def limited() -> Any:
        async with asyncio.timeout(60):
            return await main

    return asyncio.run(limited())


def test_a_run_is_leased_while_it_works_and_free_afterwards() -> None:
    store = MemoryStore()
    seen: list[Any] = []

    async def main() -> None:
        async def look() -> None:
            seen.append(await store.run("r"))

        assert (await Worker(store, "a", look).run()).final_answer == "over"
        other = await store.acquire("r", owner="b", seconds=1)
        assert other.fence == 2

    bounded(main())
    assert [summary.status for summary in seen] == ["running", "running"]
    summary = asyncio.run(store.run("r"))
    assert summary is not None
    assert (summary.status, summary.detail["records"]) == ("succeeded", 9)


# lynx-agent defect 63
def test_a_redelivered_job_does_not_pre_empt_a_healthy_worker() -> None:
    store = MemoryStore()

    async def main() -> None:
        second = Worker(store, "b")

        async def redelivered() -> None:
            result = await second.run()
            assert str(result.error).startswith("superseded: run 'r' is being worked on by 'a', at least until ")
            assert result.status == "superseded"

        first = Worker(store, "a", redelivered)
        assert (await first.run()).final_answer == "over"
        assert (first.ran, second.ran) == ([0, 1], [])
        assert second.kinds == ["run.superseded", "run.superseded"]
        assert "run.superseded" not in first.kinds

    bounded(main())


def test_the_same_job_twice_in_one_process_is_two_workers() -> None:
    store = MemoryStore()
    ran: list[str] = []

    async def main() -> list[RunResult]:
        @tool()
        async def act() -> None:
            ran.append("act")
            await asyncio.sleep(0.01)

        agents = [Scripted(ToolCall("act", {})) for _ in range(2)]
        tools = ToolSet.from_functions(act)
        runs = [bobcat.run_agent(a, "t", tools=tools, policy=ALLOW, store=store, run_id="r") for a in agents]
        return await asyncio.gather(*runs)

    results = bounded(main())
    assert sorted(result.status for result in results) == ["succeeded", "superseded"]
    assert ran == ["act"]


# lynx-agent defect 62
def test_a_worker_that_wakes_after_its_lease_was_taken_executes_nothing_more() -> None:
    """The first worker stands still between the intent and the tool, as a frozen process does."""
    clock = Clock()
    first_acted: list[str] = []

    class Freezing(MemoryStore):
        async def append(self, record: Any) -> None:
            await super().append(record)
            if record.kind == "action.intent" and not first_acted:
                first_acted.append("intent")
                clock.pass_by(31)
                second = Worker(self, "b", effect="idempotent")
                self.second = second
                assert (await second.run(FinalAnswer("over"))).final_answer == "over"
                stand_still(0.2)

    store = Freezing(clock=clock)
    first = Worker(store, "a", effect="idempotent", lease_seconds=0.15)
    result = bounded(first.run(ToolCall("act", {"n": 0}), FinalAnswer("over")))
    assert result.status == "superseded"
    assert result.error == "superseded: another worker is executing run 'r'"
    assert (first.ran, store.second.ran) == ([], [0])
    assert first.kinds[-1] == "run.superseded"


def test_a_worker_that_lost_its_run_in_a_tool_begins_nothing_more() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    second = Worker(store, "b", effect="idempotent")

    async def taken_over() -> None:
        clock.pass_by(31)
        await second.run(FinalAnswer("over"))

    first = Worker(store, "a", taken_over, effect="idempotent")
    result = bounded(first.run())
    assert result.status == "superseded"
    assert (first.ran, second.ran) == ([0], [0])
    kinds = [record.kind for record in asyncio.run(store.load("r"))]
    assert kinds[-1] == "final"


def test_a_lease_is_renewed_as_long_as_a_tool_runs() -> None:
    class Counting(MemoryStore):
        renewals = 0

        async def renew(self, lease: Lease, *, seconds: float) -> Lease:
            self.renewals += 1
            return await super().renew(lease, seconds=seconds)

    store = Counting()
    worker = Worker(store, "a", lambda: asyncio.sleep(1.0), lease_seconds=0.6)
    assert bounded(worker.run(ToolCall("act", {"n": 0}))).final_answer == "done"
    assert store.renewals >= 3


@pytest.mark.parametrize("place", ["tool", "model", "approval"])
def test_a_wait_ends_before_a_lease_does_that_cannot_be_renewed(place: str) -> None:
    class Unreachable(MemoryStore):
        async def renew(self, lease: Lease, *, seconds: float) -> Lease:
            raise ConnectionError("no route")

    async def forever(*_: object) -> Any:
        await asyncio.sleep(60)

    store = Unreachable()
    worker = Worker(store, "a", forever, lease_seconds=0.5)
    replies: list[object] = [ToolCall("act", {"n": 0})]
    if place == "model":
        replies = [forever]
    if place == "approval":
        asking = bobcat.compile_policy("rules: [{id: r, match: {}, decision: approve_required}]")
        run = bobcat.run_agent(
            Scripted(*replies), "task", tools=_tools(worker), policy=asking, store=store, run_id="r",
            on_approval=forever, lease_seconds=0.5,
        )  # fmt: skip
    else:
        run = worker.run(*replies)
    started = time.monotonic()
    result = bounded(run)
    assert time.monotonic() - started < 30
    assert result.error == "store.renew failed: ConnectionError: no route"
    kinds = [record.kind for record in asyncio.run(store.load("r"))]
    assert "action.result" not in kinds


@pytest.mark.parametrize(("blocked", "ran", "failed"), [(0.5, [0], "append"), (0.95, [], "renew")])
def test_a_lease_that_cannot_be_renewed_is_good_until_shortly_before_its_end(
    blocked: float, ran: list[int], failed: str
) -> None:
    """The loop is blocked meanwhile, so that nothing but the look before the tool can know."""

    class Unreachable(MemoryStore):
        async def renew(self, lease: Lease, *, seconds: float) -> Lease:
            raise ConnectionError("no route")

        async def append(self, record: Any) -> None:
            await super().append(record)
            if record.kind == "action.intent":
                stand_still(blocked)

    worker = Worker(Unreachable(), "a", lease_seconds=1)
    result = bounded(worker.run(ToolCall("act", {"n": 0})))
    assert (worker.ran, result.error) == (ran, f"store.{failed} failed: ConnectionError: no route")


def _tools(worker: Worker) -> ToolSet:
    @tool(name="act")
    async def act(n: int) -> None:
        worker.ran.append(n)

    return ToolSet.from_functions(act)


def test_a_run_that_is_lost_while_the_model_thinks_ends_at_once() -> None:
    store = MemoryStore()

    async def lost_meanwhile(_: object) -> Any:
        await store.acquire("r", owner="a", seconds=30)  # the same name: a worker that lost its memory
        await asyncio.sleep(60)

    worker = Worker(store, "a", lease_seconds=0.3)
    result = bounded(worker.run(lost_meanwhile))
    assert result.status == "superseded"
    assert worker.ran == []


def test_a_worker_that_starts_again_under_its_name_does_not_wait_for_its_own_lease() -> None:
    store = MemoryStore()
    asyncio.run(store.acquire("r", owner="a", seconds=3600))
    assert bounded(Worker(store, "b").run()).status == "superseded"
    worker = Worker(store, "a")
    assert bounded(worker.run()).final_answer == "over"


def test_a_fenced_tool_gets_the_number_of_its_lease_and_a_later_attempt_a_higher_one() -> None:
    store = MemoryStore()

    def fail() -> None:
        raise KeyboardInterrupt

    first = Worker(store, "a", fail, effect="fenced")
    with pytest.raises(KeyboardInterrupt):
        bounded(first.run())
    second = Worker(store, "b", effect="fenced")
    assert bounded(second.run(FinalAnswer("over"))).final_answer == "over"
    assert (first.fences, second.fences) == ([1], [2])
    assert "action.uncertain" in second.kinds


@pytest.mark.parametrize("how", ["cancelled", "failed", "budget"])
# lynx-agent defect 67
def test_the_end_of_a_run_is_on_record_and_in_the_store(how: str) -> None:
    store, token = MemoryStore(), CancelToken()
    options: dict[str, Any] = {"cancel": token} if how == "cancelled" else {}
    if how == "budget":
        options["budget"] = bobcat.Budget(steps=1)
    worker = Worker(store, "a", (lambda: token.cancel("stop")) if how == "cancelled" else None, **options)
    result = bounded(worker.run(*([lambda _: 1 / 0] if how == "failed" else [])))
    records = asyncio.run(store.load("r"))
    assert records[-1].kind == ("run.cancelled" if how == "cancelled" else "run.failed")
    assert records[-1].body["error"] == result.error
    summary = asyncio.run(store.run("r"))
    assert summary is not None
    assert summary.status == ("cancelled" if how == "cancelled" else "failed")
    assert summary.detail == {"records": len(records), "chain": records[-1].body["chain"], "error": result.error}


def test_a_cancelled_task_gives_its_run_back() -> None:
    store = MemoryStore()

    async def main() -> None:
        entered = asyncio.Event()

        async def hang() -> None:
            entered.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(Worker(store, "a", hang).run())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await store.acquire("r", owner="b", seconds=1)).fence == 2

    bounded(main())


def test_a_run_that_is_cancelled_while_it_notes_its_end_is_given_back_all_the_same() -> None:
    async def main() -> None:
        noting = asyncio.Event()

        class Slow(MemoryStore):
            async def set_status(self, run_id: str, status: Any, **options: Any) -> None:
                if status == "succeeded":
                    noting.set()
                    await asyncio.sleep(60)
                await super().set_status(run_id, status, **options)

        store = Slow()
        task = asyncio.create_task(Worker(store, "a").run())
        await noting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}, "the lease is still being renewed"
        assert (await store.acquire("r", owner="b", seconds=1)).fence == 2

    bounded(main())


@pytest.mark.parametrize("call", ["acquire", "run", "set_status", "load"])
def test_a_store_that_fails_at_the_start_fails_the_run_and_nothing_is_executed(call: str) -> None:
    async def refuse(self: Any, *args: Any, **options: Any) -> Any:
        raise OSError("gone")

    store = type("Broken", (MemoryStore,), {call: refuse})()
    worker = Worker(store, "a")
    result = bounded(worker.run())
    assert str(result.error).endswith(" failed: OSError: gone")
    assert worker.ran == []
    assert worker.kinds == ["run.started", "run.failed"]


def test_a_store_that_fails_at_the_end_changes_nothing() -> None:
    async def refuse(self: Any, *args: Any, **options: Any) -> Any:
        raise OSError("gone")

    store = type("Broken", (MemoryStore,), {"release": refuse})()
    assert bounded(Worker(store, "a").run()).final_answer == "over"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lease_seconds": 0}, "lease_seconds must be at least 0.05 and finite, got 0"),
        ({"lease_seconds": float("inf")}, "lease_seconds must be at least 0.05 and finite, got inf"),
        ({"lease_seconds": "30"}, "lease_seconds must be a number, got '30'"),
        (
            {"allow_changed": ["tasks"]},
            "allow_changed names 'tasks'; it may name 'task', 'tools', 'agent', 'principal'",
        ),
        ({"allow_changed": "task"}, "allow_changed must be a collection of names, got the string 'task'"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError)) as refused:
        bounded(Worker(MemoryStore(), "a", **options).run())
    assert str(refused.value).startswith(text)


def test_the_store_reports_a_lost_lease_in_the_write_itself() -> None:
    """The kernel relies on this, whatever it thinks of its own lease."""
    clock = Clock()
    store = MemoryStore(clock=clock)

    async def main() -> None:
        lease = await store.acquire("r", owner="a", seconds=1)
        clock.pass_by(2)
        await store.acquire("r", owner="b", seconds=1)
        record = bobcat.StepRecord("r", 0, "k", "", {}, clock())
        with pytest.raises(LeaseLost):
            await store.append_fenced(record, lease)

    bounded(main())


@pytest.mark.parametrize("watched", [True, False], ids=["machine", "lane"])
def test_a_tool_that_blocks_past_the_lease_is_recorded_when_no_worker_took_the_run(
    watched: bool,
) -> None:
    store, ran = MemoryStore(), []

    @tool()
    async def act() -> str:
        ran.append("act")
        stand_still(0.4)
        return "done"

    async def sink(event: AuditEvent) -> None: ...

    run = bobcat.run_agent(
        Scripted(ToolCall("act", {}), ToolCall("act", {}), FinalAnswer("over")), "task",
        tools=ToolSet.from_functions(act), policy=ALLOW, store=store, run_id="r", lease_seconds=0.2,
        sinks=[sink] if watched else [],
    )  # fmt: skip
    assert bounded(run).final_answer == "over"
    assert ran == ["act", "act"]


@pytest.mark.parametrize("watched", [True, False], ids=["machine", "lane"])
def test_such_a_tool_is_not_recorded_when_a_worker_did_and_no_step_follows(watched: bool) -> None:
    clock = Clock()
    store, ran = MemoryStore(clock=clock), []

    @tool()
    async def act() -> str:
        ran.append("act")
        clock.pass_by(1)
        await store.acquire("r", owner="b", seconds=30)
        stand_still(0.2)
        return "done"

    async def sink(event: AuditEvent) -> None: ...

    run = bobcat.run_agent(
        Scripted(ToolCall("act", {}), ToolCall("act", {})), "task",
        tools=ToolSet.from_functions(act), policy=ALLOW, store=store, run_id="r", lease_seconds=0.2,
        sinks=[sink] if watched else [],
    )  # fmt: skip
    assert bounded(run).status == "superseded"
    assert ran == ["act"]
    assert [record.kind for record in asyncio.run(store.load("r"))][-1] == "action.intent"


@pytest.mark.parametrize("effect", ["fenced", "transactional"])
def test_compatible_runs_hold_no_lease_and_refuse_tools_that_need_one(effect: Any) -> None:
    @tool(effect=effect)
    async def act(fence: int = 0, transaction: Any = None) -> None:
        raise AssertionError("it must not run")

    options = Options(tools=ToolSet.from_functions(act), policy=ALLOW, store=MemoryStore(), run_id="r")
    run = run_with(LYNX_2_5, Scripted(), "task", options)
    with pytest.raises(ValueError, match=f"tool 'act' is {effect}: it needs a store with"):
        bounded(run)
