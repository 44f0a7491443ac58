"""The seam between a thread and what its model sees: a `Window` chooses among the messages of earlier turns.

The choice is journaled with the turn, so a resumed or replayed turn shows the model the same messages, byte for byte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bobcat.model.run import Message


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn: its `number`, from 1 on, and its messages, from the user's to the answer.

    A call and its answer stand next to each other; vendors refuse one without the other. `pinned` is set by people.
    """

    number: int
    messages: tuple[Message, ...]
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """Messages `first` to `last` (both included) of an earlier turn, as they are in its journal."""

    turn: int
    first: int
    last: int


Choice: TypeAlias = Sequence[Shown | Message]
"""What the model sees of the earlier turns, oldest first. A `Message` is in place of others: a summary, a shortened
result, a fact. It is journaled as it is; a `Shown` is journaled as a reference."""


class History(Protocol):
    """The earlier turns of a thread. Nothing is loaded before it is asked for."""

    @property
    def turns(self) -> int:
        """The number of earlier turns."""

    def newest_first(self) -> AsyncIterator[Turn]:
        """The earlier turns, from the last one back, loaded as the iteration proceeds."""

    async def turn(self, number: int) -> Turn:
        """One earlier turn. Raises `KeyError`."""

    async def pinned(self) -> Sequence[Turn]:
        """The pinned turns, oldest first."""

    async def note(self, name: str) -> dict[str, object] | None:
        """A note that a window kept in the thread, such as a summary; None without one."""

    async def keep_note(self, name: str, note: dict[str, object]) -> None:
        """Keep a note, a JSON object, for later turns. The last one counts."""


class Window(Protocol):
    """Chooses what the model sees of the earlier turns. A class with one method; it may be async."""

    async def choose(self, history: History, message: Message) -> Choice:
        """The messages to show before `message`, the user's new one."""
