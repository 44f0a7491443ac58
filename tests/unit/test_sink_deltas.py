"""Sinks that take deltas get them in order, slow ones lose no audit event, and the run does not wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

import bobcat
from bobcat import AuditEvent, FinalAnswer, MemoryStore, Message, ToolCall, ToolSet, multi_sink, run_agent, tool
from bobcat.model.deltas import CallDelta, Delta, TextDelta
from bobcat.threads import Thread

POLICY = bobcat.compile_policy("rules: [{id: echo, match: {tool: echo}, decision: allow}]")


@tool(effect="none")
async def echo(text: str) -> str:
    """Echo."""
    return text


TOOLS = ToolSet.from_functions(echo)


class Talker:
    """Calls `echo`, then answers; `parts` deltas of text come before each reply."""

    def __init__(self, parts: int = 2) -> None:
        self.parts = parts

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        if conversation[-1].role == "user":
            return ToolCall("echo", {"text": "hi"}, f"c{len(conversation)}")
        return FinalAnswer("x" * self.parts)

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Delta | ToolCall | FinalAnswer]:
        reply = await self.step(conversation)
        for _ in range(self.parts):
            yield TextDelta("x")
            await asyncio.sleep(0)
        if isinstance(reply, ToolCall):
            yield CallDelta(reply.call_id, reply.tool, '{"text": "hi"}')
        yield reply


class Taking:
    """Keeps its events; takes `seconds` for each delta."""

    deltas = True

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.events: list[AuditEvent] = []
        self.inside = 0

    async def __call__(self, event: AuditEvent) -> None:
        assert self.inside == 0
        self.inside += 1
        await asyncio.sleep(self.seconds if event.kind == "model.delta" else 0)
        self.events.append(event)
        self.inside -= 1

    def audit(self) -> list[AuditEvent]:
        return [event for event in self.events if event.kind != "model.delta"]

    def deltas_of(self, kind: str) -> list[Any]:
        return [each.body for each in self.events if each.kind == "model.delta" and each.body["type"] == kind]


class Plain(Taking):
    deltas = False


def test_deltas_come_between_the_events_of_their_step() -> None:
    taking, plain = Taking(), Plain()
    result = asyncio.run(run_agent(Talker(), "go", tools=TOOLS, policy=POLICY, sinks=[multi_sink(taking, plain)]))
    assert result.status == "succeeded"
    assert result.audit_gaps == ()
    assert taking.audit() == plain.events
    assert [event.seq for event in plain.events] == list(range(len(plain.events)))
    kinds = [event.body["type"] if event.kind == "model.delta" else event.kind for event in taking.events]
    assert kinds[:6] == ["run.started", "text", "text", "call", "end", "step.proposed"]
    assert kinds[-4:] == ["text", "text", "end", "run.succeeded"]
    for event, following in zip(taking.events, taking.events[1:], strict=False):
        if event.kind == "model.delta":
            assert event.seq == following.seq


def test_a_slow_sink_gets_every_audit_event_and_few_deltas() -> None:
    slow, plain = Taking(0.02), Plain()
    result = asyncio.run(run_agent(Talker(5000), "go", tools=TOOLS, policy=POLICY, sinks=[slow, plain]))
    assert result.status == "succeeded"
    assert result.audit_gaps == ()
    assert slow.audit() == plain.events
    assert len(slow.events) < 600


def test_deltas_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.sinks.delta_events.MAX_CHARACTERS", 1000)
    slow = Taking(0.01)
    asyncio.run(run_agent(Talker(200), "go", tools=TOOLS, policy=POLICY, sinks=[slow]))
    shown = sum(len(body["text"]) for body in slow.deltas_of("text"))
    lost = sum(body["characters"] for body in slow.deltas_of("lost"))
    assert lost > 0
    assert shown + lost == 400 + len('{"text": "hi"}')


def test_a_sink_that_fails_on_a_delta_keeps_its_audit_events(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing(Taking):
        async def __call__(self, event: AuditEvent) -> None:
            if event.kind == "model.delta":
                raise RuntimeError("no")
            await super().__call__(event)

    failing, plain = Failing(), Plain()
    result = asyncio.run(run_agent(Talker(), "go", tools=TOOLS, policy=POLICY, sinks=[failing, plain]))
    assert failing.audit() == plain.events
    assert result.audit_gaps == ()
    assert "model.delta" in capsys.readouterr().err


def test_a_required_sink_takes_no_deltas() -> None:
    sink = Taking()
    sink.required = True  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="takes no deltas"):
        asyncio.run(run_agent(Talker(), "go", tools=TOOLS, policy=POLICY, sinks=[sink]))


def test_a_thread_delivers_deltas_and_journals_them() -> None:
    async def main(sink: Taking) -> list[Any]:
        async with Thread(MemoryStore(), "t", agent=Talker(), tools=TOOLS, policy=POLICY, sinks=[sink]) as thread:
            return [event async for event in thread.send("go")]

    taking, plain = Taking(), Plain()
    with_deltas, without = asyncio.run(main(taking)), asyncio.run(main(plain))
    assert [type(event) for event in with_deltas] == [type(event) for event in without]
    assert [body["text"] for body in taking.deltas_of("text")] == ["x"] * 4
    assert [body["complete"] for body in taking.deltas_of("end")] == [True, True]
    assert [event.kind for event in taking.audit()] == [event.kind for event in plain.events]
