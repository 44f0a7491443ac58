"""`OpenAIResponsesAgent` with OpenAI's own client, on whole replies and on streams that are slow, split or cut off."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import AsyncOpenAI

from adapters.governed import POLICY, TOOLS, ran
from adapters.response_server import refused, reply, response_events, said, thought, use
from adapters.stream_server import CUT, Part, Streams, event, streaming
from adapters.vendor_server import Vendor, serving
from bobcat import FinalAnswer, Message, RunResult, ToolCall, Usage, run_agent
from bobcat.adapters import stream_retries
from bobcat.adapters.openai_responses import OpenAIResponsesAgent
from bobcat.errors import IncompleteReply
from bobcat.model.deltas import CallDelta, DeltaEvent, ReplyEnd, TextDelta, ThinkingDelta

GO = (Message("user", "go"),)
DONE = reply(said("done"))
REPLIES = {
    "text": reply(said("All tidy.")),
    "silence": reply(),
    "a call": reply(use("notes_write", '{"path": "a", "text": "ü🐈"}')),
    "thinking, text and calls": reply(
        thought("I read."), said("so"), use("read", '{"path": "a"}', "a"), thought("", 2), use("read", "", "b")
    ),
    "a call that is cut off": reply(
        use("read", '{"path": "a"}'), use("read", '{"pa', "b", "incomplete"), status="incomplete",
        reason="max_output_tokens",
    ),
    "arguments that are not JSON": reply(use("read", '{"path": ')),
    "no usage": reply(said("x"), usage=None),
}  # fmt: skip


async def _agent(url: str, work: Any, **options: Any) -> Any:
    async with AsyncOpenAI(base_url=url, api_key="test", max_retries=0) as client:
        return await work(OpenAIResponsesAgent(tools=TOOLS, client=client, **options))


async def _items(agent: OpenAIResponsesAgent) -> list[Any]:
    return [item async for item in agent.stream(GO)]


def _run(*replies: dict[str, Any], **options: Any) -> tuple[RunResult, Vendor]:
    """A run whose replies come whole. `ran` has the calls that were executed."""
    ran.clear()

    async def work(agent: OpenAIResponsesAgent) -> RunResult:
        return await run_agent(agent, "tidy up", tools=TOOLS, policy=POLICY)

    with serving(*replies) as vendor:
        result: RunResult = asyncio.run(_agent(vendor.url, work, **options))
        return result, vendor


def _streamed(*scripts: list[Part], **options: Any) -> tuple[RunResult, list[DeltaEvent], Streams]:
    ran.clear()
    deltas: list[DeltaEvent] = []

    async def work(agent: OpenAIResponsesAgent) -> RunResult:
        given = {"on_delta": deltas.append, **options}
        return await run_agent(agent, "tidy up", tools=TOOLS, policy=POLICY, **given)

    with streaming(*scripts) as streams:
        return asyncio.run(_agent(streams.url, work)), deltas, streams


@pytest.mark.parametrize("name", REPLIES)
def test_a_streamed_reply_equals_the_one_that_came_whole(name: str) -> None:
    with serving(REPLIES[name]) as vendor:
        whole = asyncio.run(_agent(vendor.url, lambda agent: agent.step(GO)))
    with streaming(response_events(REPLIES[name])) as streams:
        items = asyncio.run(_agent(streams.url, _items))
    assert items[-1] == whole
    assert all(isinstance(item, (TextDelta, ThinkingDelta, CallDelta)) for item in items[:-1])
    assert (streams.requests[0]["stream"], "stream" in vendor.requests[0]) == (True, False)


def test_a_request_keeps_nothing_at_the_provider_and_asks_for_its_reasoning() -> None:
    _, vendor = _run(DONE, system="brief", max_tokens=9, cache_key="u", extra={"reasoning": {"effort": "low"}})
    request = vendor.requests[0]
    assert vendor.paths == ["/responses"]
    assert (request["store"], request["include"]) == (False, ["reasoning.encrypted_content"])
    assert (request["instructions"], request["input"]) == ("brief", [{"role": "user", "content": "tidy up"}])
    assert (request["max_output_tokens"], request["prompt_cache_key"]) == (9, "u")
    assert request["reasoning"] == {"effort": "low"}
    assert {tool["type"] for tool in request["tools"]} == {"function"}
    assert {tool["name"] for tool in request["tools"]} >= {"read", "notes_write"}


def test_cached_tokens_count_apart() -> None:
    assert _run(DONE)[0].usage == Usage(10, 6, 30, 0)


def test_reasoning_goes_back_as_it_came_and_in_its_place() -> None:
    items = [thought("I read."), said("so"), use("read", '{"path": "a"}', "a"), thought("", 2), said("then", 2)]
    last = use("notes_write", '{"path": "a", "text": "x"}', "b")
    result, vendor = _run(reply(*items, last), DONE)
    assert (result.final_answer, ran) == ("done", [("read", "a"), ("write", "a")])
    back = vendor.requests[1]["input"]
    assert [_parsed(item) for item in back[1:7]] == [_parsed(item) for item in [*items, last]]
    assert [item["call_id"] for item in back[7:]] == ["a", "b"]
    assert {item["type"] for item in back[7:]} == {"function_call_output"}


def _parsed(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "arguments": json.loads(item["arguments"])} if "arguments" in item else item


ITEMS = st.one_of(
    st.builds(thought, st.text(max_size=9), st.integers(0, 9)),
    st.builds(said, st.text(min_size=1, max_size=9), st.integers(0, 9)),
    st.just("call"),
)


@settings(max_examples=8, deadline=None)
@given(st.lists(ITEMS, max_size=6), st.booleans())
def test_any_order_of_thinking_text_and_calls_goes_back_the_same(drawn: list[Any], streamed: bool) -> None:
    items = [
        use("read", json.dumps({"path": str(number)}), f"c{number}") if item == "call" else item
        for number, item in enumerate([*drawn, "call"])
    ]
    whole = reply(*items)
    if streamed:
        with streaming(response_events(whole)) as streams:
            step = asyncio.run(_agent(streams.url, _items))[-1]
    else:
        with serving(whole) as vendor:
            step = asyncio.run(_agent(vendor.url, lambda agent: agent.step(GO)))
    calls = [step] if isinstance(step, ToolCall) else list(step)
    conversation = [*GO, *map(_message, calls)]
    with serving(DONE) as vendor:
        asyncio.run(_agent(vendor.url, lambda agent: agent.step(conversation)))
    assert [_parsed(item) for item in vendor.requests[0]["input"][1:]] == [_parsed(item) for item in items]


def _message(call: ToolCall) -> Message:
    return Message(
        "assistant", call.text, name=call.tool, tool_call_id=call.call_id, tool_call_args=call.args,
        provider_data=call.provider_data,
    )  # fmt: skip


def test_deltas_have_the_order_of_the_reply() -> None:
    first = reply(thought("hm"), said("hello"), use("notes_write", '{"path": "a"}'))
    result, deltas, _ = _streamed(response_events(first, size=8), response_events(DONE))
    assert (result.final_answer, ran) == ("done", [("write", "a")])
    assert deltas == [
        ThinkingDelta("hm"), TextDelta("hello"), CallDelta("call_1", "notes.write", ""),
        CallDelta("call_1", "notes.write", '{"path":'), CallDelta("call_1", "notes.write", ' "a"}'), ReplyEnd(True),
        TextDelta("done"), ReplyEnd(True),
    ]  # fmt: skip


def test_a_delta_arrives_before_the_rest_of_the_reply_is_sent() -> None:
    shown = threading.Event()
    events = response_events(reply(said("Hello world")))
    script: list[Part] = [*events[:3], lambda: shown.wait(10) or pytest.fail("no delta"), *events[3:]]
    result, _, _ = _streamed(script, on_delta=lambda _: shown.set())
    assert (result.final_answer, shown.is_set()) == ("Hello world", True)


def test_comments_and_bytes_that_split_a_character_change_nothing() -> None:
    raw = b"".join(b": ping\n\n" + part for part in response_events(REPLIES["a call"], size=9))
    result, _, _ = _streamed([raw[at : at + 1] for at in range(len(raw))], response_events(DONE))
    assert (result.final_answer, ran) == ("done", [("write", "a")])


def test_every_place_where_a_stream_is_cut_off_is_a_coded_failure() -> None:
    events = response_events(reply(said("so"), use("read", '{"path": "a/b"}')))
    for kept in range(len(events)):
        for cut in ([CUT], []):
            result, deltas, _ = _streamed([*events[:kept], *cut])
            assert (result.status, result.code, ran) == ("failed", "reply_cut_off", []), (kept, cut)
            assert deltas[-1] == ReplyEnd(False)


FAILED = {"code": "server_error", "message": "The server is overloaded"}
HOSTED = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}
CODED = {
    "a refusal": (reply(refused("I would rather not.")), "reply_refused"),
    "a refusal beside a call": (reply(refused("No."), use("read", '{"path": "a"}')), "reply_refused"),
    "a filter": (reply(said("The"), status="incomplete", reason="content_filter"), "reply_refused"),
    "a long answer": (reply(said("The"), status="incomplete", reason="max_output_tokens"), "reply_cut_off"),
    "a failure": (reply(status="failed", error=FAILED), "reply_cut_off"),
    "a tool of the provider": (reply(HOSTED, use("read", '{"path": "a"}')), "unmediated_tool"),
}


@pytest.mark.parametrize("name", CODED)
def test_a_reply_that_is_no_answer_has_its_code(name: str) -> None:
    whole, code = CODED[name]
    result, _ = _run(whole)
    assert (result.final_answer, result.code, ran) == (None, code, [])
    result, deltas, _ = _streamed(response_events(whole))
    assert (result.final_answer, result.code, ran) == (None, code, [])
    assert deltas[-1] == ReplyEnd(False)


def test_an_overload_before_the_first_delta_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_retries, "FIRST_PAUSE", 0.001)
    busy = event({"type": "response.failed", "response": reply(status="failed", error=FAILED)}, named=True)
    error = event({"type": "error", "code": "server_error", "message": "busy", "param": None}, named=True)

    async def go(url: str) -> Any:
        async with OpenAIResponsesAgent(tools=TOOLS, base_url=url, api_key="k", retries=2) as agent:
            return (await _items(agent))[-1]

    whole = response_events(DONE)
    with streaming([*whole[:2], busy], [whole[0], error], whole) as streams:
        step = asyncio.run(go(streams.url))
    assert isinstance(step, FinalAnswer)
    assert (step.text, len(streams.requests)) == ("done", 3)


def test_an_invalid_prompt_is_not_asked_again() -> None:
    with serving(reply(status="failed", error={"code": "invalid_prompt", "message": "no"})) as vendor:
        with pytest.raises(IncompleteReply, match="invalid_prompt"):
            asyncio.run(_agent(vendor.url, lambda agent: agent.step(GO)))
    assert len(vendor.requests) == 1


@pytest.mark.parametrize("name", ["store", "previous_response_id", "tools", "background"])
def test_an_option_that_would_keep_the_conversation_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"extra sets `{name}`"):
        OpenAIResponsesAgent(tools=TOOLS, client=object(), extra={name: True})


def test_a_client_has_its_address_already() -> None:
    with pytest.raises(ValueError, match="not both"):
        OpenAIResponsesAgent(tools=TOOLS, client=object(), api_key="k")


def test_stop_sequences_are_refused_because_the_api_has_none() -> None:
    assert "stop" not in inspect.signature(AsyncOpenAI(api_key="k").responses.create).parameters
    with pytest.raises(TypeError, match=r"the Responses API has no stop sequences; OpenAIAgent\(stop=\.\.\.\)"):
        OpenAIResponsesAgent(tools=TOOLS, api_key="k", stop=["END"])
