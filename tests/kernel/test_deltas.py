"""Deltas of replies: they reach `on_delta` early and in order, and change nothing of the run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import (
    Budget,
    CancelToken,
    FinalAnswer,
    MemoryStore,
    RunResult,
    ToolCall,
    ToolSet,
    compile_policy,
    run_agent,
    tool,
)
from bobcat.model.deltas import CallDelta, DeltaEvent, DeltasLost, ReplyEnd, TextDelta, ThinkingDelta
from bobcat.runtime.deltas import DRAIN_SECONDS, MAX_SEPARATE, MAX_WAITING_CHARACTERS

POLICY = compile_policy("rules: [{id: all, match: {}, decision: allow}]")


@tool()
async def echo(text: str) -> str:
    """Repeat a text."""
    return text


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TOOLS = ToolSet.from_functions(echo)
CALL = ToolCall("echo", {"text": "x"}, "c1")


class Streaming:
    """Streams its scripts, one per step: deltas and a reply; an exception is raised. `closed` counts their ends."""

    def __init__(self, *scripts: list[Any]) -> None:
        self.scripts = list(scripts)
        self.closed = 0

    async def step(self, conversation: Any) -> Any:
        return self.scripts.pop(0)[-1]

    async def stream(self, conversation: Any) -> AsyncIterator[Any]:
        try:
            for item in self.scripts.pop(0):
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, float):
                    await asyncio.sleep(item)
                    continue
                yield item
        finally:
            self.closed += 1


def _run(agent: Any, **options: Any) -> tuple[RunResult, list[DeltaEvent]]:
    seen: list[DeltaEvent] = []
    arguments = {"on_delta": seen.append, **options}
    return asyncio.run(run_agent(agent, "go", tools=TOOLS, policy=POLICY, **arguments)), seen


def test_deltas_arrive_in_order_with_the_end_of_each_reply() -> None:
    agent = Streaming(
        [ThinkingDelta("hm"), TextDelta("I "), TextDelta("see"), CALL], [TextDelta("do"), FinalAnswer("done")]
    )
    result, seen = _run(agent)
    assert (result.final_answer, result.steps_taken, agent.closed) == ("done", 1, 2)
    assert seen == [
        ThinkingDelta("hm"), TextDelta("I "), TextDelta("see"), ReplyEnd(True), TextDelta("do"), ReplyEnd(True),
    ]  # fmt: skip


def test_without_a_reader_the_agent_is_not_asked_to_stream() -> None:
    agent = Streaming([TextDelta("I "), CALL], [FinalAnswer("done")])
    assert _run(agent, on_delta=None)[0].final_answer == "done"
    assert agent.closed == 0


def test_the_text_of_an_agent_without_stream_is_one_delta() -> None:
    class Plain:
        replies: tuple[Any, ...] = (ToolCall("echo", {"text": "x"}, text="let me see"), CALL, FinalAnswer("done"))

        async def step(self, conversation: Any) -> Any:
            reply, *rest = self.replies
            self.replies = tuple(rest)
            return reply

    _, seen = _run(Plain())
    assert seen == [TextDelta("let me see"), ReplyEnd(True), ReplyEnd(True), TextDelta("done"), ReplyEnd(True)]


def test_a_streamed_run_leaves_the_journal_and_the_events_of_another() -> None:
    def trace(on_delta: Any) -> tuple[list[Any], list[Any]]:
        store, events = MemoryStore(), []

        async def sink(event: Any) -> None:
            events.append((event.kind, _stable(event.body)))

        agent = Streaming([TextDelta("so"), CALL], [TextDelta("done"), FinalAnswer("done")])
        _run(agent, store=store, run_id="r", sinks=[sink], on_delta=on_delta, clock=lambda: NOON)
        records = asyncio.run(store.load("r"))
        return [(record.kind, _stable(record.body)) for record in records], events

    assert trace(lambda _: None) == trace(None)


def _stable(body: Any) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "duration_ms"}


def test_a_resumed_run_repeats_no_deltas_of_recorded_replies() -> None:
    store = MemoryStore()
    journal = {"store": store, "run_id": "r"}
    first, _ = _run(Streaming([TextDelta("one"), CALL], [TextDelta("two"), ValueError("down")]), **journal)
    assert first.code == "agent_failed"
    second, seen = _run(Streaming([TextDelta("three"), FinalAnswer("done")]), **journal)
    assert second.final_answer == "done"
    assert seen == [TextDelta("three"), ReplyEnd(True)]


@pytest.mark.parametrize(
    ("script", "code", "error"),
    [
        ([TextDelta("x"), ValueError("down")], "agent_failed", "agent.step raised: ValueError: down"),
        ([TextDelta("x")], "reply_cut_off", "agent.step raised: IncompleteReply: agent.stream ended without a reply"),
        ([TextDelta("x"), "text"], "invalid_reply", "str"),
    ],
)
def test_a_stream_without_a_valid_reply_fails_the_run(script: list[Any], code: str, error: str) -> None:
    result, seen = _run(Streaming(script))
    assert (result.status, result.code) == ("failed", code)
    assert error in (result.error or "")
    assert seen[0] == TextDelta("x")


def test_a_stream_that_is_not_a_generator_is_explained() -> None:
    class Wrong(Streaming):
        async def stream(self, conversation: Any) -> Any:  # type: ignore[override]
            return FinalAnswer("done")

    result, seen = _run(Wrong())
    assert "agent.stream must be an async generator: `async def` with `yield`" in (result.error or "")
    assert seen == [ReplyEnd(False)]


@pytest.mark.parametrize("kind", ["switch", "timeout", "deadline"])
def test_a_run_that_is_stopped_amid_a_stream_closes_it(kind: str) -> None:
    token = CancelToken()
    limits = {"timeout": Budget(step_timeout_seconds=0.05), "deadline": Budget(duration_seconds=0.05)}
    agent = Streaming([TextDelta("x"), 30.0, FinalAnswer("late")])
    seen: list[DeltaEvent] = []

    def reader(event: DeltaEvent) -> None:
        seen.append(event)
        if kind == "switch":
            token.cancel("enough")

    started = time.monotonic()
    result, _ = _run(agent, on_delta=reader, cancel=token, budget=limits.get(kind, Budget()))
    assert result.final_answer is None
    assert time.monotonic() - started < 10
    assert (agent.closed, seen) == (1, [TextDelta("x"), ReplyEnd(False)])


def test_a_cancelled_task_leaves_no_reader_behind() -> None:
    async def go() -> int:
        agent = Streaming([TextDelta("x"), 30.0, FinalAnswer("late")])
        work = asyncio.create_task(
            run_agent(agent, "go", tools=TOOLS, policy=POLICY, on_delta=lambda _: work.cancel() and None)
        )
        with pytest.raises(asyncio.CancelledError):
            await work
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(go()) == 1


def test_a_slow_reader_delays_no_step_and_loses_no_text() -> None:
    words = [TextDelta(f"{number} ") for number in range(5 * MAX_SEPARATE)]
    seen: list[DeltaEvent] = []
    done: list[float] = []

    async def slow(event: DeltaEvent) -> None:
        seen.append(event)
        await asyncio.sleep(0.001)

    @tool(name="echo")
    async def mark(text: str) -> str:
        done.append(time.monotonic())
        return text

    started = time.monotonic()
    agent = Streaming([*words, 0.0, CALL], [FinalAnswer("done")])
    result = asyncio.run(
        run_agent(agent, "go", tools=ToolSet.from_functions(mark), policy=POLICY, on_delta=slow)
    )  # fmt: skip
    assert result.final_answer == "done"
    assert done[0] - started < MAX_SEPARATE * 0.001  # before the reader can have got what waited
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)).startswith("0 1 2 ")
    assert [event for event in seen if not isinstance(event, TextDelta)] == [ReplyEnd(True), ReplyEnd(True)]
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == (
        "".join(word.text for word in words) + "done"
    )
    assert len(seen) <= MAX_SEPARATE + 4


def test_what_a_stuck_reader_leaves_waiting_is_bounded_and_its_loss_is_counted() -> None:
    chunk = "x" * 50_000
    seen: list[DeltaEvent] = []

    async def go() -> RunResult:
        free = asyncio.Event()

        async def stuck(event: DeltaEvent) -> None:
            seen.append(event)
            if isinstance(event, ThinkingDelta):
                await free.wait()

        class Freeing(Streaming):
            async def stream(self, conversation: Any) -> AsyncIterator[Any]:
                async for item in super().stream(conversation):
                    if isinstance(item, FinalAnswer):
                        free.set()
                    yield item

        agent = Freeing([ThinkingDelta("hm"), 0.0, *[TextDelta(chunk)] * 40, FinalAnswer("done")])
        return await run_agent(agent, "go", tools=TOOLS, policy=POLICY, on_delta=stuck)

    assert asyncio.run(go()).final_answer == "done"
    shown = sum(len(event.text) for event in seen if isinstance(event, TextDelta))
    lost = [event for event in seen if isinstance(event, DeltasLost)]
    assert shown <= MAX_WAITING_CHARACTERS
    assert shown > MAX_WAITING_CHARACTERS - 2 * len(chunk)
    assert [event.characters for event in lost] == [40 * len(chunk) - shown]
    assert seen[-2:] == [lost[0], ReplyEnd(True)] or seen[-1] == lost[0]


def test_a_reader_that_fails_gets_nothing_more_and_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[DeltaEvent] = []

    def broken(event: DeltaEvent) -> None:
        calls.append(event)
        raise ValueError("closed")

    result, _ = _run(Streaming([TextDelta("a"), 0.0, TextDelta("b"), FinalAnswer("done")]), on_delta=broken)
    assert result.final_answer == "done"
    assert calls == [TextDelta("a")]
    assert "on_delta failed; it receives no further deltas" in caplog.text


def test_a_reader_that_never_returns_gets_a_second_at_the_end() -> None:
    async def stuck(_: DeltaEvent) -> None:
        await asyncio.sleep(60)

    started = time.monotonic()
    result, _ = _run(Streaming([TextDelta("a"), FinalAnswer("done")]), on_delta=stuck)
    assert result.final_answer == "done"
    assert time.monotonic() - started < DRAIN_SECONDS + 5


@pytest.mark.parametrize("reader", [3, "print", ReplyEnd])
def test_a_reader_must_be_callable(reader: Any) -> None:
    with pytest.raises(TypeError, match="on_delta must be"):
        _run(Streaming(), on_delta=reader)


def test_parts_of_different_calls_are_never_merged() -> None:
    parts = [CallDelta("ab"[number % 2], "echo", str(number % 10)) for number in range(4 * MAX_SEPARATE)]
    seen: list[DeltaEvent] = []

    async def slow(event: DeltaEvent) -> None:
        seen.append(event)
        await asyncio.sleep(0)

    asyncio.run(
        run_agent(Streaming([*parts, FinalAnswer("x")]), "go", tools=TOOLS, policy=POLICY, on_delta=slow)
    )  # fmt: skip
    calls = [event for event in seen if isinstance(event, CallDelta)]
    for call_id in "ab":
        sent = "".join(part.text for part in parts if part.call_id == call_id)
        assert "".join(part.text for part in calls if part.call_id == call_id) == sent
