"""Stock windows: what they show, what they load, and what they do when a part fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import Message
from bobcat.compression import truncate_compressor
from bobcat.model.attachment import Attachment
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef
from bobcat.threads import (
    Compressed,
    Facts,
    LastMessages,
    LastTokens,
    Pinned,
    Recent,
    Shown,
    Summary,
    Turn,
    Window,
    estimate_tokens,
)

NEW = Message("user", "new")


class InMemory:
    """A history that counts the turns that it loads."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self.loaded: list[int] = []
        self.notes: dict[str, dict[str, object]] = {}

    @property
    def turns(self) -> int:
        return len(self._turns)

    async def newest_first(self) -> AsyncIterator[Turn]:
        for turn in reversed(self._turns):
            self.loaded.append(turn.number)
            yield turn

    async def turn(self, number: int) -> Turn:
        if not 1 <= number <= len(self._turns):
            raise KeyError(number)
        self.loaded.append(number)
        return self._turns[number - 1]

    async def pinned(self) -> Sequence[Turn]:
        return [turn for turn in self._turns if turn.pinned]

    async def note(self, name: str) -> dict[str, object] | None:
        return self.notes.get(name)

    async def keep_note(self, name: str, note: dict[str, object]) -> None:
        self.notes[name] = note


def turn_of(number: int, calls: int = 0, *, pinned: bool = False, signed: bool = False, size: int = 4) -> Turn:
    messages = [Message("user", f"question {number}")]
    for call in range(calls):
        data = {"claude": {"thinking": "t"}} if signed and call % 2 == 0 else None
        name = f"c{number}_{call}"
        messages.append(Message("assistant", "", "look", name, {"n": call}, data))
        messages.append(Message("tool", "[ok] " + "x" * size, "look", name))
    return Turn(number, (*messages, Message("assistant", f"answer {number}")), pinned)


def thread(count: int, **more: Any) -> InMemory:
    return InMemory([turn_of(number, **more) for number in range(1, count + 1)])


def shown(window: Window, history: InMemory) -> list[Message]:
    choice = asyncio.run(window.choose(history, NEW))
    found: list[Message] = []
    for each in choice:
        if isinstance(each, Shown):
            found += history._turns[each.turn - 1].messages[each.first : each.last + 1]
        else:
            found.append(each)
    return found


def texts(window: Window, history: InMemory) -> list[str]:
    return [message.content for message in shown(window, history)]


async def joined(earlier: str | None, turns: Sequence[Turn]) -> str:
    return " ".join([*([earlier] if earlier else []), *(str(turn.number) for turn in turns)])


TURNS = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.booleans(), st.sampled_from([0, 4, 900])), max_size=8
).map(
    lambda rows: [
        turn_of(number, calls, pinned=pinned, signed=signed, size=size)
        for number, (calls, pinned, signed, size) in enumerate(rows, 1)
    ]
)
WINDOWS = st.one_of(
    st.integers(1, 30).map(LastMessages),
    st.integers(1, 400).map(LastTokens),
    st.builds(Recent, st.integers(1, 30), st.integers(1, 400)),
)


@given(turns=TURNS, window=WINDOWS)
def test_calls_stand_with_their_answers_within_the_bounds(turns: list[Turn], window: Window) -> None:
    history = InMemory(turns)
    messages = shown(window, history)
    for position, message in enumerate(messages):
        if message.tool_call_args is not None:
            assert messages[position + 1].tool_call_id == message.tool_call_id
        if message.role == "tool":
            assert messages[position - 1].tool_call_args is not None
    assert not messages or messages[0].role == "user"
    if isinstance(window, LastMessages):
        assert len(messages) <= window.n
    if isinstance(window, LastTokens):
        assert sum(map(estimate_tokens, messages)) <= window.n
    assert shown(window, InMemory(turns)) == messages


@given(turns=TURNS, window=WINDOWS)
def test_windows_on_top_lose_nothing_and_repeat_nothing(turns: list[Turn], window: Window) -> None:
    history = InMemory(turns)
    base = shown(window, history)
    pinned = shown(Pinned(window), history)
    whole = [message for turn in turns if turn.pinned for message in turn.messages]
    assert [message for message in pinned if message in base] == base
    assert all(message in pinned for message in whole)
    assert len(pinned) == len({*map(repr, pinned)})
    order = [message for turn in turns for message in turn.messages]
    assert pinned == [message for message in order if message in pinned]
    shorter = shown(Compressed(window, truncate_compressor(max_chars=5)), history)
    assert len(shorter) == len(base)
    for one, two in zip(base, shorter, strict=True):
        assert one == two or (len(two.content) < len(one.content) and replace(two, content=one.content) == one)


def test_the_calls_of_one_signed_reply_stay_together() -> None:
    history = InMemory([turn_of(1, 6, signed=True)])
    for size in range(1, 14):
        messages = shown(LastMessages(size), history)
        calls = [message for message in messages if message.tool_call_args is not None]
        assert len(calls) % 2 == 0
        assert not calls or calls[0].provider_data is not None


def test_a_call_without_an_answer_is_left_out() -> None:
    broken = Turn(1, (*turn_of(1, 1).messages[:3], Message("assistant", "", "look", "lost", {}), Message("user", "?")))
    assert [message.tool_call_id for message in shown(Recent(), InMemory([broken]))] == [None, "c1_0", "c1_0", None]


@pytest.mark.parametrize("window", [LastMessages(10), LastTokens(300), Recent(10), Pinned(Recent(10))])
def test_a_long_thread_loads_no_more_than_a_short_one(window: Window) -> None:
    short, long = thread(100), thread(10_000)
    assert shown(window, short)
    assert shown(window, long)
    assert len(long.loaded) <= len(short.loaded) <= 20


def test_a_summary_takes_each_turn_once() -> None:
    seen: list[int] = []

    async def summarise(earlier: str | None, turns: Sequence[Turn]) -> str:
        seen.extend(turn.number for turn in turns)
        return await joined(earlier, turns)

    window, notes = Summary(summarise, keep=LastMessages(4)), dict[str, dict[str, object]]()
    for count in range(1, 9):
        history = thread(count)
        history.notes = notes
        found = texts(window, history)
    assert seen == [1, 2, 3, 4, 5, 6]
    assert found == [
        "[Summary of the conversation up to here]\n1 2 3 4 5 6", "question 7", "answer 7", "question 8", "answer 8",
    ]  # fmt: skip


def test_a_summary_of_a_long_thread_is_bounded() -> None:
    history = thread(10_000)
    found = texts(Summary(joined, keep=LastMessages(4), turns=3), history)
    assert len(history.loaded) <= 8
    assert history.notes["summary"] == {"text": "9996 9997 9998", "first": 9996, "through": 9998}
    assert found[:2] == [
        "[What was said in turns 1 to 9995 is missing here: no summary has it.]",
        "[Summary of turns 9996 to 9998]\n9996 9997 9998",
    ]


def test_a_summary_that_is_behind_catches_up_in_order() -> None:
    history, window = thread(9), Summary(joined, keep=LastMessages(2), turns=3)
    history.notes["summary"] = {"text": "1", "through": 1}
    assert texts(window, history)[:2] == [
        "[What was said in turns 5 to 8 is missing here: no summary has it.]",
        "[Summary of turns 1 to 4]\n1 2 3 4",
    ]
    assert texts(window, history)[1] == "[Summary of turns 1 to 7]\n1 2 3 4 5 6 7"
    assert texts(window, history)[0] == "[Summary of the conversation up to here]\n1 2 3 4 5 6 7 8"


@pytest.mark.parametrize("wrong", [RuntimeError("down"), "", 7])
def test_a_summary_that_fails_says_what_is_missing(wrong: object) -> None:
    async def summarise(earlier: str | None, turns: Sequence[Turn]) -> Any:
        if isinstance(wrong, Exception):
            raise wrong
        return wrong

    history = thread(6)
    history.notes["summary"] = {"text": "early", "through": 2}
    assert texts(Summary(summarise, keep=LastMessages(2)), history)[:2] == [
        "[What was said in turns 3 to 5 is missing here: no summary has it.]",
        "[Summary of turns 1 to 2]\nearly",
    ]
    assert history.notes["summary"] == {"text": "early", "through": 2}


def test_older_results_are_shortened_and_the_last_turn_is_not() -> None:
    history = thread(3, calls=1, size=500)
    sizes = [
        len(each.content)
        for each in shown(Compressed(Recent(), truncate_compressor(max_chars=10)), history)
        if each.role == "tool"
    ]
    assert sizes[0] == sizes[1] < 60
    assert sizes[2] == 505

    async def broken(result: ActionResult, request: ActionRequest, tool: ToolDef) -> ActionResult:
        raise RuntimeError("no")

    assert shown(Compressed(Recent(), broken), history) == shown(Recent(), history)


def test_facts_stand_right_before_the_message_and_a_failure_is_visible() -> None:
    async def facts(message: Message) -> str | None:
        return f"about {message.content}"

    async def none(message: Message) -> str | None:
        return None

    async def failing(message: Message) -> str | None:
        raise OSError("down")

    assert texts(Facts(Recent(), facts), thread(1)) == ["question 1", "answer 1", "[Facts]\nabout new"]
    assert texts(Facts(Recent(), none), thread(1)) == ["question 1", "answer 1"]
    assert texts(Facts(Recent(), failing), thread(1))[-1] == "[The facts for this message could not be obtained.]"


def test_tokens_are_counted_by_the_agent_where_it_counts() -> None:
    class Agent:
        def count_tokens(self, conversation: Sequence[Message]) -> int:
            return 10 * len(conversation)

    assert len(shown(LastTokens(40, count=Agent()), thread(9))) == 4
    assert len(shown(LastTokens(4, count=lambda _: 1), thread(9))) == 4
    with pytest.raises(TypeError, match="count must be"):
        LastTokens(4, count="many")  # type: ignore[arg-type]
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            LastMessages(wrong)
    with pytest.raises(TypeError, match="integer"):
        Recent(messages=1.5)  # type: ignore[arg-type]


@given(text=st.text(max_size=300))
def test_an_estimate_is_at_least_a_third_of_the_bytes(text: str) -> None:
    assert 3 * estimate_tokens(Message("user", text)) >= len(text.encode("utf-8", "replace"))


def test_attachments_count() -> None:
    def more(media_type: str, size: int) -> int:
        file = Attachment("a", media_type, "0" * 64, size)
        return estimate_tokens(Message("user", "see", attachments=(file,))) - estimate_tokens(Message("user", "see"))

    assert (more("text/plain", 3000), more("image/png", 900_000)) == (1000, 1600)
    assert (more("application/pdf", 10), more("application/pdf", 900_000)) == (1600, 90_000)
