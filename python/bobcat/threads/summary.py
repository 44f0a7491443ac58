"""A window with a summary of the turns before those that it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
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

    `summarise` gets the earlier summary, or None, and the turns that it lacks: each turn once, in order, and at most
    `turns` of them for one message. The first summary of a longer thread begins with the newest `turns`; those before
    never enter it, and the model reads so. The summary is kept in the thread as the note `name`, up to `chars`
    characters. Where `summarise` fails, or takes longer than `seconds`, the model sees the earlier summary and reads
    which turns are missing; the next message tries again.
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
        kept = _read(await history.note(self.name))
        if kept.through < oldest - 1:
            kept = await self._extended(loaded, kept, oldest - 1)
        return [*_messages(kept, oldest - 1), *choice]

    async def _extended(self, history: LoadedHistory, kept: _Kept, last: int) -> _Kept:
        first = kept.through + 1 if kept.text is not None else max(1, last - self.turns + 1)
        through = min(last, first + self.turns - 1)
        turns = [await history.turn(number) for number in range(first, through + 1)]
        try:
            async with asyncio.timeout(self.seconds):
                found: object = await self.summarise(kept.text, turns)
            if not isinstance(found, str) or not found.strip():
                raise TypeError(f"a summariser must return a text, got {type(found).__name__}")
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return _failed(error, kept)
        except Exception as error:
            return _failed(error, kept)
        extended = _Kept(truncated(found, self.chars), first if kept.text is None else kept.first, through)
        await history.keep_note(self.name, asdict(extended))
        return extended


@dataclass(frozen=True)
class _Kept:
    """A summary of the turns `first` to `through`. Without a text it has none."""

    text: str | None = None
    first: int = 1
    through: int = 0


def _failed(error: BaseException, kept: _Kept) -> _Kept:
    log.warning("the summary of a thread stays as it was: %s", format_exception(error))
    return kept


def _read(note: dict[str, object] | None) -> _Kept:
    """The summary of a note. A note of another form counts as no note."""
    found = note or {}
    text, first, through = found.get("text"), found.get("first", 1), found.get("through")
    if isinstance(text, str) and type(first) is int and type(through) is int and 1 <= first <= through:
        return _Kept(text, first, through)
    return _Kept()


def _messages(kept: _Kept, last: int) -> list[Message]:
    found: list[Message] = []
    if kept.text is not None:
        of = (
            "the conversation up to here"
            if kept.first == 1 and kept.through == last
            else _turns(kept.first, kept.through)
        )
        found.append(Message("user", f"[Summary of {of}]\n{kept.text}"))
    missing = [(1, kept.first - 1), (kept.through + 1, last)]
    names = " and ".join(_turns(first, end) for first, end in missing if first <= end)
    if names:
        found.insert(0, Message("user", f"[What was said in {names} is missing here: no summary has it.]"))
    return found


def _turns(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first} to {last}"
