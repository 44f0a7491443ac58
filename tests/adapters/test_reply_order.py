"""Text, thinking and calls of Claude, in any order: what comes is what goes back, whole and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

from anthropic import AsyncAnthropic
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.governed import TOOLS
from adapters.test_model_options import _claude, _text
from adapters.vendor_server import serving
from bobcat import Message, ToolCall
from bobcat.adapters.anthropic_sdk import ClaudeAgent

WORDS = st.text("abü🐈 ", min_size=1, max_size=9).filter(lambda text: bool(text.strip()))
BLOCKS = st.one_of(
    st.builds(_text, WORDS),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "c2ln"}, WORDS),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, st.sampled_from(("x", "y"))),
    st.just({"type": "tool_use", "name": "read", "input": {"path": "a"}}),
)


@settings(max_examples=8, deadline=None)
@given(st.lists(BLOCKS, max_size=6), st.booleans())
def test_any_order_of_thinking_text_and_calls_goes_back_the_same(drawn: list[dict[str, Any]], streamed: bool) -> None:
    last = {"type": "tool_use", "name": "read", "input": {"path": "b"}}
    blocks = [
        {**block, "id": f"toolu_{number}"} if block["type"] == "tool_use" else block
        for number, block in enumerate([*drawn, last])
    ]

    async def go(url: str) -> None:
        async with AsyncAnthropic(base_url=url, api_key="test", max_retries=0) as client:
            agent = ClaudeAgent(tools=TOOLS, client=client)
            task = Message("user", "go")
            step = [item async for item in agent.stream((task,))][-1] if streamed else await agent.step((task,))
            calls = [step] if isinstance(step, ToolCall) else list(step)
            answers = [Message("tool", "[ok] a", name=call.tool, tool_call_id=call.call_id) for call in calls]
            await agent.step((task, *map(_message, calls), *answers))

    with serving(_claude(*blocks, stop="tool_use"), _claude(_text("done"))) as vendor:
        asyncio.run(go(vendor.url))
    back = vendor.requests[1]["messages"][1]
    texts = [block for block in blocks if block["type"] == "text"]
    assert [_stripped(block, len(texts)) for block in back["content"]] == [
        _stripped(block, len(texts)) for block in blocks
    ]


def _message(call: ToolCall) -> Message:
    return Message(
        "assistant", call.text, name=call.tool, tool_call_id=call.call_id, tool_call_args=call.args,
        provider_data=call.provider_data,
    )  # fmt: skip


def _stripped(block: dict[str, Any], texts: int) -> dict[str, Any]:
    """A single text before calls is kept as the text of the step, without spaces around it."""
    return {**block, "text": block["text"].strip()} if block["type"] == "text" and texts == 1 else block
