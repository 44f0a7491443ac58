"""The conversation of a run: append-only, and an immutable sequence for the agent.

An agent gets a view per step. A view takes constant time to build, however long the conversation is, and does not
change when the conversation grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast, overload

from bobcat.model.run import Message

Parts = tuple[Any, ...]
"""The fields of a message that was not read yet. PERF: 0.1 µs to keep, 1 µs to build a `Message` from."""


class Conversation:
    """The messages so far. Only the run loop holds one."""

    __slots__ = ("_built", "_messages", "append")

    def __init__(self, *first: Message) -> None:
        self._messages: list[Message | Parts] = [*first]
        self._built = len(first)
        self.append: Callable[[Parts], None] = self._messages.append
        """Add a message at the end, given as its fields in order."""

    def view(self) -> ConversationView:
        """The messages up to now."""
        return ConversationView(self._messages, len(self._messages))

    def as_tuple(self) -> tuple[Message, ...]:
        """A copy of the messages up to now, in time linear in their number."""
        view = self.view()
        for position in range(self._built, len(view)):
            view[position]  # builds the message
        self._built = len(view)
        return cast("tuple[Message, ...]", tuple(self._messages))


class ConversationView(Sequence[Message]):
    """The first `length` messages of a conversation. Supports indexing, comparison and concatenation like a tuple."""

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
        return len(other) == self._length and all(left == right for left, right in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[Message, ...]], tuple[tuple[Message, ...]]]:
        return tuple, (tuple(self),)
