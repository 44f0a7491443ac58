"""`OpenAIAgent.stream` with OpenAI's own client, on streams that are slow, split, cut off or of other servers."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from openai import AsyncOpenAI

from adapters.governed import POLICY, TOOLS, ran
from adapters.stream_server import CUT, Part, Streams, chat_chunks, event, streaming
from adapters.test_openai_agent import _call, _reply
from adapters.vendor_server import serving
from bobcat import Message, RunResult, ToolCall, Usage, run_agent
from bobcat.adapters.openai_sdk import OpenAIAgent
from bobcat.model.deltas import CallDelta, DeltaEvent, ReplyEnd, TextDelta, ThinkingDelta

DONE = chat_chunks(_reply("done"))


def _run(*scripts: list[Part], **options: Any) -> tuple[RunResult, list[DeltaEvent], Streams]:
    """A run whose replies are streamed, and its deltas. `ran` has the calls that were executed."""
    ran.clear()
    deltas: list[DeltaEvent] = []

    async def go() -> RunResult:
        async with AsyncOpenAI(base_url=streams.url, api_key="test", max_retries=0) as client:
            agent = OpenAIAgent(tools=TOOLS, client=client)
            arguments = {"on_delta": deltas.append, **options}
            return await run_agent(agent, "tidy up", tools=TOOLS, policy=POLICY, **arguments)

    with streaming(*scripts) as streams:
        return asyncio.run(go()), deltas, streams


async def _items(url: str, **options: Any) -> list[Any]:
    async with AsyncOpenAI(base_url=url, api_key="test", max_retries=0) as client:
        agent = OpenAIAgent(tools=TOOLS, client=client, **options)
        return [item async for item in agent.stream((Message("user", "go"),))]


async def _whole(url: str, **options: Any) -> Any:
    async with AsyncOpenAI(base_url=url, api_key="test", max_retries=0) as client:
        return await OpenAIAgent(tools=TOOLS, client=client, **options).step((Message("user", "go"),))


CUSTOM = {"id": "call_1", "type": "custom", "custom": {"name": "read", "input": "a"}}
REPLIES = {
    "text": _reply("All tidy."),
    "silence": _reply(None),
    "a refusal in words": _reply(None, refusal="I would rather not."),
    "a call": _reply(None, _call("notes_write", '{"path": "a", "text": "ü🐈"}'), finish="tool_calls"),
    "text and calls": _reply("so", _call("read", '{"path": "a"}', "a"), _call("read", "", "b"), finish="tool_calls"),
    "a call that is cut off": _reply(None, _call("read", '{"path": "a"}'), _call("read", '{"pa', "b"), finish="length"),
    "arguments that are not JSON": _reply(None, _call("read", '{"path": '), finish="tool_calls"),
    "another kind of call": _reply(None, CUSTOM, finish="tool_calls"),
    "no usage": _reply("x", usage=None),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_streamed_reply_equals_the_one_that_came_whole(name: str) -> None:
    with serving(REPLIES[name]) as vendor:
        whole = asyncio.run(_whole(vendor.url))
    with streaming(chat_chunks(REPLIES[name])) as streams:
        items = asyncio.run(_items(streams.url))
    assert items[-1] == whole
    assert all(isinstance(item, (TextDelta, ThinkingDelta, CallDelta)) for item in items[:-1])
    assert streams.requests[0]["stream"] is True
    assert streams.requests[0]["stream_options"] == {"include_usage": True}


def test_deltas_have_the_order_of_the_reply() -> None:
    reply = _reply("hello", _call("notes_write", '{"path": "a"}'), finish="tool_calls")
    result, deltas, _ = _run(chat_chunks(reply, size=8), chat_chunks(_reply("done")))
    assert (result.final_answer, ran) == ("done", [("write", "a")])
    assert result.usage == Usage(10, 6, 30, 0)
    assert deltas == [
        TextDelta("hello"),
        CallDelta("call_1", "notes.write", ""),
        CallDelta("call_1", "notes.write", '{"path":'),
        CallDelta("call_1", "notes.write", ' "a"}'),
        ReplyEnd(True),
        TextDelta("done"),
        ReplyEnd(True),
    ]


def test_a_delta_arrives_before_the_rest_of_the_reply_is_sent() -> None:
    shown = threading.Event()
    first, second, *rest = chat_chunks(_reply("Hello world"))
    result, _, _ = _run(
        [first, second, lambda: shown.wait(10) or pytest.fail("no delta"), *rest], on_delta=lambda _: shown.set()
    )
    assert result.final_answer == "Hello world"
    assert shown.is_set()


def test_comments_and_bytes_that_split_a_character_change_nothing() -> None:
    raw = b"".join(b": ping\n\n" + chunk for chunk in chat_chunks(REPLIES["a call"]))
    result, _, _ = _run([raw[at : at + 1] for at in range(len(raw))], DONE)
    assert result.final_answer == "done"
    assert ran == [("write", "a")]


def test_every_place_where_a_stream_is_cut_off_is_a_coded_failure() -> None:
    chunks = chat_chunks(_reply("so", _call("read", '{"path": "a/b"}'), finish="tool_calls"))
    for kept in range(len(chunks) - 3):  # without the chunk that has the finish reason
        for cut in ([CUT], [], [b"data: [DONE]\n\n"]):
            result, deltas, _ = _run([*chunks[:kept], *cut])
            assert (result.status, result.code) == ("failed", "reply_cut_off"), (kept, cut)
            assert deltas[-1] == ReplyEnd(False)
            assert ran == []


def test_an_error_amid_the_stream_fails_the_run() -> None:
    busy = b'data: {"error": {"message": "The server is overloaded", "type": "server_error"}}\n\n'
    result, deltas, _ = _run([*DONE[:2], busy])
    assert (result.status, result.code) == ("failed", "agent_failed")
    assert "overloaded" in (result.error or "")
    assert deltas[-1] == ReplyEnd(False)


@pytest.mark.parametrize(("finish", "code"), [("length", "reply_cut_off"), ("content_filter", "reply_refused")])
def test_a_cut_or_withheld_answer_has_its_code(finish: str, code: str) -> None:
    result, _, _ = _run(chat_chunks(_reply("The answer is", finish=finish)))
    assert (result.final_answer, result.code) == (None, code)


def _chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c", "object": "chat.completion.chunk", "choices": [choice], **more}, named=False)


def _part(name: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


CALLS = {
    "no index, whole calls": [[_part("read", '{"path":"a"}', id="1")], [_part("read", '{"path":"b"}', id="2")]],
    "no index, parts": [
        [_part("read", '{"path"', id="1")], [_part(None, ':"a"}')],
        [_part("read", '{"path":', id="2")], [_part(None, '"b"}')],
    ],
    "one index for all": [
        [_part("read", '{"path":', id="1", index=0)], [_part(None, '"a"}', index=0)],
        [_part("read", '{"path":', id="2", index=0)], [_part(None, '"b"}', index=0)],
    ],
    "id and name every time": [
        [_part("read", '{"path":', id="1", index=0)], [_part("read", '"a"}', id="1", index=0)],
        [_part("read", '{"path":"b"}', id="2", index=1)],
    ],
    "interleaved": [
        [_part("read", '{"pa', id="1", index=0), _part("read", '{"pa', id="2", index=1)],
        [_part(None, 'th":"b"}', index=1), _part(None, 'th":"a"}', index=0)],
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_as_other_servers_stream_them(name: str) -> None:
    script = [*(_chunk({"tool_calls": parts}) for parts in CALLS[name]), _chunk({}, "tool_calls")]
    with streaming(script) as streams:
        reply = asyncio.run(_items(streams.url))[-1]
    assert reply == (ToolCall("read", {"path": "a"}, "1"), ToolCall("read", {"path": "b"}, "2"))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_of_other_servers_is_shown_and_no_part_of_the_answer(field: str) -> None:
    script = [_chunk({field: "hm"}), _chunk({"content": "yes"}), _chunk({}, "stop")]
    result, deltas, _ = _run(script)
    assert result.final_answer == "yes"
    assert deltas == [ThinkingDelta("hm"), TextDelta("yes"), ReplyEnd(True)]


def test_usage_with_every_chunk_counts_once_and_other_choices_do_not_count() -> None:
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}
    script = [
        _chunk({"content": "yes"}, usage={**usage, "completion_tokens": 1}),
        event({"id": "c", "choices": [other]}, named=False),
        _chunk({}, "stop", usage=usage),
    ]
    result, _, _ = _run(script)
    assert (result.final_answer, result.usage) == ("yes", Usage(4, 2, 0, 0))


def test_the_options_of_a_stream_can_be_replaced_and_are_not_sent_without_one() -> None:
    options = {"extra": {"stream_options": {"include_obfuscation": False}}}
    with streaming(DONE) as streams:
        asyncio.run(_items(streams.url, **options))
    assert streams.requests[0]["stream_options"] == {"include_obfuscation": False}
    with serving(_reply("done")) as vendor:
        asyncio.run(_whole(vendor.url, **options))
    assert "stream_options" not in vendor.requests[0]
