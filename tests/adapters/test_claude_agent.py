"""`ClaudeAgent` with Anthropic's own client, talking to a server that speaks the Messages API."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from adapters.governed import TOOLS, Run, governed, governed_async
from adapters.vendor_server import Vendor, serving
from bobcat import Budget, FinalAnswer, Message, ToolCall, ToolSet, Usage
from bobcat.adapters.anthropic_sdk import ClaudeAgent


def _reply(*blocks: dict[str, Any], stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 11, "cache_creation_input_tokens": 2}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-7",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(name: str, call_id: str = "toolu_1", **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def _client(vendor: Vendor) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=vendor.url, api_key="test", max_retries=0)


def _run(*replies: dict[str, Any], **more: Any) -> tuple[Run, Vendor]:
    """A governed run of an agent that gets `replies` over the wire."""

    async def run() -> Run:
        async with _client(vendor) as client:
            return await governed_async(ClaudeAgent(tools=TOOLS, client=client, cache_prompt=False, **more))

    with serving(*replies) as vendor:
        return asyncio.run(run()), vendor


def _step(reply: dict[str, Any], *conversation: Message) -> Any:
    """One step of an agent, without a run."""

    async def step() -> Any:
        async with _client(vendor) as client:
            return await ClaudeAgent(tools=TOOLS, client=client).step(conversation or (Message("user", "go"),))

    with serving(reply) as vendor:
        return asyncio.run(step())


def test_a_run_from_task_to_answer() -> None:
    run, vendor = _run(
        _reply(_text("I will read it."), _use("read", path="a.txt"), stop="tool_use"),
        _reply(_text("All"), _text("tidy.")),
        system="be careful",
        model="claude-test",
        max_tokens=99,
    )
    assert run.result.final_answer == "All\ntidy."
    assert run.result.usage == Usage(14, 6, 22, 4)
    assert run.ran == [("read", "a.txt")]
    assert vendor.paths == ["/v1/messages", "/v1/messages"]
    first, second = vendor.requests
    assert {key: first[key] for key in ("model", "max_tokens", "system")} == {
        "model": "claude-test",
        "max_tokens": 99,
        "system": "be careful",
    }
    assert first["messages"] == [{"role": "user", "content": "tidy up"}]
    assert [tool["name"] for tool in first["tools"]] == ["read", "notes_write"]
    assert first["tools"][0]["input_schema"]["required"] == ["path"]
    assert second["messages"][1:] == [
        {"role": "assistant", "content": [_text("I will read it."), _use("read", path="a.txt")]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "[ok] 10 lines of a.txt"}],
        },
    ]


# lynx-agent defect 82
def test_every_parallel_call_is_evaluated_and_answered_in_one_message() -> None:
    run, vendor = _run(
        _reply(
            _use("read", "toolu_1", path="a"),
            _use("notes_write", "toolu_2", path="/etc/passwd", text="x"),
            _use("notes_write", "toolu_3", path="b", text="x"),
            stop="tool_use",
        ),
        _reply(_text("done")),
    )
    assert run.result.final_answer == "done"
    assert run.ran == [("read", "a"), ("write", "b")]
    assert run.result.usage == Usage(14, 6, 22, 4)
    _, assistant, results = vendor.requests[1]["messages"]
    assert [block["id"] for block in assistant["content"]] == ["toolu_1", "toolu_2", "toolu_3"]
    assert [block["name"] for block in assistant["content"]] == ["read", "notes_write", "notes_write"]
    assert [(block["tool_use_id"], block["content"]) for block in results["content"]] == [
        ("toolu_1", "[ok] 10 lines of a"),
        ("toolu_2", "[denied] stay here"),
        ("toolu_3", "[ok] written"),
    ]
    assert [block.get("is_error", False) for block in results["content"]] == [False, True, False]


def test_arguments_that_are_no_object_are_a_recorded_failure() -> None:
    broken = {**_use("read"), "input": "path=a"}
    run, vendor = _run(_reply(broken, stop="tool_use"), _reply(_text("sorry")))
    assert run.ran == []
    assert run.bodies("step.proposed") == [{"seq": 0, "tool": "read", "args": {"_raw_arguments": "path=a"}}]
    [failure] = run.bodies("action.failed")
    assert failure["reason"].startswith("arguments are not JSON: ")
    assert vendor.requests[1]["messages"][2]["content"][0]["is_error"] is True


# lynx-agent defect 82
def test_a_call_that_was_cut_off_is_not_run_and_the_ones_before_it_are() -> None:
    run, vendor = _run(
        _reply(_use("read", "toolu_1", path="a"), _use("read", "toolu_2", path="/"), stop="max_tokens"),
        _reply(_text("done")),
    )
    assert run.ran == [("read", "a")]
    [failure] = run.bodies("action.failed")
    assert failure["reason"] == "the reply was cut off before this call was complete (max_tokens); it was not run"
    assert vendor.requests[1]["messages"][2]["content"][1]["content"] == f"[error] {failure['reason']}"


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "pause_turn"])
def test_a_truncated_answer_is_not_an_answer(reason: str) -> None:
    run, _ = _run(_reply(_text("The answer is"), stop=reason))
    assert run.result.final_answer is None
    assert run.result.error == (
        f"agent.step raised: IncompleteReply: the model stopped before its answer was complete ({reason})"
    )


@pytest.mark.parametrize(
    ("details", "text"),
    [
        (None, "the model refused to continue"),
        (
            {"type": "refusal", "category": "cyber", "explanation": "too risky"},
            "the model refused to continue: too risky",
        ),
    ],
)
def test_a_refusal_is_no_answer_and_none_of_its_calls_run(details: Any, text: str) -> None:
    run, _ = _run(_reply(_use("read", path="a"), stop="refusal", stop_details=details))
    assert run.ran == []
    assert run.result.error == f"agent.step raised: IncompleteReply: {text}"


def test_an_error_of_the_api_fails_the_run() -> None:
    body = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}, "status": 401}
    run, _ = _run(body)
    assert run.result.error is not None
    assert run.result.error.startswith("agent.step raised: AuthenticationError: ")


def test_the_cached_tokens_count_towards_the_budget() -> None:
    replies = [_reply(_use("read", f"toolu_{n}", path="a"), stop="tool_use") for n in range(3)]

    async def run() -> Run:
        async with _client(vendor) as client:
            return await governed_async(ClaudeAgent(tools=TOOLS, client=client), budget=Budget(input_tokens=40))

    with serving(*replies) as vendor:
        assert asyncio.run(run()).result.error == "input token budget exhausted (40)"
    assert len(vendor.requests) == 2


def test_one_call_is_a_call_several_are_a_tuple_and_silence_is_an_answer() -> None:
    usage = Usage(7, 3, 11, 2, "claude-opus-4-7")
    one = _step(_reply(_text("so"), _use("notes_write", path="a"), stop="tool_use"))
    assert one == ToolCall("notes.write", {"path": "a"}, "toolu_1", usage, "so")
    several = _step(_reply(_use("read", "a"), _use("nothing-of-ours", "b"), stop="tool_use"))
    assert several == (ToolCall("read", {}, "a", usage), ToolCall("nothing-of-ours", {}, "b"))
    assert _step(_reply()) == FinalAnswer("(no response)", usage)


def test_system_messages_and_empty_replies_are_left_out_of_the_conversation() -> None:
    conversation = (
        Message("system", "hidden"),
        Message("user", "one"),
        Message("assistant", ""),
        Message("user", "two"),
        Message("tool", "[ok] 3", "read"),
    )

    async def step() -> None:
        async with _client(vendor) as client:
            await ClaudeAgent(tools=ToolSet(), client=client, cache_prompt=False).step(conversation)

    with serving(_reply(_text("ok"))) as vendor:
        asyncio.run(step())
    [request] = vendor.requests
    assert "tools" not in request
    assert "system" not in request
    result = {"type": "tool_result", "tool_use_id": "unknown", "content": "[ok] 3"}
    assert request["messages"] == [{"role": "user", "content": [_text("one"), _text("two"), result]}]


# lynx-agent defect 80
def test_the_agents_own_client_is_closed_and_the_callers_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")

    async def main() -> None:
        made: list[AsyncAnthropic] = []

        class Kept(AsyncAnthropic):
            def __init__(self, **options: Any) -> None:
                super().__init__(**options)
                made.append(self)

        monkeypatch.setattr("anthropic.AsyncAnthropic", Kept)
        for options in ({}, {"timeout": 5.0, "retries": 1}):  # limits make a copy of the client
            made.clear()
            async with ClaudeAgent(tools=TOOLS, **options):
                assert not made[0].is_closed()
            assert all(each.is_closed() for each in made)
        theirs = AsyncAnthropic(api_key="test")
        async with ClaudeAgent(tools=TOOLS, client=theirs):
            pass
        assert not theirs.is_closed()
        await theirs.close()

    asyncio.run(main())


def test_a_missing_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "anthropic", None)
    with pytest.raises(ImportError, match=r"ClaudeAgent requires the 'anthropic' package.*'bobcat\[anthropic\]'"):
        ClaudeAgent(tools=TOOLS)


def test_any_object_with_the_clients_shape_will_do() -> None:
    class Block:
        type = "text"
        text = "from a stand-in"

    class Response:
        content = (Block(),)

    class Messages:
        async def create(self, **_: Any) -> Response:
            return Response()

    class Client:
        messages = Messages()

    assert governed(ClaudeAgent(tools=TOOLS, client=Client())).result.final_answer == "from a stand-in"
