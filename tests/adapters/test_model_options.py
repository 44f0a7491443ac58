"""Options of model requests, long replies, and what a provider gets back: thinking, signatures, the order of blocks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from openai import AsyncOpenAI

from adapters.governed import POLICY, TOOLS, Run, governed, governed_async
from adapters.vendor_server import Vendor, serving
from bobcat import FinalAnswer, MemoryStore, Message, ToolCall, run_agent
from bobcat.adapters.anthropic_sdk import ClaudeAgent
from bobcat.adapters.langgraph_adapter import LangGraphAgent
from bobcat.adapters.openai_sdk import OpenAIAgent
from kernel.scripted import Scripted

THOUGHT = {"type": "thinking", "thinking": "I should read it.", "signature": "c2lnbmVk"}
AGAIN = {**THOUGHT, "signature": "Mg=="}
HIDDEN = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(name: str, call_id: str = "toolu_1", **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def _claude(*blocks: dict[str, Any], stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-7", "content": list(blocks),
        "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 3}, **more,
    }  # fmt: skip


def _gpt(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [choice]}


def _run(*replies: dict[str, Any], run: dict[str, Any] | None = None, **options: Any) -> tuple[Run, Vendor]:
    """A governed run of `ClaudeAgent` with Anthropic's client and the default limits of that."""

    async def go() -> Run:
        async with AsyncAnthropic(base_url=vendor.url, api_key="test") as client:
            return await governed_async(ClaudeAgent(tools=TOOLS, client=client, **options), **(run or {}))

    with serving(*replies) as vendor:
        return asyncio.run(go()), vendor


@pytest.mark.parametrize("max_tokens", [1, 8_192, 8_193, 21_333, 21_334, 64_000, 1_000_000])
@pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-opus-4@20250514"])
def test_a_reply_may_be_as_long_as_the_api_lets_it(max_tokens: int, model: str) -> None:
    run, vendor = _run(
        _claude(THOUGHT, _text("I will."), _use("read", path="a.txt"), stop="tool_use"),
        _claude(_text("All tidy.")),
        max_tokens=max_tokens,
        model=model,
    )
    assert run.result.error is None
    assert run.result.final_answer == "All tidy."
    assert run.result.usage is not None
    assert (run.result.usage.input_tokens, run.result.usage.output_tokens) == (14, 6)
    assert run.ran == [("read", "a.txt")]
    assert [request["max_tokens"] for request in vendor.requests] == [max_tokens] * 2
    assert vendor.requests[1]["messages"][1]["content"] == [THOUGHT, _text("I will."), _use("read", path="a.txt")]


@pytest.mark.parametrize("events", range(1, 9))
def test_a_stream_that_ends_early_is_no_reply(events: int) -> None:
    cut = _claude(_text("I will."), _use("notes_write", path="a/b/c"), stop="tool_use", cut_after=events)
    run, _ = _run(cut, max_tokens=64_000, retries=0)
    assert run.result.error is not None
    assert run.ran == []


def test_a_call_that_was_cut_off_in_a_stream_is_not_run() -> None:
    run, _ = _run(
        _claude(_use("read", path="a"), stop="max_tokens"), _claude(_text("so it was")), max_tokens=64_000
    )  # fmt: skip
    assert run.ran == []
    assert "cut off before this call was complete" in run.bodies("action.failed")[0]["reason"]


@pytest.mark.parametrize("max_tokens", [4096, 64_000])
def test_the_options_of_claude_reach_the_api(max_tokens: int) -> None:
    run, vendor = _run(
        _claude(_text("done")), temperature=0.5, top_p=0.9, timeout=5, retries=0, max_tokens=max_tokens,
        extra={"top_k": 3, "thinking": {"type": "enabled", "budget_tokens": 2048}, "extra_body": {"new": [1]}},
    )  # fmt: skip
    assert run.result.error is None
    [request] = vendor.requests
    assert (request["temperature"], request["top_p"], request["top_k"], request["new"]) == (0.5, 0.9, 3, [1])
    assert request["thinking"] == {"type": "enabled", "budget_tokens": 2048}


def test_the_options_of_openai_reach_the_api() -> None:
    async def go() -> Any:
        async with AsyncOpenAI(base_url=vendor.url, api_key="test") as client:
            agent = OpenAIAgent(
                tools=TOOLS, client=client, temperature=0, top_p=0.9, timeout=5, retries=0,
                extra={"reasoning_effort": "low", "extra_body": {"new": [1]}},
            )  # fmt: skip
            return await agent.step((Message("user", "go"),))

    with serving(_gpt("done")) as vendor:
        assert asyncio.run(go()).text == "done"
    [request] = vendor.requests
    assert (request["temperature"], request["top_p"], request["reasoning_effort"]) == (0, 0.9, "low")
    assert request["new"] == [1]


def test_only_given_options_are_sent() -> None:
    _, vendor = _run(_claude(_text("done")))
    assert set(vendor.requests[0]) == {"model", "max_tokens", "messages", "tools"}


@pytest.mark.parametrize("retries", [0, 2])
def test_retries_are_those_that_were_asked_for(retries: int) -> None:
    down = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}, "status": 529}
    run, vendor = _run(*[down] * 3, _claude(_text("done")), retries=retries)
    assert len(vendor.requests) == retries + 1
    assert run.result.error is not None


def test_limits_leave_the_callers_client_as_it_was() -> None:
    client = AsyncAnthropic(api_key="test", timeout=77, max_retries=5)
    ClaudeAgent(tools=TOOLS, client=client, timeout=1, retries=0)
    assert (client.timeout, client.max_retries) == (77, 5)
    asyncio.run(client.close())


@pytest.mark.parametrize("name", ["model", "messages", "tools", "system", "max_tokens", "stream", "mcp_servers"])
@pytest.mark.parametrize("wrap", [lambda extra: extra, lambda extra: {"extra_body": extra}])
def test_extra_sets_nothing_of_the_adapters_own_for_claude(name: str, wrap: Any) -> None:
    with pytest.raises(ValueError, match=f"extra sets `{name}`, which the adapter sets"):
        ClaudeAgent(tools=TOOLS, client=object(), extra=wrap({name: "x"}))


@pytest.mark.parametrize("name", ["model", "messages", "tools", "functions", "stream", "n", "web_search_options"])
@pytest.mark.parametrize("wrap", [lambda extra: extra, lambda extra: {"extra_body": extra}])
def test_extra_sets_nothing_of_the_adapters_own_for_openai(name: str, wrap: Any) -> None:
    with pytest.raises(ValueError, match=f"extra sets `{name}`, which the adapter sets"):
        OpenAIAgent(tools=TOOLS, client=object(), extra=wrap({name: "x"}))


@pytest.mark.parametrize("kind", [ClaudeAgent, OpenAIAgent])
def test_an_option_is_given_once_and_extra_is_a_mapping(kind: Any) -> None:
    with pytest.raises(ValueError, match="use its parameter `temperature`"):
        kind(tools=TOOLS, client=object(), extra={"temperature": 1})
    for odd in ([("top_k", 1)], "top_k", {1: 2}, {"extra_body": [1]}):
        with pytest.raises(TypeError, match="extra must be a mapping of parameter names to values"):
            kind(tools=TOOLS, client=object(), extra=odd)


REPLIES = {
    "thinking": [THOUGHT, _use("read", path="a")],
    "redacted thinking": [HIDDEN, THOUGHT, _text("so"), _use("read", path="a")],
    "thinking between calls": [THOUGHT, _use("read", "t1", path="a"), AGAIN, _use("read", "t2", path="b")],
    "text after a call": [_use("read", path="a"), _text("that is all")],
    "several texts": [_text("first"), _text("second"), _use("read", path="a")],
    "text between calls": [_text("1"), _use("read", "t1", path="a"), _text("2"), _use("read", "t2", path="b")],
    "text at both ends": [_text("1"), _use("read", "t1", path="a"), _text("2")],
    "one id twice": [_text("x"), _text("y"), _use("read", "t", path="a"), _use("read", "t", path="b")],
}  # fmt: skip


@pytest.mark.parametrize("max_tokens", [1000, 64_000])
@pytest.mark.parametrize("name", REPLIES)
def test_the_blocks_of_a_reply_go_back_as_they_came(name: str, max_tokens: int) -> None:
    run, vendor = _run(
        _claude(*REPLIES[name], stop="tool_use"), _claude(_text("done")), max_tokens=max_tokens
    )  # fmt: skip
    assert run.result.final_answer == "done"
    assert vendor.requests[1]["messages"][1] == {"role": "assistant", "content": REPLIES[name]}


@pytest.mark.parametrize("name", REPLIES)
def test_a_resumed_run_sends_the_blocks_as_they_came(name: str) -> None:
    store = MemoryStore()
    down = {"type": "error", "error": {"type": "invalid_request_error", "message": "down"}, "status": 400}
    kept = {"store": store, "run_id": "r"}
    first, _ = _run(_claude(*REPLIES[name], stop="tool_use"), down, run=kept)
    assert first.result.error is not None
    second, vendor = _run(_claude(_text("done")), run=kept)
    assert second.result.final_answer == "done"
    assert second.ran == []
    assert vendor.requests[0]["messages"][1] == {"role": "assistant", "content": REPLIES[name]}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": {}},
        {"type": "mcp_tool_use", "id": "m1", "name": "delete", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": []},
    ],
)
@pytest.mark.parametrize("stop", ["end_turn", "tool_use", "pause_turn"])
def test_a_tool_that_the_provider_ran_by_itself_fails_the_run(block: dict[str, Any], stop: str) -> None:
    run, _ = _run(_claude(_text("so"), block, _use("read", path="a"), stop=stop))
    assert run.result.error is not None
    assert "IncompleteReply: the provider ran tool `" in run.result.error
    assert run.ran == []


def test_a_plain_reply_leaves_nothing_of_its_provider_on_record() -> None:
    store = MemoryStore()
    _run(
        _claude(_text("so"), _use("read", path="a"), stop="tool_use"), _claude(_text("done")),
        run={"store": store, "run_id": "r"},
    )  # fmt: skip
    assert "provider_data" not in json.dumps([dict(record.body) for record in asyncio.run(store.load("r"))])


def test_provider_data_is_kept_and_shown_to_the_agent() -> None:
    data = {"mine": {"deep": [1, {"x": None}]}}
    agent = Scripted(ToolCall("read", {"path": "a"}, "c1", provider_data=data), FinalAnswer("done"))
    asyncio.run(run_agent(agent, "go", tools=TOOLS, policy=POLICY))
    assert agent.seen[1][1].provider_data == data
    assert agent.seen[1][2].provider_data is None


@pytest.mark.parametrize("data", [[1], "x", {"a": object()}, {"a": float("nan")}, {"a": {1, 2}}])
def test_provider_data_that_is_no_json_object_fails_the_run(data: Any) -> None:
    run = governed(Scripted(ToolCall("read", {"path": "a"}, provider_data=data)))
    assert run.result.error is not None
    assert "whose provider_data is not a JSON object" in run.result.error
    assert run.ran == []


def test_a_change_of_provider_data_afterwards_changes_nothing() -> None:
    data: dict[str, Any] = {"mine": [1]}

    class Mutating(Scripted):
        async def step(self, conversation: Any) -> Any:
            reply = await super().step(conversation)
            data["mine"].append(2)
            return reply

    agent = Mutating(ToolCall("read", {"path": "a"}, provider_data=data), FinalAnswer("done"))
    governed(agent)
    assert agent.seen[1][1].provider_data is not None


def test_the_content_of_a_langchain_message_goes_back_as_it_came() -> None:
    content = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, _text("so"), _use("read", "c1", path="a")]
    replies = [
        AIMessage(
            content, tool_calls=[{"name": "read", "args": {"path": "a"}, "id": "c1"}],
            additional_kwargs={"thought_signature": "x", "refusal": None, "tool_calls": [{"id": "c1"}]},
            response_metadata={"model_provider": "anthropic", "id": "msg_1"},
        ),
        AIMessage("done"),
    ]  # fmt: skip
    shown: list[Any] = []

    def say(state: Any) -> Any:
        shown.append(state["messages"])
        return {"messages": [replies.pop(0)]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", say)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    run = governed(LangGraphAgent(builder.compile()), store=MemoryStore(), run_id="r")
    assert run.result.final_answer == "done"
    said = shown[1][1]
    assert said.content == content
    assert said.additional_kwargs == {"thought_signature": "x"}
    assert said.response_metadata == {"model_provider": "anthropic"}
    assert [call["id"] for call in said.tool_calls] == ["c1"]
