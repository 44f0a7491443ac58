"""Earlier turns as a window sees them, and the choice of a window as the journal keeps it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from bobcat.aio.tasks import raise_if_cancelled
from bobcat.errors import StoreError, ThreadError
from bobcat.model.run import Message
from bobcat.stores.protocol import VersionConflict
from bobcat.text.json_text import format_exception
from bobcat.threads.files import files_of
from bobcat.threads.history import Shown, Turn, Window
from bobcat.threads.journal import NOTES, Begun, ThreadJournal, turn_id
from bobcat.threads.view import ENDS, message_from_body, message_to_body, messages_of

PINS = "thread.pin"
MAX_CACHED_TURNS = 256


class LoadedHistory:
    """The turns before a new one. A `History`."""

    def __init__(self, journal: ThreadJournal, turns: int) -> None:
        self._journal = journal
        self._turns = turns
        self._pins: frozenset[int] | None = None

    @property
    def turns(self) -> int:
        """The number of earlier turns."""
        return self._turns

    async def newest_first(self) -> AsyncIterator[Turn]:
        """The earlier turns, from the last one back."""
        for number in range(self._turns, 0, -1):
            yield await self.turn(number)

    async def turn(self, number: int) -> Turn:
        """One earlier turn. Raises `KeyError`."""
        if not 1 <= number <= self._turns:
            raise KeyError(number)
        return Turn(number, await self._messages_of(number), number in await self._pinned_numbers())

    async def _messages_of(self, number: int) -> tuple[Message, ...]:
        cache = self._journal.ended
        if number in cache:
            cache.move_to_end(number)
            return cache[number]
        records = await self._journal.store.load(turn_id(self._journal.thread, number))
        body = next((each.body for each in records if each.kind == "run.started"), None)
        if body is None:
            raise KeyError(number)
        messages = messages_of(records, Message("user", body["task"], attachments=files_of(body)))
        if any(each.kind in ENDS for each in records):
            cache[number] = messages
            while len(cache) > MAX_CACHED_TURNS:
                cache.popitem(last=False)
        return messages

    async def pinned(self) -> Sequence[Turn]:
        """The pinned turns, oldest first."""
        return [await self.turn(number) for number in sorted(await self._pinned_numbers())]

    async def _pinned_numbers(self) -> frozenset[int]:
        """The numbers of the pinned turns, read once for each new turn."""
        if self._pins is None:
            found: set[int] = set()
            after = prefix = f"{self._journal.run_id}#"
            while page := await self._journal.store.scan(PINS, after=after):
                ours = [entry for entry in page if entry.key.startswith(prefix) and entry.body.get("pinned", True)]
                found.update(int(entry.key.removeprefix(prefix)) for entry in ours)
                after = page[-1].key
                if not after.startswith(prefix):
                    break
            self._pins = frozenset(number for number in found if 1 <= number <= self._turns)
        return self._pins

    async def note(self, name: str) -> dict[str, object] | None:
        """A note that a window kept in the thread."""
        entry = await self._journal.store.get(NOTES, f"{self._journal.run_id}#{name}")
        return None if entry is None else dict(entry.body)

    async def keep_note(self, name: str, note: dict[str, object]) -> None:
        """Keep a note for later turns. The last one counts."""
        key = f"{self._journal.run_id}#{name}"
        while True:
            entry = await self._journal.store.get(NOTES, key)
            try:
                await self._journal.store.put(NOTES, key, note, expected=0 if entry is None else entry.version)
            except VersionConflict:
                continue
            return


async def pin(journal: ThreadJournal, number: int, pinned: bool) -> None:
    """Pin a turn, or take its pin away. The last word counts."""
    key = turn_id(journal.thread, number)
    while True:
        entry = await journal.store.get(PINS, key)
        try:
            await journal.store.put(PINS, key, {"pinned": pinned}, expected=0 if entry is None else entry.version)
        except VersionConflict:
            continue
        return


async def choose(window: Window, history: LoadedHistory, message: Message) -> list[Any]:  # Any: JSON
    """The choice of a window, as `turn.started` keeps it.

    Raises `ThreadError`: `window_failed` for a window that raises, `bad_window` for an unusable choice.
    """
    found: list[Any] = []
    for each in await _choice(window, history, message):
        if isinstance(each, Message):
            found.append(message_to_body(each))
        elif isinstance(each, Shown):
            turn = await _existing(history, each)
            if not 0 <= each.first <= each.last < len(turn.messages):
                raise ThreadError("bad_window", f"the window chose messages that turn {each.turn} does not have")
            found.append([each.turn, each.first, each.last])
        else:
            raise ThreadError("bad_window", f"the window chose a {type(each).__name__}, not a Shown or a Message")
    return found


async def _choice(window: Window, history: LoadedHistory, message: Message) -> list[Any]:  # Any: not checked yet
    """All that a window chose. Errors of the store and of threads are raised as they are."""
    name = type(window).__name__
    try:
        chosen: Any = window.choose(history, message)
        if inspect.isawaitable(chosen):
            chosen = await chosen
    except (StoreError, ThreadError):
        raise
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        raise_if_cancelled(error)
        raise ThreadError("window_failed", f"the window `{name}` raised {format_exception(error)}") from error
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise ThreadError("bad_window", f"the window `{name}` chose a {type(chosen).__name__}, not a list")
    return list(chosen)


async def chosen_messages(history: LoadedHistory, begun: Begun) -> tuple[Message, ...]:
    """The messages of a recorded choice."""
    return tuple([message async for message in _messages(history, begun.choice)])


async def _messages(history: LoadedHistory, choice: Iterable[Any]) -> AsyncIterator[Message]:
    for each in choice:
        if isinstance(each, Sequence):
            number, first, last = each
            for message in (await history.turn(number)).messages[first : last + 1]:
                yield message
        else:
            yield message_from_body(each)


async def _existing(history: LoadedHistory, shown: Shown) -> Turn:
    try:
        return await history.turn(shown.turn)
    except KeyError as error:
        raise ThreadError("bad_window", f"the window chose turn {shown.turn}, which is not an earlier one") from error
