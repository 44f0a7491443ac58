"""The kill switch, the clocks and the cancellation of the caller, at every place where a run waits."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from bobcat import (
    ApprovalDecision,
    AuditEvent,
    Budget,
    CancelToken,
    FinalAnswer,
    MemoryStore,
    compile_policy,
    noop_sink,
    run_agent,
)
from kernel.scripted import POLICY, Scripted, Seen, Tools, call, run, seen


class Flag:
    """A kill switch of somebody else's making."""

    cancelled = False


async def _forever(*_: object) -> Any:
    await asyncio.sleep(60)


async def _stubborn() -> None:
    """Swallows the first cancellation and comes back late."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0)


def _cancelled_while(*replies: object, tools: Tools | None = None, **options: Any) -> tuple[Seen, float]:
    """Run, and throw the switch a moment later; the run, and how long it took to end."""

    async def main() -> tuple[Seen, float]:
        token = CancelToken()
        asyncio.get_running_loop().call_later(0.05, token.cancel, "enough")
        started = time.monotonic()
        result = await asyncio.wait_for(run(*replies, tools=tools, cancel=token, **options), 10)
        return result, time.monotonic() - started

    return asyncio.run(main())


def test_a_run_cancelled_before_it_starts_calls_no_agent() -> None:
    token = CancelToken()
    token.cancel("no")
    finished = seen(call("echo", text="a"), cancel=token)
    assert finished.result.error == "cancelled: no"
    assert finished.agent.seen == []
    assert finished.bodies("run.cancelled") == [{"reason": "no", "at": "step_boundary"}]


def test_the_switch_ends_a_model_call() -> None:
    finished, took = _cancelled_while(_forever)
    assert took < 5
    assert finished.result.error == "cancelled: enough"
    assert finished.bodies("run.cancelled") == [{"reason": "enough", "at": "model"}]


def test_the_switch_ends_an_approval_wait_and_nothing_runs() -> None:
    finished, took = _cancelled_while(call("restart", targets=["a"]), on_approval=_forever)
    assert took < 5
    assert finished.ran == []
    assert finished.kinds[-3:] == ["approval.requested", "approval.denied", "run.cancelled"]
    assert finished.bodies("run.cancelled") == [{"reason": "enough", "at": "approval", "seq": 0}]


def test_the_switch_ends_a_tool_and_says_that_it_may_have_taken_effect() -> None:
    finished, took = _cancelled_while(call("slow"), tools=Tools(during=_forever))
    assert took < 5
    assert finished.result.error == "cancelled: enough"
    assert finished.bodies("action.failed") == [{"seq": 0, "reason": "cancelled: enough; it may have taken effect"}]
    assert finished.bodies("run.cancelled") == [{"reason": "enough", "at": "execute", "seq": 0}]


def test_a_tool_that_swallows_its_cancellation_has_happened_and_is_recorded_as_such() -> None:
    finished, _ = _cancelled_while(call("slow"), tools=Tools(during=_stubborn))
    assert finished.bodies("action.completed")
    assert finished.result.error == "cancelled: enough"
    assert finished.bodies("run.cancelled")[0]["at"] == "step_boundary"


def test_a_grant_that_comes_after_the_switch_was_thrown_grants_nothing() -> None:
    token = CancelToken()

    async def late(_: object) -> ApprovalDecision:
        token.cancel("changed my mind")
        return ApprovalDecision(True, "alice")

    finished = seen(call("deploy", version="1"), on_approval=late, cancel=token)
    assert finished.ran == []
    assert finished.result.error == "cancelled: changed my mind"


def test_a_handler_that_swallows_the_cancellation_and_grants_grants_nothing() -> None:
    async def handler(_: object) -> ApprovalDecision:
        await _stubborn()
        return ApprovalDecision(True, "alice")

    finished, _ = _cancelled_while(call("restart", targets=[]), on_approval=handler)
    assert finished.ran == []
    assert finished.result.error == "cancelled: enough"


def test_a_switch_thrown_by_the_tool_itself_stops_before_the_next_step() -> None:
    token = CancelToken()

    async def throw() -> None:
        token.cancel("from inside")

    finished = seen(call("slow"), call("echo", text="a"), tools=Tools(during=throw), cancel=token)
    assert [name for name, _ in finished.ran] == ["slow"]
    assert finished.bodies("action.completed")
    assert finished.result.error == "cancelled: from inside"


def test_the_switch_works_from_another_thread() -> None:
    async def main() -> Seen:
        token = CancelToken()
        threading.Timer(0.05, token.cancel, ("thread",)).start()
        return await asyncio.wait_for(run(_forever, cancel=token), 10)

    assert asyncio.run(main()).result.error == "cancelled: thread"


def test_a_foreign_switch_without_a_reason_is_polled() -> None:
    async def main() -> Seen:
        flag = Flag()
        asyncio.get_running_loop().call_later(0.05, setattr, flag, "cancelled", True)
        return await asyncio.wait_for(run(_forever, cancel=flag), 10)

    assert asyncio.run(main()).result.error == "cancelled: cancelled by caller"


class Broken:
    """A switch whose wire is cut."""

    reason = ""

    @property
    def cancelled(self) -> bool:
        raise ConnectionError("gone")


def test_a_switch_that_cannot_be_read_stops_the_run() -> None:
    assert seen(call("echo", text="a"), cancel=Broken()).result.error == (
        "cancelled: the kill switch cannot be read: ConnectionError"
    )


@pytest.mark.parametrize(
    ("replies", "options", "last"),
    [
        ((_forever,), {}, "run.failed"),
        ((call("restart", targets=[]),), {"on_approval": _forever}, "run.failed"),
        ((call("slow"),), {"tools": Tools(during=_forever)}, "run.failed"),
    ],
    ids=["model", "approval", "tool"],
)
def test_the_duration_ends_whatever_is_still_going(
    replies: tuple[Any, ...], options: dict[str, Any], last: str
) -> None:
    finished = seen(*replies, budget=Budget(duration_seconds=0.1), **options)
    assert finished.result.error == "duration budget exhausted (0.1s)"
    assert finished.kinds[-1] == last
    assert finished.bodies("run.failed") == [{"reason": "duration budget exhausted"}]


def test_the_step_timeout_ends_a_model_call() -> None:
    finished = seen(_forever, budget=Budget(step_timeout_seconds=0.05))
    assert finished.result.error == "agent.step timed out after 0.05s"


def test_a_step_without_time_left_calls_no_agent() -> None:
    finished = seen(call("echo", text="a"), budget=Budget(step_timeout_seconds=0))
    assert finished.result.error == "agent.step timed out after 0s"
    assert finished.agent.seen == []


def test_a_switch_has_no_waker_once_the_run_is_over() -> None:
    class Switch(CancelToken):
        wakers = 0

        def subscribe(self, waker: Any) -> Any:
            self.wakers += 1
            undo = super().subscribe(waker)

            def unsubscribe() -> None:
                self.wakers -= 1
                undo()

            return unsubscribe

    switch, during = Switch(), []

    async def look() -> None:
        during.append(switch.wakers)

    seen(call("slow"), tools=Tools(during=look), cancel=switch)
    assert (during, switch.wakers) == ([1], 0)


def test_cancelling_the_caller_wins_over_a_switch_that_is_thrown_at_the_same_moment() -> None:
    async def main() -> None:
        token = CancelToken()

        async def both() -> None:
            loop = asyncio.get_running_loop()
            loop.call_soon(token.cancel, "enough")
            loop.call_soon(loop.call_soon, task.cancel)
            await asyncio.sleep(60)

        task = asyncio.create_task(run(call("slow"), tools=Tools(during=both), cancel=token))
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 10)

    asyncio.run(main())


def test_a_timeout_of_the_agents_own_is_an_agent_that_raised() -> None:
    async def times_out(_: object) -> None:
        raise TimeoutError("provider")

    assert seen(times_out).result.error == "agent.step raised: TimeoutError: provider"


@pytest.mark.parametrize("where", ["model", "approval", "tool", "sink", "store"])
def test_cancelling_the_callers_task_goes_through_at_every_await(where: str) -> None:
    reached = asyncio.Event()

    async def hang(*_: object) -> Any:
        reached.set()
        await asyncio.sleep(60)

    class HangingStore(MemoryStore):
        async def append(self, record: object) -> None:
            await hang()

    options: dict[str, Any] = {
        "model": {},
        "approval": {"on_approval": hang},
        "tool": {"tools": Tools(during=lambda: hang())},
        "sink": {"sinks": [hang]},
        "store": {"store": HangingStore(), "run_id": "r"},
    }[where]
    replies = {"model": hang, "approval": call("restart", targets=[]), "tool": call("slow")}.get(
        where, FinalAnswer("x")
    )

    async def main() -> None:
        task = asyncio.create_task(run(replies, **options))
        await asyncio.wait_for(reached.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
        assert task.cancelled()

    asyncio.run(main())


@pytest.mark.parametrize("options", [{}, {"store": MemoryStore, "run_id": "r"}, {"sinks": [noop_sink()]}])
@pytest.mark.parametrize("watched", [False, True])
def test_a_cancellation_arrives_where_nothing_is_ever_waited_for(options: dict[str, Any], watched: bool) -> None:
    """As that of Ctrl-C does, in a run whose parts all answer at once."""

    def cancel(_: object) -> object:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return call("echo", text="late")

    tools = Tools()
    options = {name: value() if value is MemoryStore else value for name, value in options.items()}

    async def main() -> None:
        toolset, policy = tools.toolset(), compile_policy(POLICY)
        agent = Scripted(call("echo", text="first"), cancel, call("echo", text="later"))
        given = {"sinks": [noop_sink()], **options} if watched else options
        task = asyncio.create_task(run_agent(agent, "task", tools=toolset, policy=policy, **given))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    assert [args["text"] for _, args in tools.ran] == ["first"]


def test_the_end_of_a_run_does_not_eat_a_cancellation() -> None:
    async def main() -> None:
        def last(event: AuditEvent) -> None:
            if event.kind == "run.succeeded":
                task.cancel()

        async def sink(event: AuditEvent) -> None:
            last(event)

        task = asyncio.create_task(run(FinalAnswer("x"), sinks=[sink], store=MemoryStore(), run_id="r"))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_run_inside_a_tool_ends_with_the_run_around_it() -> None:
    inner: list[str] = []

    async def nested() -> None:
        try:
            await run(_forever)
        finally:
            inner.append("ended")

    finished, took = _cancelled_while(call("slow"), tools=Tools(during=nested))
    assert took < 5
    assert inner == ["ended"]
    assert finished.result.error == "cancelled: enough"


def test_the_task_is_not_left_cancelled_after_an_interrupted_run() -> None:
    async def main() -> int:
        token = CancelToken()
        asyncio.get_running_loop().call_later(0.02, token.cancel)
        await run(_forever, cancel=token)
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    assert asyncio.run(main()) == 0
