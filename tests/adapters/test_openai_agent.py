"""`OpenAIAgent` with OpenAI's own client, talking to a server that speaks the Chat Completions API."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from openai import AsyncOpenAI

from adapters.governed import TOOLS, Run, governed_async
from adapters.vendor_server import Vendor, serving
from bobcat import FinalAnswer, Message, ToolCall, ToolSet, Usage
from bobcat.adapters.openai_sdk import OpenAIAgent


def _reply(
    content: str | None = None, *calls: dict[str, Any], finish: str = "stop", usage: Any = ..., **message: Any
) -> dict[str, Any]:
    counts = {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23}
    said = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5",
        "choices": [{"index": 0, "finish_reason": finish, "logprobs": None, "message": said}],
        "usage": {**counts, "prompt_tokens_details": {"cached_tokens": 15}} if usage is ... else usage,
    }


def _call(name: str, arguments: str, call_id: str = "call_1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _client(vendor: Vendor) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=vendor.url, api_key="test", max_retries=0)


def _run(*replies: dict[str, Any], **more: Any) -> tuple[Run, Vendor]:
    """A governed run of an agent that gets `replies` over the wire."""

    async def run() -> Run:
        async with _client(vendor) as client:
            return await governed_async(OpenAIAgent(tools=TOOLS, client=client, **more))

    with serving(*replies) as vendor:
        return asyncio.run(run()), vendor


def _step(reply: dict[str, Any], *conversation: Message, tools: ToolSet = TOOLS) -> tuple[Any, dict[str, Any]]:
    """One step of an agent without a run, and the request it made."""

    async def step() -> Any:
        async with _client(vendor) as client:
            return await OpenAIAgent(tools=tools, client=client).step(conversation or (Message("user", "go"),))

    with serving(reply) as vendor:
        return asyncio.run(step()), vendor.requests[0]


def test_a_run_from_task_to_answer() -> None:
    run, vendor = _run(
        _reply("I will read it.", _call("read", '{"path": "a.txt"}'), finish="tool_calls"),
        _reply("All tidy."),
        system="be careful",
        model="gpt-test",
    )
    assert run.result.final_answer == "All tidy."
    assert run.result.usage == Usage(10, 6, 30, 0)
    assert run.ran == [("read", "a.txt")]
    assert vendor.paths == ["/chat/completions", "/chat/completions"]
    first, second = vendor.requests
    assert first["model"] == "gpt-test"
    assert first["messages"] == [
        {"role": "system", "content": "be careful"},
        {"role": "user", "content": "tidy up"},
    ]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["read", "notes_write"]
    assert first["tools"][0]["function"]["parameters"]["required"] == ["path"]
    assert second["messages"][2:] == [
        {
            "role": "assistant",
            "content": "I will read it.",
            "tool_calls": [_call("read", '{"path":"a.txt"}')],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "[ok] 10 lines of a.txt"},
    ]


# lynx-agent defect 82
def test_every_parallel_call_is_evaluated_and_stands_in_one_message() -> None:
    run, vendor = _run(
        _reply(
            None,
            _call("read", '{"path": "a"}', "call_1"),
            _call("notes_write", '{"path": "/etc/passwd"}', "call_2"),
            _call("notes_write", '{"path": "b"}', "call_3"),
            finish="tool_calls",
        ),
        _reply("done"),
    )
    assert run.ran == [("read", "a"), ("write", "b")]
    assert run.result.usage == Usage(10, 6, 30, 0)
    _, assistant, *results = vendor.requests[1]["messages"]
    assert [call["id"] for call in assistant["tool_calls"]] == ["call_1", "call_2", "call_3"]
    assert [call["function"]["name"] for call in assistant["tool_calls"]] == ["read", "notes_write", "notes_write"]
    assert [(message["tool_call_id"], message["content"]) for message in results] == [
        ("call_1", "[ok] 10 lines of a"),
        ("call_2", "[denied] stay here"),
        ("call_3", "[ok] written"),
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"path": "a"', "arguments are not JSON: "),
        ('{"path": NaN}', "arguments are not JSON: `NaN` is not a JSON value"),
        ('["a"]', "arguments must be a JSON object, got list"),
        ("[" * 100_000, "arguments are not JSON: "),
    ],
)
def test_malformed_arguments_are_a_recorded_failure(arguments: str, reason: str) -> None:
    run, vendor = _run(_reply(None, _call("read", arguments), finish="tool_calls"), _reply("sorry"))
    assert run.result.final_answer == "sorry"
    assert run.ran == []
    [proposed] = run.bodies("step.proposed")
    assert proposed["args"] == {"_raw_arguments": arguments}
    [failure] = run.bodies("action.failed")
    assert failure["reason"].startswith(reason)
    _, assistant, reported = vendor.requests[1]["messages"]
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {"_raw_arguments": arguments}
    assert reported["content"] == f"[error] {failure['reason']}"


def test_no_arguments_at_all_are_an_empty_object() -> None:
    call, _ = _step(_reply(None, _call("read", ""), finish="tool_calls"))
    assert (call.args, call.problem) == ({}, None)


# lynx-agent defect 82
def test_a_call_that_was_cut_off_is_not_run_and_the_ones_before_it_are() -> None:
    run, _ = _run(
        _reply(
            None,
            _call("read", '{"path": "a"}', "call_1"),
            _call("read", '{"path": "/"}', "call_2"),
            finish="length",
        ),
        _reply("done"),
    )
    assert run.ran == [("read", "a")]
    [failure] = run.bodies("action.failed")
    assert failure["reason"] == "the reply was cut off before this call was complete (length); it was not run"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (_reply("The answer is", finish="length"), "the model stopped before its answer was complete (length)"),
        (_reply("...", finish="content_filter"), "a content filter withheld the model's reply"),
        (
            _reply(None, _call("read", '{"path": "a"}'), finish="content_filter"),
            "a content filter withheld the model's reply",
        ),
    ],
)
def test_a_reply_that_was_cut_off_or_withheld_is_no_answer(reply: dict[str, Any], error: str) -> None:
    run, _ = _run(reply)
    assert run.ran == []
    assert run.result.error == f"agent.step raised: IncompleteReply: {error}"


def test_a_kind_of_call_that_was_not_offered_does_not_run() -> None:
    custom = {"id": "call_1", "type": "custom", "custom": {"name": "read", "input": "a"}}
    run, _ = _run(_reply(None, custom, finish="tool_calls"), _reply("done"))
    assert run.ran == []
    [failure] = run.bodies("action.failed")
    assert failure["reason"] == "a tool call of type `custom` was not offered"


def test_an_error_of_the_api_fails_the_run() -> None:
    run, _ = _run({"error": {"message": "bad key", "type": "invalid_request_error"}, "status": 401})
    assert run.result.error is not None
    assert run.result.error.startswith("agent.step raised: AuthenticationError: ")


def test_one_call_is_a_call_several_are_a_tuple_and_silence_is_an_answer() -> None:
    usage = Usage(5, 3, 15, None, "gpt-5")
    one, _ = _step(_reply("so", _call("notes_write", '{"path": "a"}')))
    assert one == ToolCall("notes.write", {"path": "a"}, "call_1", usage, "so")
    several, _ = _step(_reply(None, _call("read", "{}", "a"), _call("nothing-of-ours", "{}", "b")))
    assert several == (ToolCall("read", {}, "a", usage), ToolCall("nothing-of-ours", {}, "b"))
    assert _step(_reply(None))[0] == FinalAnswer("(no response)", usage)
    assert _step(_reply(None, refusal="I would rather not."))[0] == FinalAnswer("I would rather not.", usage)
    assert _step({**_reply("x"), "choices": []})[0] == FinalAnswer("(no choices returned)", usage)


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (None, None),
        ({"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}, Usage(4, 2, None, None, "gpt-5")),
        ({"prompt_tokens": -1, "completion_tokens": "many"}, Usage(None, None, None, None, "gpt-5")),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
            },
            Usage(2, 2, 4, 3, "gpt-5"),
        ),
    ],
)
def test_usage_is_read_with_care(reported: Any, usage: Usage | None) -> None:
    assert _step(_reply("x", usage=reported))[0] == FinalAnswer("x", usage)


def test_system_messages_stay_and_empty_replies_are_left_out() -> None:
    conversation = (
        Message("system", "quietly"),
        Message("user", "one"),
        Message("assistant", ""),
        Message("assistant", "two"),
        Message("tool", "[ok] 3", "read"),
    )
    _, request = _step(_reply("ok"), *conversation, tools=ToolSet())
    assert "tools" not in request
    assert request["messages"] == [
        {"role": "system", "content": "quietly"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "tool", "tool_call_id": "unknown", "content": "[ok] 3"},
    ]


# lynx-agent defect 80
def test_the_agents_own_client_is_closed_and_the_callers_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    async def main() -> None:
        made: list[AsyncOpenAI] = []

        class Kept(AsyncOpenAI):
            def __init__(self, **options: Any) -> None:
                super().__init__(**options)
                made.append(self)

        monkeypatch.setattr("openai.AsyncOpenAI", Kept)
        for options in ({}, {"timeout": 5.0, "retries": 1}):  # limits make a copy of the client
            made.clear()
            async with OpenAIAgent(tools=TOOLS, **options):
                assert not made[0].is_closed()
            assert all(each.is_closed() for each in made)
        theirs = AsyncOpenAI(api_key="test")
        async with OpenAIAgent(tools=TOOLS, client=theirs):
            pass
        assert not theirs.is_closed()
        await theirs.close()

    asyncio.run(main())


def test_a_missing_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(ImportError, match=r"OpenAIAgent requires the 'openai' package.*'bobcat\[openai\]'"):
        OpenAIAgent(tools=TOOLS)
