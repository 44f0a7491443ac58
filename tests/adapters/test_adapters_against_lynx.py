"""Traffic with a vendor is that of lynx-agent 2.5, as long as a reply is a single call.

Both agents get a client that keeps what it is asked. Schemas say more here, so they are compared elsewhere.
"""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import lynx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lynx.adapters.anthropic_sdk import ClaudeAgent as LynxClaudeAgent
from lynx.adapters.openai_sdk import OpenAIAgent as LynxOpenAIAgent

import bobcat
from bobcat.adapters import ClaudeAgent, OpenAIAgent

WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12).filter(str.strip)
ARGS = st.dictionaries(WORDS, st.none() | st.booleans() | st.integers() | WORDS | st.lists(WORDS), max_size=3)


class Client:
    """Has the shape of both vendors' clients, and gives the same reply whatever it is asked."""

    def __init__(self, reply: Any) -> None:
        self.asked: dict[str, Any] = {}

        async def create(**request: Any) -> Any:
            self.asked = request
            return reply

        self.messages = SimpleNamespace(create=create)
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=create))


def _anthropic(text: str, args: dict[str, Any] | None) -> Any:
    blocks = [SimpleNamespace(type="text", text=text)]
    if args is not None:
        blocks = [SimpleNamespace(type="tool_use", id="c9", name="read", input=args)]
    usage = SimpleNamespace(
        input_tokens=5, output_tokens=2, cache_read_input_tokens=1, cache_creation_input_tokens=None
    )
    return SimpleNamespace(content=blocks, usage=usage, stop_reason="tool_use" if args is not None else "end_turn")


def _openai(text: str, args: dict[str, Any] | None) -> Any:
    function = SimpleNamespace(name="read", arguments=json.dumps(args))
    calls = None if args is None else [SimpleNamespace(id="c9", type="function", function=function)]
    choice = SimpleNamespace(message=SimpleNamespace(content=None if calls else text, tool_calls=calls))
    usage = SimpleNamespace(prompt_tokens=5, completion_tokens=2, prompt_tokens_details=None)
    return SimpleNamespace(choices=[choice], usage=usage)


def _conversation(package: Any, task: str, steps: list[tuple[dict[str, Any], str]]) -> tuple[Any, ...]:
    found = [package.Message("user", task)]
    for n, (args, said) in enumerate(steps):
        found.append(package.Message("assistant", "", "read", f"c{n}", args))
        found.append(package.Message("tool", f"[ok] {said}", "read", f"c{n}"))
    return tuple(found)


def _plain(request: dict[str, Any]) -> Any:
    """A request without its schemas, and with arguments as values: white space in them means nothing."""
    bare = json.loads(json.dumps({name: value for name, value in request.items() if name != "tools"}))
    for message in bare["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return bare


@pytest.mark.parametrize(
    ("ours", "theirs", "reply"),
    [(ClaudeAgent, LynxClaudeAgent, _anthropic), (OpenAIAgent, LynxOpenAIAgent, _openai)],
    ids=["anthropic", "openai"],
)
@given(
    task=WORDS,
    steps=st.lists(st.tuples(ARGS, WORDS), max_size=3),
    answer=WORDS,
    args=st.none() | ARGS,
    system=st.just("") | WORDS,
)
def test_requests_and_replies_are_those_of_lynx(
    ours: Any,
    theirs: Any,
    reply: Any,
    task: str,
    steps: list[tuple[dict[str, Any], str]],
    answer: str,
    args: dict[str, Any] | None,
    system: str,
) -> None:
    asked, answered = [], []
    for package, agent in ((bobcat, ours), (lynx, theirs)):
        client = Client(reply(answer, args))
        options = {"cache_prompt": False} if agent is bobcat.adapters.ClaudeAgent else {}
        made = agent(tools=package.ToolSet(), system=system, client=client, **options)
        said = asyncio.run(made.step(_conversation(package, task, steps)))
        asked.append(_plain(client.asked))
        usage = tuple(getattr(said.usage, name) for name in ("input_tokens", "output_tokens", "model"))
        answered.append((type(said).__name__, usage, getattr(said, "text", "") or (said.tool, said.args, said.call_id)))
    assert asked[0] == asked[1]
    assert answered[0] == answered[1]
