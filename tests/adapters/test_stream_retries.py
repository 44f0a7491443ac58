"""Streams that fail before and after their first delta, through the vendors' own clients."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from adapters.governed import POLICY, TOOLS
from adapters.stream_server import CUT, Part, chat_chunks, event, streaming
from adapters.test_claude_stream import _events
from adapters.test_model_options import _claude, _text
from adapters.test_openai_agent import _reply
from bobcat import RunResult, run_agent
from bobcat.adapters import stream_retries
from bobcat.adapters.anthropic_sdk import ClaudeAgent
from bobcat.adapters.openai_sdk import OpenAIAgent
from bobcat.model.deltas import DeltaEvent, ReplyEnd, TextDelta

CLAUDE, CHAT = _events(_claude(_text("Hello"))), chat_chunks(_reply("Hello"))
BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
BAD = {"type": "error", "error": {"type": "invalid_request_error", "message": "No"}}
FULL = {"error": {"type": "server_error", "message": "The server is overloaded"}}
BEGUN = {"claude": CLAUDE[:2], "chat": CHAT[:1]}
SHOWN = {"claude": CLAUDE[:3], "chat": CHAT[:2]}
WHOLE = {"claude": CLAUDE, "chat": CHAT}
OVERLOAD = {"claude": event(BUSY, named=True), "chat": event(FULL, named=False)}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_retries, "FIRST_PAUSE", 0.001)


def _run(kind: str, *scripts: list[Part], shown: bool = True) -> tuple[RunResult, list[DeltaEvent], int]:
    deltas: list[DeltaEvent] = []

    async def go() -> RunResult:
        client: Any = AsyncAnthropic if kind == "claude" else AsyncOpenAI
        async with client(base_url=streams.url, api_key="test", max_retries=2) as made:
            agent: Any = (
                ClaudeAgent(tools=TOOLS, client=made, max_tokens=64_000)
                if kind == "claude"
                else OpenAIAgent(tools=TOOLS, client=made)
            )
            return await run_agent(agent, "go", tools=TOOLS, policy=POLICY, on_delta=deltas.append if shown else None)

    with streaming(*scripts) as streams:
        return asyncio.run(go()), deltas, len(streams.requests)


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("failure", ["overload", "cut", "end"])
def test_a_stream_that_fails_before_its_first_delta_is_asked_for_again(kind: str, failure: str) -> None:
    broken: list[Part] = {"overload": [OVERLOAD[kind]], "cut": [CUT], "end": []}[failure]
    result, deltas, requests = _run(kind, [*BEGUN[kind], *broken], [*broken], [*WHOLE[kind]])
    assert (result.final_answer, requests) == ("Hello", 3)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hello"
    assert deltas[-1] == ReplyEnd(True)


@pytest.mark.parametrize("kind", WHOLE)
def test_a_stream_that_fails_after_its_first_delta_is_not_shown_twice(kind: str) -> None:
    result, deltas, requests = _run(kind, [*SHOWN[kind], OVERLOAD[kind]], [*WHOLE[kind]])
    assert (result.status, requests) == ("failed", 1)
    assert deltas[-1] == ReplyEnd(False)


def test_a_reply_without_a_reader_is_asked_for_again_at_any_place() -> None:
    result, _, requests = _run("claude", [*CLAUDE[:4], CUT], [*CLAUDE], shown=False)
    assert (result.final_answer, requests) == ("Hello", 2)


@pytest.mark.parametrize("kind", WHOLE)
def test_the_number_of_repetitions_is_that_of_the_client(kind: str) -> None:
    result, _, requests = _run(kind, *([[*BEGUN[kind], CUT]] * 3))
    assert (result.code, requests) == ("reply_cut_off", 3)


def test_an_error_that_does_not_pass_is_not_repeated() -> None:
    result, _, requests = _run("claude", [*CLAUDE[:2], event(BAD, named=True)], [*CLAUDE])
    assert (result.status, requests) == ("failed", 1)


class _Asked(Exception):
    def __init__(self, seconds: str) -> None:
        self.response = type("Response", (), {"headers": {"retry-after": seconds}})()


@pytest.mark.parametrize(("sent", "most"), [("3", 3.0), ("0", 0.0), ("600", 0.004), ("-1", 0.004), ("soon", 0.004)])
def test_a_pause_is_the_one_asked_for_or_a_random_part_of_a_growing_one(sent: str, most: float) -> None:
    pauses = [stream_retries.pause_before(2, _Asked(sent)) for _ in range(50)]
    assert all(0 <= pause <= most for pause in pauses)
    assert len(set(pauses)) == (1 if sent in "30" else 50)
