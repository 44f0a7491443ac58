"""Parts of a model's reply as they arrive, for agents with a method `stream`.

Deltas are for display. No policy has seen them, nothing runs because of them, and they are not in the journal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bobcat.model.fast_init import fast_init
from bobcat.model.run import FinalAnswer, Message, ToolCall


@fast_init
@dataclass(frozen=True, slots=True)
class TextDelta:
    """Further text of the reply."""

    text: str


@fast_init
@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Further text of the model's thinking, where the provider shows it."""

    text: str


@fast_init
@dataclass(frozen=True, slots=True)
class CallDelta:
    """Further text of the JSON arguments of the call `call_id` of `tool`. The call is proposed at the reply's end."""

    call_id: str
    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplyEnd:
    """End of one reply. `complete` is false for a reply that failed: its deltas count for nothing."""

    complete: bool


@dataclass(frozen=True, slots=True)
class DeltasLost:
    """Deltas left out because the reader is too slow: the number of `characters`, with the ends of replies in them."""

    characters: int


Delta: TypeAlias = TextDelta | ThinkingDelta | CallDelta
"""The deltas that an agent yields."""

DeltaEvent: TypeAlias = Delta | ReplyEnd | DeltasLost
"""The events that `on_delta` receives."""

OnDelta: TypeAlias = Callable[[DeltaEvent], Awaitable[None] | None]
"""A reader of deltas: an async function, or a plain one that returns soon."""


class StreamingAgent(Protocol):
    """An agent that yields the deltas of its reply, and at the end the reply."""

    def step(self, conversation: Sequence[Message], /) -> Awaitable[ToolCall | FinalAnswer | Sequence[ToolCall]]:
        """The next action, given the conversation so far."""

    def stream(
        self, conversation: Sequence[Message], /
    ) -> AsyncIterator[Delta | ToolCall | FinalAnswer | Sequence[ToolCall]]:
        """The deltas of the next action, then the action as `step` returns it."""
