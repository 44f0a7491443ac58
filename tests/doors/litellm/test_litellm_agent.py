"""`LiteLLMAgent` with LiteLLM itself, against a local server that speaks OpenAI's protocol and Anthropic's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("litellm", reason="LiteLLM has an environment of its own: `make check-doors`")

from adapters.stream_server import CUT, Part, Streams, chat_chunks, event, streaming
from adapters.vendor_server import Vendor, serving
from bobcat import Policy, RunResult, ToolSet, run_agent, tool
from bobcat.adapters import stream_retries
from bobcat.adapters.litellm_agent import LiteLLMAgent
from bobcat.model.deltas import DeltaEvent, ReplyEnd, TextDelta, ThinkingDelta

ran: list[str] = []


@tool(name="notes.read")
async def read(path: str) -> str:
    """Read a note."""
    ran.append(path)
    return f"{path}: feed the cat"


TOOLS = ToolSet.from_functions(read)
POLICY = Policy.compile("rules: [{id: read, match: {tool: notes.read, args.path: a}, decision: allow}]")


def _reply(text: str | None, *calls: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    usage = {
        "prompt_tokens": 40,
        "completion_tokens": 6,
        "total_tokens": 46,
        "prompt_tokens_details": {"cached_tokens": 30},
    }
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def _call(path: str, call_id: str = "call_1") -> dict[str, Any]:
    function = {"name": "notes_read", "arguments": json.dumps({"path": path})}
    return {"id": call_id, "type": "function", "function": function}


FIRST, DONE = _reply("so", _call("a"), _call("b", "call_2"), finish="tool_calls"), _reply("done")


def _run(served: Vendor | Streams, model: str = "openai/m", *, shown: bool = False, **options: Any) -> Any:
    ran.clear()
    deltas: list[DeltaEvent] = []

    async def go() -> RunResult:
        given = {"base_url": served.url, "api_key": "k", "retries": 0, **options}
        async with LiteLLMAgent(tools=TOOLS, model=model, **given) as agent:
            return await run_agent(
                agent, "tidy up", tools=TOOLS, policy=POLICY, on_delta=deltas.append if shown else None
            )

    return asyncio.run(go()), deltas


def test_a_run_from_task_to_answer() -> None:
    with serving(FIRST, DONE) as vendor:
        result, _ = _run(vendor, system="brief", max_tokens=9, stop=["END"], temperature=0.5)
    assert (result.final_answer, ran) == ("done", ["a"])
    assert (result.usage.input_tokens, result.usage.cache_read_tokens) == (20, 60)
    first, second = vendor.requests
    assert first["messages"][0] == {"role": "system", "content": "brief"}
    assert (first["max_tokens"], first["stop"], first["temperature"]) == (9, ["END"], 0.5)
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert second["messages"][4]["content"].startswith("[denied]")


def test_a_streamed_run_is_the_same_and_shows_its_text() -> None:
    with streaming(chat_chunks(FIRST), chat_chunks(DONE)) as streams:
        result, deltas = _run(streams, shown=True)
    assert (result.final_answer, ran) == ("done", ["a"])
    assert (result.usage.input_tokens, result.usage.cache_read_tokens) == (20, 60)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "sodone"
    assert deltas.count(ReplyEnd(True)) == 2


def test_a_stream_split_anywhere_is_read() -> None:
    raw = b"".join(b": ping\n\n" + chunk for chunk in chat_chunks(_reply("Grüße 🐈")))
    with streaming([raw[at : at + 1] for at in range(len(raw))]) as streams:
        assert _run(streams, shown=True)[0].final_answer == "Grüße 🐈"


THOUGHT = {"type": "thinking", "thinking": "I should read it.", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "notes_read", "input": {"path": "a"}}


def _claude(*blocks: dict[str, Any], stop: str = "tool_use") -> dict[str, Any]:
    return {
        "id": "msg", "type": "message", "role": "assistant", "model": "claude-opus-4-7", "content": list(blocks),
        "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 3},
    }  # fmt: skip


@pytest.mark.parametrize("shown", [False, True])
def test_thinking_of_claude_goes_back_signed(shown: bool) -> None:
    done = _claude({"type": "text", "text": "done"}, stop="end_turn")
    with serving(_claude(THOUGHT, USE), done) as vendor:
        extra = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
        result, deltas = _run(vendor, "anthropic/claude-opus-4-7", shown=shown, extra=extra, max_tokens=2000)
    assert (result.final_answer, ran) == ("done", ["a"]), result
    said = next(message for message in vendor.requests[1]["messages"] if message["role"] == "assistant")
    assert said["content"][0] == THOUGHT
    assert (ThinkingDelta("I should read it.") in deltas) is shown


def test_every_place_where_a_stream_is_cut_off_runs_nothing() -> None:
    chunks = chat_chunks(_reply("so", _call("a"), finish="tool_calls"))
    for kept in range(1, len(chunks) - 3):
        for cut in ([CUT], []):
            with streaming([*chunks[:kept], *cut]) as streams:
                result, deltas = _run(streams, shown=True)
            assert (result.code, ran, deltas[-1:]) == ("reply_cut_off", [], [ReplyEnd(False)]), (kept, cut)


def test_a_stream_that_fails_before_its_first_delta_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_retries, "FIRST_PAUSE", 0.001)
    busy = event({"error": {"type": "server_error", "message": "The server is overloaded"}}, named=False)
    begun: list[list[Part]] = [[busy], [*chat_chunks(DONE)[:1], CUT], [*chat_chunks(DONE)]]
    with streaming(*begun) as streams:
        result, deltas = _run(streams, shown=True, retries=2)
    assert result.final_answer == "done", result
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "done"


@pytest.mark.parametrize("name", ["api_key", "api_base", "fallbacks", "tools", "mock_response"])
def test_an_option_that_the_adapter_sets_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"extra sets `{name}`"):
        LiteLLMAgent(tools=TOOLS, model="openai/m", extra={name: "x"})
