"""A history that keeps what it has loaded, for windows on top of others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from bobcat.threads.history import History, Turn


class LoadedHistory:
    """A history that loads no turn twice."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._loaded: dict[int, Turn] = {}

    @property
    def turns(self) -> int:
        """The number of earlier turns."""
        return self._history.turns

    async def newest_first(self) -> AsyncIterator[Turn]:
        """The earlier turns, from the last one back."""
        async for turn in self._history.newest_first():
            self._loaded[turn.number] = turn
            yield turn

    async def turn(self, number: int) -> Turn:
        """One earlier turn. Raises `KeyError`."""
        found = self._loaded.get(number)
        if found is None:
            found = self._loaded[number] = await self._history.turn(number)
        return found

    async def pinned(self) -> Sequence[Turn]:
        """The pinned turns, oldest first."""
        found = await self._history.pinned()
        self._loaded.update({each.number: each for each in found})
        return found

    async def note(self, name: str) -> dict[str, object] | None:
        """A note of the thread."""
        return await self._history.note(name)

    async def keep_note(self, name: str, note: dict[str, object]) -> None:
        """Keep a note."""
        await self._history.keep_note(name, note)
