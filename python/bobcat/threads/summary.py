"""A window with a summary of the turns before those that it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bobcat.aio.tasks import being_cancelled
from bobcat.compression.shortening import truncated
from bobcat.logs import logger
from bobcat.model.run import Message
from bobcat.text.json_text import format_exception
from bobcat.threads.history import Choice, History, Shown, Turn, Window
from bobcat.threads.reading import LoadedHistory
from bobcat.threads.recent import Recent

log = logger("threads")

SUMMARY_SECONDS = 120.0
SUMMARY_CHARS = 20_000
SUMMARY_TURNS = 50

Summarise: TypeAlias = Callable[[str | None, Sequence[Turn]], Awaitable[str]]
"""Gives the new summary from the earlier one and the turns that have left the window since."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Show what `keep` shows, and before it a summary of the earlier turns.

    `summarise` gets the earlier summary, or None, and the turns that it lacks: each turn once, and at most `turns` of
    them, the newest, when a long thread gets a summary. The summary is kept in the thread as the note `name`, and shown
    up to `chars` characters. Where `summarise` fails, or takes longer than `seconds`, the model sees the earlier
    summary and reads which turns are missing; the next message tries again.
    """

    summarise: Summarise
    keep: Window = field(default_factory=Recent)
    name: str = "summary"
    seconds: float = SUMMARY_SECONDS
    chars: int = SUMMARY_CHARS
    turns: int = SUMMARY_TURNS

    async def choose(self, history: History, message: Message) -> Choice:
        """Return the summary and the choice of `keep`."""
        loaded = LoadedHistory(history)
        choice = await self.keep.choose(loaded, message)
        oldest = min((each.turn for each in choice if isinstance(each, Shown)), default=history.turns + 1)
        text, through = _read(await history.note(self.name))
        if through < oldest - 1:
            text, through = await self._extended(loaded, text, through, oldest - 1)
        return [*_messages(text, through, oldest - 1), *choice]

    async def _extended(
        self, history: LoadedHistory, text: str | None, through: int, last: int
    ) -> tuple[str | None, int]:
        first = max(through + 1, last - self.turns + 1)
        turns = [await history.turn(number) for number in range(first, last + 1)]
        try:
            async with asyncio.timeout(self.seconds):
                found: object = await self.summarise(text, turns)
            if not isinstance(found, str) or not found.strip():
                raise TypeError(f"a summariser must return a text, got {type(found).__name__}")
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return _failed(error, text, through)
        except Exception as error:
            return _failed(error, text, through)
        shorter = truncated(found, self.chars)
        await history.keep_note(self.name, {"text": shorter, "through": last})
        return shorter, last


def _failed(error: BaseException, text: str | None, through: int) -> tuple[str | None, int]:
    log.warning("the summary of a thread stays as it was: %s", format_exception(error))
    return text, through


def _read(note: dict[str, object] | None) -> tuple[str | None, int]:
    """The text of a note, and the last turn in it. A note of another form counts as no note."""
    text, through = (note or {}).get("text"), (note or {}).get("through")
    if isinstance(text, str) and isinstance(through, int) and not isinstance(through, bool):
        return text, through
    return None, 0


def _messages(text: str | None, through: int, last: int) -> list[Message]:
    found = [] if text is None else [Message("user", f"[Summary of the conversation up to here]\n{text}")]
    if through < last:
        missing = f"turn {last}" if through + 1 == last else f"turns {through + 1} to {last}"
        found.append(Message("user", f"[A summary of {missing} could not be made: what they said is missing here.]"))
    return found
