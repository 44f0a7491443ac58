"""The kill switch, budgets and liveness: rows U-47 to U-54. A bobcat run does none of it."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import msgspec
import pytest

from bobcat import (
    ApprovalDecision,
    ApprovalRequest,
    AuditEvent,
    Budget,
    CancelToken,
    FinalAnswer,
    MemoryStore,
    StepRecord,
    ToolCall,
    Usage,
)
from bobcat.runtime.compat import DEFAULTS, CompatOptions
from kernel.scripted import Tools, call, seen


# lynx-agent defect 47
def test_a_grant_after_the_kill_switch_was_thrown_runs_nothing() -> None:
    switch = CancelToken()

    async def handler(request: ApprovalRequest) -> ApprovalDecision:
        switch.cancel("stop")
        return ApprovalDecision(True, "alice")

    run = seen(call("deploy", version="1"), on_approval=handler, cancel=switch)
    assert run.ran == []
    assert run.result.error == "cancelled: stop"
    assert run.kinds[-1] == "run.cancelled"


# lynx-agent defect 48
def test_the_kill_switch_ends_an_approval_wait() -> None:
    switch = CancelToken()

    async def never(request: ApprovalRequest) -> ApprovalDecision:
        switch.cancel("stop")
        await asyncio.sleep(60)
        raise AssertionError

    started = time.monotonic()
    run = seen(call("deploy", version="1"), on_approval=never, cancel=switch)
    assert run.bodies("run.cancelled") == [{"reason": "stop", "at": "approval", "seq": 0}]
    assert time.monotonic() - started < 5


# lynx-agent defect 48
def test_the_kill_switch_ends_a_tool() -> None:
    switch = CancelToken()

    async def during() -> None:
        switch.cancel("stop")
        await asyncio.sleep(60)

    run = seen(call("slow"), tools=Tools(during=during), cancel=switch)
    assert run.bodies("run.cancelled") == [{"reason": "stop", "at": "execute", "seq": 0}]


# lynx-agent defect 49
def test_a_run_that_is_stopped_before_an_action_leaves_no_intent() -> None:
    store, switch = MemoryStore(), CancelToken()

    async def sink(event: AuditEvent) -> None:
        if event.kind == "policy.evaluated":
            switch.cancel("stop")

    run = seen(call("echo", text="a"), store=store, run_id="r", cancel=switch, sinks=[sink])
    assert run.bodies("run.cancelled")[0]["at"] == "pre_execute"
    kinds = [record.kind for record in asyncio.run(store.load("r"))]
    assert kinds == ["run.started", "model.output", "run.cancelled"]
    again = seen(store=store, run_id="r")
    assert "action.uncertain" not in again.kinds
    assert again.ran == [("echo", {"text": "a", "times": 1})]


# lynx-agent defect 50
def test_a_tool_that_hangs_ends_with_the_duration_of_the_run() -> None:
    async def forever() -> None:
        await asyncio.sleep(60)

    run = seen(call("slow"), tools=Tools(during=forever), budget=Budget(duration_seconds=0.1))
    assert run.result.error == "duration budget exhausted (0.1s)"


# lynx-agent defect 50
def test_a_store_that_hangs_fails_the_run() -> None:
    class Hangs(MemoryStore):
        async def append(self, record: StepRecord) -> None:
            await asyncio.sleep(60)

    run = seen(call("echo", text="a"), store=Hangs(), run_id="r", compat=hasty(0.1))
    assert run.result.error is not None
    assert run.result.error.startswith("store.append failed: ")
    assert run.ran == []


def hasty(seconds: float) -> CompatOptions:
    """The default options with bounds that a test can wait for."""
    return msgspec.structs.replace(DEFAULTS, store_timeout_seconds=seconds, sink_timeout_seconds=seconds)


# lynx-agent defect 50
def test_a_sink_that_hangs_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    calls = 0

    async def hangs(event: AuditEvent) -> None:
        nonlocal calls
        calls += 1
        await asyncio.sleep(60)

    run = seen(call("echo", text="a"), sinks=[hangs], compat=hasty(0.1))
    assert run.result.final_answer == "done"
    assert calls == 1
    assert "it gets no further events" in capsys.readouterr().err


# lynx-agent defect 51
def test_calls_of_unknown_tools_count_as_repetitions() -> None:
    run = seen(*[call("nothing")] * 9, budget=Budget(max_repeated_calls=2))
    assert run.result.error == "repeated call limit exhausted (2): nothing with identical args"
    assert run.kinds.count("action.failed") == 2


# lynx-agent defect 52
def test_only_calls_in_a_row_are_repetitions() -> None:
    calls = [call("echo", text=text) for text in "abababab"]
    run = seen(*calls, budget=Budget(max_repeated_calls=2))
    assert run.result.final_answer == "done"
    assert len(run.ran) == 8


# lynx-agent defect 52
def test_calls_that_were_refused_are_no_repetitions() -> None:
    run = seen(*[call("echo", text="force")] * 4, budget=Budget(max_repeated_calls=2))
    assert run.result.final_answer == "done"
    assert run.kinds.count("action.denied") == 4


# lynx-agent defect 52
def test_repetitions_are_counted_over_resumes() -> None:
    store = MemoryStore()

    def fails(_: object) -> None:
        raise ConnectionError

    budget = Budget(max_repeated_calls=2)
    seen(call("echo", text="a"), call("echo", text="a"), fails, store=store, run_id="r", budget=budget)
    run = seen(call("echo", text="a"), store=store, run_id="r", budget=budget)
    assert run.result.error == "repeated call limit exhausted (2): echo with identical args"
    assert run.ran == []


@pytest.mark.parametrize("field", ["input_tokens", "tokens"])
# lynx-agent defect 53
def test_cache_tokens_count(field: str) -> None:
    usage = Usage(input_tokens=1, output_tokens=1, cache_read_tokens=60, cache_write_tokens=60)
    run = seen(ToolCall("echo", {"text": "a"}, usage=usage), budget=Budget(**{field: 100}))
    assert run.result.error is not None
    assert "token budget exhausted (100)" in run.result.error


# lynx-agent defect 53
def test_a_cap_that_the_last_step_crosses_fails_the_run() -> None:
    answer = FinalAnswer("done", usage=Usage(input_tokens=10, output_tokens=101))
    run = seen(answer, budget=Budget(output_tokens=100))
    assert run.result.final_answer is None
    assert run.result.error == "output token budget exhausted (100)"
    assert run.kinds[-1] == "run.failed"
    exact = FinalAnswer("done", usage=Usage(input_tokens=10, output_tokens=100))
    assert seen(exact, budget=Budget(output_tokens=100)).result.final_answer == "done"


# lynx-agent defect 53
def test_a_budget_is_bounded_by_default() -> None:
    assert (Budget().steps, Budget().duration_seconds) == (50, 600)
    assert not Budget().is_unbounded()
    assert "run.unbounded" in seen(budget=Budget.unlimited()).kinds
    assert seen(*[call("echo", text=str(n)) for n in range(60)]).result.error == "step budget exhausted (50)"


# lynx-agent defect 54
def test_what_an_agent_is_given_does_not_grow_with_the_conversation() -> None:
    sizes: list[int] = []

    def measure(conversation: Any) -> ToolCall:
        sizes.append(sys.getsizeof(conversation))
        return call("echo", text="a")

    run = seen(*[measure] * 300, budget=Budget(steps=400))
    assert run.result.final_answer == "done"
    assert len(set(sizes)) == 1
    assert sizes[0] < 200
