"""Turns of threads with the vendors' own clients, on streams that are split, pinged, cut off, refused or overloaded.

A turn of a reply that is not whole fails with a code: none of its calls runs, none of it is an answer, and the next
turn of the thread neither shows nor counts it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from adapters.governed import POLICY, TOOLS, ran
from adapters.response_server import reply as response
from adapters.response_server import response_events, said, use
from adapters.stream_server import CUT, Part, Refusal, Streams, chat_chunks, event, streaming
from adapters.test_claude_stream import PING, _events
from adapters.test_model_options import _claude, _text, _use
from adapters.test_openai_agent import _call, _reply
from bobcat import Cap, Ledger, MemoryStore, Prices
from bobcat.adapters import stream_retries
from bobcat.adapters.anthropic_sdk import ClaudeAgent
from bobcat.adapters.openai_responses import OpenAIResponsesAgent
from bobcat.adapters.openai_sdk import OpenAIAgent
from bobcat.threads import CallProposed, CallResult, Ended, ReplyDiscarded, Thread, ThreadEvent, ThreadText

PRICES = Prices.from_mapping(
    {name: {"input": 1, "output": 5} for name in ("claude-opus-4-7", "gpt-5")}, date="2026-11-01"
)
TEXT = "Grüße 🐈"
BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
FULL = {"error": {"type": "server_error", "code": "server_error", "message": "The server is overloaded"}}


@dataclass(frozen=True)
class Vendor:
    """A vendor's client and agent, its events of a text and a call, of an answer, and its error amid a stream.

    `whole` is the number of the last events without which the reply is still whole.
    """

    client: Callable[..., Any]
    agent: Callable[..., Any]
    calling: list[bytes]
    done: list[bytes]
    ping: bytes
    error: bytes
    whole: int


CALL = {"path": "ü🐈"}
VENDORS = {
    "claude": Vendor(
        AsyncAnthropic,
        lambda client: ClaudeAgent(tools=TOOLS, client=client, max_tokens=64_000),
        _events(_claude(_text(TEXT), _use("read", **CALL), stop="tool_use")),
        _events(_claude(_text("done"))),
        PING,
        event(BUSY, named=True),
        2,
    ),
    "chat": Vendor(
        AsyncOpenAI,
        lambda client: OpenAIAgent(tools=TOOLS, client=client, max_tokens=64_000),
        chat_chunks(_reply(TEXT, _call("read", json.dumps(CALL)), finish="tool_calls")),
        chat_chunks(_reply("done")),
        b": ping\n\n",
        event(FULL, named=False),
        3,
    ),
    "responses": Vendor(
        AsyncOpenAI,
        lambda client: OpenAIResponsesAgent(tools=TOOLS, client=client, max_tokens=64_000),
        response_events(response(said(TEXT), use("read", json.dumps(CALL)))),
        response_events(response(said("done"))),
        b": ping\n\n",
        event({"type": "error", "sequence_number": 9, "code": "server_error", "message": "overloaded"}, named=True),
        1,
    ),
}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_retries, "FIRST_PAUSE", 0.001)


def talk(
    vendor: Vendor, place: Path, *scripts: list[Part], texts: tuple[str, ...] = ("one",), retries: int = 0
) -> tuple[list[ThreadEvent], Streams, list[Any]]:
    """The events of a thread, the requests that its server got, and the balances of its ledger."""
    ran.clear()

    async def go() -> tuple[list[ThreadEvent], list[Any]]:
        caps = [Cap("thread", usd=1_000)]
        async with (
            vendor.client(base_url=streams.url, api_key="test", max_retries=retries) as client,
            Ledger(str(place / "spending.db"), caps, prices=PRICES) as ledger,
            Thread(MemoryStore(), "t", agent=vendor.agent(client), tools=TOOLS, policy=POLICY, ledger=ledger) as thread,
        ):
            for text in texts:
                async for _ in thread.send(text):
                    pass
            return [each async for each in thread.events()], await ledger.balances(thread="t")

    with streaming(*scripts) as streams:
        events, balances = asyncio.run(go())
    return events, streams, balances


def end_of(events: list[ThreadEvent], turn: int) -> Ended:
    """The end of a turn."""
    (found,) = [each for each in events if isinstance(each, Ended) and each.turn == turn]
    return found


@pytest.mark.parametrize("name", VENDORS)
def test_pings_and_bytes_that_split_a_character_change_nothing(name: str, tmp_path: Path) -> None:
    vendor = VENDORS[name]
    raw = b"".join(vendor.ping + each for each in vendor.calling)
    assert "🐈".encode() in raw or b"\\ud83d" in raw
    events, streams, _ = talk(vendor, tmp_path, [raw[at : at + 1] for at in range(len(raw))], [*vendor.done])
    assert end_of(events, 1).answer == "done"
    assert ran == [("read", "ü🐈")]
    assert "".join(each.text for each in events if isinstance(each, ThreadText)) == f"{TEXT}done"
    asked = streams.requests[0]
    most = [asked.get(each) for each in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    assert 64_000 in most
    assert asked["stream"] is True


@pytest.mark.parametrize("name", VENDORS)
def test_a_stream_that_is_cut_off_anywhere_fails_the_turn_and_the_next_one_knows_nothing_of_it(
    name: str, tmp_path: Path
) -> None:
    vendor = VENDORS[name]
    for kept in range(len(vendor.calling) - vendor.whole):
        for cut in ([CUT], []):
            events, streams, _ = talk(
                vendor, tmp_path, [*vendor.calling[:kept], *cut], [*vendor.done], texts=("one", "two")
            )
            end = end_of(events, 1)
            assert (end.outcome, end.code, end.answer) == ("failed", "reply_cut_off", None), (kept, cut)
            assert ran == []
            assert not [each for each in events if isinstance(each, (CallProposed, CallResult))]
            shown = [each for each in events if isinstance(each, ThreadText) and each.turn == 1]
            assert len([each for each in events if isinstance(each, ReplyDiscarded)]) == bool(shown)
            assert end_of(events, 2).answer == "done"
            assert "Gr" not in json.dumps(streams.requests[1]), "a half reply is part of no conversation"


@pytest.mark.parametrize("name", VENDORS)
def test_a_stream_that_is_cut_off_before_its_usage_is_whole_or_fails(name: str, tmp_path: Path) -> None:
    vendor = VENDORS[name]
    for left in range(1, vendor.whole + 1):
        for cut in ([CUT], []):
            script = [*vendor.calling[: len(vendor.calling) - left + 1], *cut]
            (tmp_path / f"{left}{len(cut)}").mkdir()
            events, _, (balance,) = talk(vendor, tmp_path / f"{left}{len(cut)}", script, [*vendor.done])
            end = end_of(events, 1)
            if end.outcome == "succeeded":
                assert (end.answer, ran) == ("done", [("read", "ü🐈")])
            else:
                assert (end.code, ran) == ("reply_cut_off", [])
            assert balance.spent + balance.reserved > 0


@pytest.mark.parametrize("name", VENDORS)
def test_an_error_amid_the_stream_fails_the_turn(name: str, tmp_path: Path) -> None:
    vendor = VENDORS[name]
    middle = next(at for at, each in enumerate(vendor.calling) if b"delta" in each and b"Gr" in each) + 1
    events, _, _ = talk(
        vendor, tmp_path, [*vendor.calling[:middle], vendor.error], [*vendor.done], texts=("one", "two")
    )
    end = end_of(events, 1)
    code = "reply_cut_off" if name == "responses" else "agent_failed"
    assert (end.outcome, end.code, end.answer) == ("failed", code, None)
    assert "verloaded" in (end.error or "")
    assert any(isinstance(each, ReplyDiscarded) for each in events)
    assert (end_of(events, 2).answer, ran) == ("done", [])


REFUSALS = {
    429: Refusal(429, {"error": {"type": "rate_limit_error", "message": "Slow down"}}, (("Retry-After", "0"),)),
    500: Refusal(500, {"error": {"type": "api_error", "message": "Broken"}}, (("Retry-After", "0"),)),
    529: Refusal(529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, (("Retry-After", "0"),)),
}


@pytest.mark.parametrize("status", REFUSALS)
@pytest.mark.parametrize("name", VENDORS)
def test_a_refused_request_is_repeated_and_at_last_fails_the_turn(name: str, status: int, tmp_path: Path) -> None:
    vendor, refusal = VENDORS[name], REFUSALS[status]
    events, streams, _ = talk(vendor, tmp_path, [refusal], [refusal], [*vendor.done], retries=2)
    assert (end_of(events, 1).answer, len(streams.requests)) == ("done", 3)
    events, streams, _ = talk(vendor, tmp_path, [refusal], [refusal], [*vendor.done], texts=("one", "two"), retries=1)
    end = end_of(events, 1)
    assert (end.outcome, end.code, len(streams.requests)) == ("failed", "agent_failed", 3)
    assert str(status) in (end.error or "")
    assert end_of(events, 2).answer == "done"
