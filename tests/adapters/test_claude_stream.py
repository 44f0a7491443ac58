"""`ClaudeAgent.stream` with Anthropic's own client, on streams that are slow, split, cut off or faulty."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from adapters.governed import POLICY, TOOLS, ran
from adapters.stream_server import CUT, Part, Streams, event, streaming
from adapters.test_model_options import REPLIES, THOUGHT, _claude, _text, _use
from adapters.vendor_server import message_events, serving
from bobcat import MemoryStore, Message, RunResult, run_agent
from bobcat.adapters.anthropic_sdk import ClaudeAgent
from bobcat.model.deltas import CallDelta, DeltaEvent, ReplyEnd, TextDelta, ThinkingDelta

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
DONE = message_events(_claude(_text("done")))


def _events(message: dict[str, Any]) -> list[bytes]:
    return [part + b"\n\n" for part in message_events(message).split(b"\n\n") if part]


def _run(*scripts: list[Part], **options: Any) -> tuple[RunResult, list[DeltaEvent], Streams]:
    """A run whose replies are streamed, and its deltas. `ran` has the calls that were executed."""
    ran.clear()
    deltas: list[DeltaEvent] = []

    async def go() -> RunResult:
        async with AsyncAnthropic(base_url=streams.url, api_key="test", max_retries=0) as client:
            agent = ClaudeAgent(tools=TOOLS, client=client, max_tokens=64_000)
            arguments = {"on_delta": deltas.append, **options}
            return await run_agent(agent, "tidy up", tools=TOOLS, policy=POLICY, **arguments)

    with streaming(*scripts) as streams:
        return asyncio.run(go()), deltas, streams


async def _both(url: str) -> tuple[Any, Any]:
    conversation = (Message("user", "go"),)
    async with AsyncAnthropic(base_url=url, api_key="test", max_retries=0) as client:
        agent = ClaudeAgent(tools=TOOLS, client=client, max_tokens=1000)
        whole = await agent.step(conversation)
        return whole, [item async for item in agent.stream(conversation)]


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("stop", ["tool_use", "max_tokens"])
def test_a_streamed_reply_equals_the_one_that_came_whole(name: str, stop: str) -> None:
    reply = _claude(*REPLIES[name], stop=stop)
    with serving(reply, reply) as vendor:
        whole, items = asyncio.run(_both(vendor.url))
    assert items[-1] == whole
    assert [request.get("stream", False) for request in vendor.requests] == [False, True]
    assert all(isinstance(item, (TextDelta, ThinkingDelta, CallDelta)) for item in items[:-1])


def test_deltas_have_the_order_of_the_reply_and_add_up_to_it() -> None:
    reply = _claude(THOUGHT, _text("I will."), _use("notes_write", path="a", text="x"), stop="tool_use")
    result, deltas, _ = _run([message_events(reply)], [DONE])
    assert result.final_answer == "done"
    assert deltas == [
        ThinkingDelta("I should read it."),
        TextDelta("I w"), TextDelta("ill."),
        CallDelta("toolu_1", "notes.write", ""), CallDelta("toolu_1", "notes.write", '{"path": "a", "text": "x"}'),
        ReplyEnd(True),
        TextDelta("don"), TextDelta("e"),
        ReplyEnd(True),
    ]  # fmt: skip


def test_a_delta_arrives_before_the_rest_of_the_reply_is_sent() -> None:
    shown = threading.Event()
    events = _events(_claude(_text("Hello world")))
    middle = next(at for at, part in enumerate(events) if b"text_delta" in part) + 1
    script: list[Part] = [*events[:middle], lambda: shown.wait(10) or pytest.fail("no delta"), *events[middle:]]

    def reader(delta: DeltaEvent) -> None:
        if delta == TextDelta("Hel"):
            shown.set()

    result, _, _ = _run(script, on_delta=reader)
    assert result.final_answer == "Hello world"
    assert shown.is_set()


def test_pings_and_bytes_that_split_a_character_change_nothing() -> None:
    text = "Grüße 🐈 — ça va"
    reply = _claude(_text(text), _use("read", path="ü🐈"), stop="tool_use")
    parts = [json.loads(part.split(b"data: ")[1]) for part in _events(reply)]
    raw = b"".join(PING + event(part, named=True) for part in parts)
    assert "🐈".encode() in raw
    result, deltas, _ = _run([raw[at : at + 1] for at in range(len(raw))], [DONE])
    assert result.final_answer == "done"
    assert ran == [("read", "ü🐈")]
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == text + "done"


def test_every_place_where_a_stream_is_cut_off_is_a_coded_failure() -> None:
    events = _events(_claude(_text("I will."), _use("read", path="a/b"), stop="tool_use"))
    for kept in range(len(events) - 2):  # without the event that has the stop reason
        for cut in ([CUT], []):
            result, deltas, _ = _run([*events[:kept], *cut])
            assert (result.status, result.code) == ("failed", "reply_cut_off"), (kept, cut)
            assert deltas[-1] == ReplyEnd(False)
            assert ran == []


def test_arguments_that_end_early_do_not_run_though_the_reply_claims_to_be_complete() -> None:
    events = _events(_claude(_use("read", path="/data/old"), stop="tool_use"))
    at = next(at for at, part in enumerate(events) if b"input_json_delta" in part)
    delta = {"type": "input_json_delta", "partial_json": '{"path": "/data'}
    events[at] = event({"type": "content_block_delta", "index": 0, "delta": delta}, named=True)
    result, _, streams = _run([*events], [DONE])
    assert result.final_answer == "done"
    assert ran == []
    answer = streams.requests[1]["messages"][2]["content"][0]
    assert answer["is_error"]
    assert "arguments are not JSON" in answer["content"]


def test_an_overload_amid_the_stream_fails_the_run() -> None:
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    result, deltas, _ = _run([*_events(_claude(_text("Hello")))[:3], event(busy, named=True)])
    assert (result.status, result.code) == ("failed", "agent_failed")
    assert "verloaded" in (result.error or "")
    assert deltas == [TextDelta("Hel"), ReplyEnd(False)]


@pytest.mark.parametrize(
    ("stop", "code"), [("refusal", "reply_refused"), ("max_tokens", "reply_cut_off"), ("pause_turn", "reply_cut_off")]
)
def test_a_refused_or_cut_answer_has_its_code(stop: str, code: str) -> None:
    result, deltas, _ = _run([message_events(_claude(_text("No"), stop=stop))])
    assert (result.final_answer, result.code) == (None, code)
    assert deltas[-1] == ReplyEnd(False)


def test_a_tool_that_the_provider_ran_has_its_code() -> None:
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    result, _, _ = _run([message_events(_claude(block, _use("read", path="a"), stop="tool_use"))])
    assert (result.code, ran) == ("unmediated_tool", [])


def test_a_reader_that_never_returns_delays_the_run_by_its_grace_only() -> None:
    async def stuck(_: DeltaEvent) -> None:
        await asyncio.sleep(60)

    started = time.monotonic()
    result, _, _ = _run([DONE], on_delta=stuck)
    assert result.final_answer == "done"
    assert time.monotonic() - started < 8


def test_the_journal_of_a_streamed_run_is_that_of_another_one() -> None:
    reply = _claude(THOUGHT, _text("so"), _use("read", path="a"), stop="tool_use")

    def bodies(**options: Any) -> list[Any]:
        store = MemoryStore()
        _run([message_events(reply)], [DONE], store=store, run_id="r", **options)
        return [(record.kind, _stable(record.body)) for record in asyncio.run(store.load("r"))]

    assert bodies() == bodies(on_delta=None)


def _stable(body: Any) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "duration_ms"}


def test_an_agent_with_a_substitute_for_a_client_shows_its_text_at_once() -> None:
    class Block:
        type = "text"
        text = "from a stand-in"

    class Messages:
        async def create(self, **_: Any) -> Any:
            return type("Response", (), {"content": (Block(),)})()

    agent = ClaudeAgent(tools=TOOLS, client=type("Client", (), {"messages": Messages()})())
    deltas: list[DeltaEvent] = []
    result = asyncio.run(run_agent(agent, "go", tools=TOOLS, policy=POLICY, on_delta=deltas.append))
    assert result.final_answer == "from a stand-in"
    assert deltas == [TextDelta("from a stand-in"), ReplyEnd(True)]
