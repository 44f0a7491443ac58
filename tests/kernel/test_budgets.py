"""Budgets: what ends a run, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat import Budget, FinalAnswer, MemoryStore, ToolCall, Usage
from bobcat.runtime.budget import Meter, duration_stop, exceeded
from kernel.scripted import call, seen


def _spend(**usage: int) -> ToolCall:
    return ToolCall("echo", {"text": "a"}, usage=Usage(**usage))


def test_a_run_ends_when_its_steps_are_used_up() -> None:
    run = seen(*[call("echo", text="a")] * 9, budget=Budget(steps=2))
    assert run.result.error == "step budget exhausted (2)"
    assert run.result.steps_taken == 2
    assert run.bodies("run.failed") == [{"reason": "step budget 2 exhausted"}]


def test_the_steps_of_one_reply_are_counted_one_by_one() -> None:
    run = seen([call("echo", text=str(n)) for n in range(9)], budget=Budget(steps=2))
    assert len(run.ran) == 2
    assert run.result.error == "step budget exhausted (2)"


def test_the_default_budget_is_fifty_steps() -> None:
    run = seen(*[call("echo", text=str(n)) for n in range(60)])
    assert run.result.error == "step budget exhausted (50)"
    assert Budget() == Budget(duration_seconds=600, steps=50)


@pytest.mark.parametrize(
    ("budget", "usage", "error"),
    [
        (Budget(input_tokens=10), {"input_tokens": 10}, "input token budget exhausted (10)"),
        (Budget(input_tokens=9), {"cache_read_tokens": 6, "cache_write_tokens": 4}, "input token budget exhausted (9)"),
        (Budget(output_tokens=10), {"output_tokens": 11}, "output token budget exhausted (10)"),
        (Budget(tokens=10), {"input_tokens": 4, "output_tokens": 6}, "token budget exhausted (10)"),
        (Budget(tokens=10), {"cache_read_tokens": 4, "output_tokens": 6}, "token budget exhausted (10)"),
    ],
)
def test_token_caps_stop_the_next_model_call(budget: Budget, usage: dict[str, int], error: str) -> None:
    run = seen(_spend(**usage), call("echo", text="b"), budget=budget)
    assert run.result.error == error
    assert len(run.agent.seen) == 1


def test_time_is_over_when_it_is_used_up_to_the_end() -> None:
    budget = Budget(duration_seconds=5)
    assert exceeded(budget, steps=0, elapsed=4.999, meter=Meter()) is None
    assert exceeded(budget, steps=0, elapsed=5.0, meter=Meter()) == duration_stop(budget)


def test_usage_is_announced_and_summed() -> None:
    run = seen(ToolCall("echo", {"text": "a"}, usage=Usage(1, 2, 3, 4, "m")), FinalAnswer("x", Usage(input_tokens=10)))
    assert run.bodies("step.usage") == [
        {"seq": 0, "model": "m", "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4,
         "total_input": 1, "total_output": 2},
        {"seq": 1, "model": None, "input_tokens": 10, "output_tokens": None, "cache_read_tokens": None,
         "cache_write_tokens": None, "total_input": 11, "total_output": 2},
    ]  # fmt: skip
    assert run.bodies("run.succeeded") == [{"final_answer": "x", "usage": {"input_tokens": 11, "output_tokens": 2}}]
    assert run.result.usage == Usage(11, 2, 3, 4)


def test_an_unmetered_run_has_no_usage() -> None:
    assert seen(call("echo", text="a")).result.usage is None


def test_the_same_call_over_and_over_ends_the_run() -> None:
    run = seen(*[call("echo", text="a", times=1)] * 5, budget=Budget(max_repeated_calls=2))
    assert len(run.ran) == 2
    assert run.result.error == "repeated call limit exhausted (2): echo with identical args"
    assert run.bodies("run.failed") == [{"reason": run.result.error, "seq": 2}]


def test_calls_of_unknown_tools_count_as_repetitions_too() -> None:
    run = seen(*[call("nope")] * 5, budget=Budget(max_repeated_calls=2))
    assert run.result.error == "repeated call limit exhausted (2): nope with identical args"


def test_repetitions_are_counted_over_resumes() -> None:
    store = MemoryStore()
    first = seen(*[call("echo", text="a")] * 2, lambda _: 1 / 0, store=store, run_id="r")
    assert first.result.error is not None
    budget = Budget(max_repeated_calls=2)
    second = seen(call("echo", text="a"), store=store, run_id="r", budget=budget)
    assert second.result.error == "repeated call limit exhausted (2): echo with identical args"


def test_an_unbounded_run_announces_itself() -> None:
    run = seen(call("echo", text="a"), budget=Budget.unlimited())
    assert run.kinds[:2] == ["run.started", "run.unbounded"]
    assert "run.unbounded" not in seen(budget=Budget(duration_seconds=None, steps=None, output_tokens=5)).kinds


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", "5"),
        ("steps", True),
        ("steps", -1),
        ("steps", 1.5),
        ("duration_seconds", float("nan")),
        ("tokens", -5),
    ],
)
def test_a_budget_that_bounds_nothing_as_written_is_refused(field: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"budget.{field} must"):
        seen(budget=Budget(**{field: value}))


def test_a_budget_of_zero_steps_calls_no_agent() -> None:
    run = seen(call("echo", text="a"), budget=Budget(steps=0))
    assert run.agent.seen == []
