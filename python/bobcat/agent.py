"""What the kernel needs of an agent: one method."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol, runtime_checkable

from bobcat.model import FinalAnswer, Message, ToolCall


@runtime_checkable
class Agent(Protocol):
    """Proposes what to do next. Several tool calls in one list or tuple are one reply, carried out in order."""

    def step(self, conversation: Sequence[Message], /) -> Awaitable[ToolCall | FinalAnswer | Sequence[ToolCall]]:
        """The next action, given everything said so far."""
