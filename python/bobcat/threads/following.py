"""Following a thread: its events as its journals grow, in the process that executes it and in any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from bobcat.threads.events import ThreadEvent
from bobcat.threads.journal import TURN, Begun, ThreadJournal, begun_of, turn_id
from bobcat.threads.view import TurnView

POLL_SECONDS = 0.1

Advance = Callable[[], Awaitable[bool]]
"""Waits for a change; false when there will be none."""


class Signal:
    """Wakes those who wait for a change in this process."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Wake all that wait."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait for a change, or for `seconds`.

        `wait_for` of Python 3.11 swallows a cancellation that arrives with the change; `timeout` does not.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()


async def follow_turn(
    journal: ThreadJournal, begun: Begun, signal: Signal, advance: Advance | None
) -> AsyncIterator[ThreadEvent]:
    """The events of one turn until it ends, or until `advance` says that nothing will come."""
    view = TurnView(begun.number, begun.before)
    while True:
        found = await _new_events(journal, view)
        for event in found:
            yield event
        if view.ended or (not found and (advance is None or not await advance())):
            break
    if not view.ended:
        for event in await _new_events(journal, view):
            yield event


async def thread_events(
    journal: ThreadJournal, since: int, signal: Signal, advance: Advance | None
) -> AsyncIterator[ThreadEvent]:
    """The events after `since`, turn by turn."""
    position = await _start(journal, since)
    while True:
        begun: Begun | None = None
        async for record in journal.forwards(position):
            position = record.seq + 1
            if record.kind == TURN:
                begun = begun_of(record)
                break
        if begun is None:
            if advance is None or not await advance():
                return
            continue
        async for event in follow_turn(journal, begun, signal, advance):
            if event.seq > since:
                yield event


async def _new_events(journal: ThreadJournal, view: TurnView) -> list[ThreadEvent]:
    return view.take(await journal.store.load_from(turn_id(journal.thread, view.turn), seq=view.records))


async def _start(journal: ThreadJournal, since: int) -> int:
    """The position of the last turn that begins at or before the event `since`."""
    if since == 0:
        return 0
    async for record in journal.backwards():
        if record.kind == TURN and record.body["before"] <= since:
            return record.seq
    return 0
