"""Windows that show the last messages, up to a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from bobcat.model.run import Message
from bobcat.threads.blocks import newest_blocks, whole_turn
from bobcat.threads.history import Choice, History, Shown, Turn
from bobcat.threads.tokens import Count, counter

RECENT_MESSAGES = 100
RECENT_TOKENS = 50_000


@dataclass(frozen=True, slots=True)
class LastMessages:
    """Show the last `n` messages: whole turns, and of a turn above the bound its question and its end."""

    n: int

    def __post_init__(self) -> None:
        _check("n", self.n)

    async def choose(self, history: History, message: Message) -> Choice:
        """Return the last messages."""
        return await _newest(history, _Bounds(self.n, None, counter(None)))


@dataclass(frozen=True, slots=True)
class LastTokens:
    """Show the last messages of at most `n` tokens in sum.

    `count` is a function of a message, or an agent with `count_tokens`; without it, `estimate_tokens`.
    """

    n: int
    count: Count | None = None

    def __post_init__(self) -> None:
        _check("n", self.n)
        counter(self.count)

    async def choose(self, history: History, message: Message) -> Choice:
        """Return the last messages."""
        return await _newest(history, _Bounds(None, self.n, counter(self.count)))


@dataclass(frozen=True, slots=True)
class Recent:
    """Show the last messages within both bounds. The window of a thread that names no other."""

    messages: int = RECENT_MESSAGES
    tokens: int = RECENT_TOKENS
    count: Count | None = None

    def __post_init__(self) -> None:
        _check("messages", self.messages)
        _check("tokens", self.tokens)
        counter(self.count)

    async def choose(self, history: History, message: Message) -> Choice:
        """Return the last messages."""
        return await _newest(history, _Bounds(self.messages, self.tokens, counter(self.count)))


@dataclass(slots=True)
class _Bounds:
    """What is left of the bounds."""

    messages: int | None
    tokens: int | None
    count: Callable[[Message], int]

    def fits(self, messages: Sequence[Message]) -> bool:
        """Return true if the messages are within what is left."""
        if self.messages is not None and len(messages) > self.messages:
            return False
        return self.tokens is None or sum(map(self.count, messages)) <= self.tokens

    def take(self, messages: Sequence[Message]) -> None:
        """Subtract the messages."""
        if self.messages is not None:
            self.messages -= len(messages)
        if self.tokens is not None:
            self.tokens -= sum(map(self.count, messages))


async def _newest(history: History, bounds: _Bounds) -> Choice:
    """The last turns within the bounds, in part the oldest of them. At most one turn is loaded and not shown."""
    chosen: list[list[Shown]] = []
    async with aclosing(cast("Any", history.newest_first())) as turns:  # Any: an iterator need not be a generator
        async for turn in turns:
            shown = whole_turn(turn)
            messages = _messages(turn, shown)
            if not bounds.fits(messages):
                chosen.append(newest_blocks(turn, bounds.fits))
                break
            bounds.take(messages)
            chosen.append(shown)
            if bounds.messages == 0 or bounds.tokens == 0:
                break
    return [each for shown in reversed(chosen) for each in shown]


def _messages(turn: Turn, shown: Sequence[Shown]) -> list[Message]:
    return [message for each in shown for message in turn.messages[each.first : each.last + 1]]


def _check(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
