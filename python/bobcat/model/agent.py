"""The agent protocol of the run loop: one method."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol, runtime_checkable

from bobcat.model.run import FinalAnswer, Message, ToolCall


@runtime_checkable
class Agent(Protocol):
    """Proposes the next action. Several tool calls in one list or tuple are one reply, executed in order."""

    def step(self, conversation: Sequence[Message], /) -> Awaitable[ToolCall | FinalAnswer | Sequence[ToolCall]]:
        """The next action, given the conversation so far."""
