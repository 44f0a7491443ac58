"""Marks for Anthropic's prompt cache, as the SDK sends them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from adapters.governed import TOOLS
from adapters.test_model_options import _claude, _text
from adapters.vendor_server import serving
from bobcat import Message, ToolSet
from bobcat.adapters.anthropic_sdk import ClaudeAgent

MARK = {"type": "ephemeral"}
USER = Message("user", "go")
CALL = Message("assistant", "so", name="read", tool_call_id="t", tool_call_args={"path": "a"})
ANSWER = Message("tool", "[ok] a", name="read", tool_call_id="t")


def _asked(conversation: tuple[Message, ...], tools: ToolSet = TOOLS, **options: Any) -> dict[str, Any]:
    async def go(url: str) -> None:
        async with AsyncAnthropic(base_url=url, api_key="test", max_retries=0) as client:
            await ClaudeAgent(tools=tools, client=client, **options).step(conversation)

    with serving(_claude(_text("done"))) as vendor:
        asyncio.run(go(vendor.url))
    return vendor.requests[0]


def _marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(_marks, value.values()))
    return sum(map(_marks, value)) if isinstance(value, list) else 0


def test_the_system_prompt_the_last_tool_and_the_last_message_have_marks() -> None:
    request = _asked((USER, CALL, ANSWER), system="brief")
    assert request["system"] == [{"type": "text", "text": "brief", "cache_control": MARK}]
    assert request["tools"][-1]["cache_control"] == MARK
    assert request["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert _marks(request) == 3


def test_an_early_message_is_the_same_with_and_without_a_mark_behind_it() -> None:
    """A mark is no part of the content that the cache compares, so the next request finds the beginning."""
    first, next_ = _asked((USER,)), _asked((USER, CALL, ANSWER))
    assert first["messages"][0]["content"] == [{"type": "text", "text": "go", "cache_control": MARK}]
    assert next_["messages"][0] == {"role": "user", "content": "go"}


def test_nothing_is_marked_that_is_not_there() -> None:
    request = _asked((USER,), ToolSet())
    assert ("system" in request, "tools" in request, _marks(request)) == (False, False, 1)


@pytest.mark.parametrize("conversation", [(USER,), (USER, CALL, ANSWER)])
def test_without_the_cache_a_request_has_no_marks(conversation: tuple[Message, ...]) -> None:
    assert _marks(_asked(conversation, system="brief", cache_prompt=False)) == 0


def test_stop_sequences_go_out_once() -> None:
    assert _asked((USER,), stop=["END"])["stop_sequences"] == ["END"]
    with pytest.raises(ValueError, match="stop_sequences"):
        ClaudeAgent(tools=TOOLS, client=object(), stop=["a"], extra={"stop_sequences": ["b"]})
