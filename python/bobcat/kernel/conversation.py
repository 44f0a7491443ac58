"""The conversation of a run: it grows at its end, and an agent sees it as an immutable sequence.

An agent gets a view per step. A view is made in constant time, however long the conversation is, and does not change
when the conversation grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast, overload

from bobcat.model import Message

Parts = tuple[Any, ...]
"""The fields of a message that nobody has looked at yet. PERF: 0.1 µs to keep, 1 µs to make a `Message` of."""


class Conversation:
    """The messages so far. Only the kernel holds one."""

    __slots__ = ("_made", "_messages", "append")

    def __init__(self, first: Message) -> None:
        self._messages: list[Message | Parts] = [first]
        self._made = 1
        self.append: Callable[[Parts], None] = self._messages.append
        """Add a message at the end, given as its fields in order."""

    def view(self) -> ConversationView:
        """The messages up to now."""
        return ConversationView(self._messages, len(self._messages))

    def as_tuple(self) -> tuple[Message, ...]:
        """The messages up to now, copied: this takes longer the more they are."""
        view = self.view()
        for position in range(self._made, len(view)):
            view[position]  # makes the message
        self._made = len(view)
        return cast("tuple[Message, ...]", tuple(self._messages))


class ConversationView(Sequence[Message]):
    """The first `length` messages of a conversation. Reads, compares and adds up like a tuple."""

    __slots__ = ("_length", "_messages")

    def __init__(self, messages: list[Message | Parts], length: int) -> None:
        self._messages = messages
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self._at(i) for i in range(*index.indices(self._length)))
        position = index + self._length if index < 0 else index
        if not 0 <= position < self._length:
            raise IndexError("conversation index out of range")
        return self._at(position)

    def __iter__(self) -> Iterator[Message]:
        return map(self._at, range(self._length))

    def _at(self, position: int) -> Message:
        found = self._messages[position]
        if type(found) is tuple:
            found = self._messages[position] = Message(*found)
        return cast("Message", found)

    def __add__(self, other: Sequence[Message]) -> tuple[Message, ...]:
        return (*self, *other)

    def __radd__(self, other: Sequence[Message]) -> tuple[Message, ...]:
        return (*other, *self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, ConversationView)):
            return NotImplemented
        return len(other) == self._length and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[Message, ...]], tuple[tuple[Message, ...]]]:
        return tuple, (tuple(self),)
