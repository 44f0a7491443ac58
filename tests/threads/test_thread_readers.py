"""Readers of a thread and slow sinks: none holds the turn up, and all get the same events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import AuditEvent, MemoryStore, Message, SQLiteStore
from bobcat.model.deltas import TextDelta
from bobcat.threads import Ended, ReplyDiscarded, ThreadText
from thread_conversations import Ledger as Payments
from thread_conversations import Payer, awaited, collect, thread

PARTS = 300


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "threads.db")


class Talkative(Payer):
    """Says much before each reply."""

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Any]:
        for number in range(PARTS):
            yield TextDelta(f"{number} ")
            await asyncio.sleep(0)
        yield await self.step(conversation)


async def ended(talk: Any) -> float:
    """Seconds until the thread's worker is done."""
    began = time.monotonic()
    while talk._task is None or not talk._task.done():
        assert time.monotonic() - began < 60, "the turn does not end"
        await asyncio.sleep(0.01)
    return time.monotonic() - began


@awaited
async def test_a_turn_ends_while_its_reader_sleeps(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments, agent=Talkative()) as talk:
        reading = talk.send("10")
        first = await anext(reading)
        await ended(talk)  # the reader asks for nothing meanwhile
        assert payments.paid == ["10"]
        events = [first, *await collect(reading)]
        assert isinstance(events[-1], Ended)
        assert events == await collect(talk.events())
    assert "".join(each.text for each in events if isinstance(each, ThreadText)).count("299") == 2


@awaited
async def test_a_slow_reader_gets_every_event_after_the_end(store: Any) -> None:
    payments = Payments()
    finished: list[float] = []
    async with thread(store, payments, agent=Talkative()) as talk:
        seen = []
        async for event in talk.send("10"):
            seen.append(event)
            await asyncio.sleep(0.05)
            if talk._task is not None and talk._task.done() and not finished:
                finished.append(len(seen))
        assert seen == await collect(talk.events())
    assert finished[0] < len(seen), "the turn ended before its reader"


@pytest.mark.parametrize("at", [0, 1, 3, 8])
@pytest.mark.parametrize("how", ["break", "cancel", "raise"])
@awaited
async def test_a_reader_that_goes_away_ends_no_turn(store: Any, how: str, at: int) -> None:
    payments = Payments()

    async def read(talk: Any) -> None:
        number = 0
        async for _ in talk.send("10", key="k"):
            if number == at:
                if how == "break":
                    return
                if how == "raise":
                    raise ZeroDivisionError
                await asyncio.get_running_loop().create_future()
            number += 1

    async with thread(store, payments) as talk:
        reading = asyncio.create_task(read(talk))
        await asyncio.wait([reading], timeout=0.3 if how == "cancel" else 60)
        reading.cancel()
        [outcome] = await asyncio.gather(reading, return_exceptions=True)
        assert isinstance(outcome, {"break": type(None), "raise": ZeroDivisionError}.get(how, asyncio.CancelledError))
        await ended(talk)
        again = await collect(talk.send("10", key="k"))
        assert isinstance(again[-1], Ended)
        assert again[-1].outcome == "succeeded"
        assert again == await collect(talk.events())
    assert payments.paid == ["10"]


@awaited
async def test_two_readers_and_the_sender_get_the_same_events(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments, agent=Talkative()) as talk, thread(store, payments) as other:

        async def follow(where: Any, since: int, pause: float) -> list[Any]:
            found: list[Any] = []
            async for event in where.events(since, follow=True):
                found.append(event)
                await asyncio.sleep(pause)
                if isinstance(event, Ended) and event.turn == 2:
                    break
            return found

        first = asyncio.create_task(collect(talk.send("10")))
        await asyncio.sleep(0.05)
        readers = [
            asyncio.create_task(follow(where, since, pause))
            for where, since, pause in ((talk, 0, 0.0), (other, 0, 0.002), (other, 5, 0.0))
        ]
        sent = [*await first, *await collect(talk.send("20"))]
        found = await asyncio.gather(*readers)
        everything = await collect(other.events())
    assert found[0] == found[1] == sent == everything
    assert found[2] == everything[5:]
    assert [each.seq for each in everything] == list(range(1, len(everything) + 1))


class Waiting:
    """A sink that holds every event until it may go on."""

    def __init__(self, *, deltas: bool) -> None:
        self.deltas = deltas
        self.kinds: list[str] = []

    async def __call__(self, event: AuditEvent) -> None:
        await asyncio.sleep(0.3 if self.deltas else 0.01)
        self.kinds.append(event.kind)


@pytest.mark.parametrize("deltas", [False, True])
@awaited
async def test_a_slow_sink_holds_up_no_reader_and_no_effect(store: Any, deltas: bool) -> None:
    payments, slow = Payments(), Waiting(deltas=deltas)
    async with thread(store, payments, agent=Talkative(), sinks=[slow]) as talk:
        events = await collect(talk.send("10"))
    assert payments.paid == ["10"]
    assert isinstance(events[-1], Ended)
    assert events[-1].outcome == "succeeded"
    assert next(kind for kind in slow.kinds if kind != "model.delta") == "run.started"
    assert "run.succeeded" in slow.kinds


class Stuck(Payer):
    """Ends its reply only in the second process."""

    def __init__(self, *, again: bool) -> None:
        self._again = again

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Any]:
        yield TextDelta("wai")
        if not self._again:
            await asyncio.get_running_loop().create_future()
        yield await self.step(conversation)


@awaited
async def test_a_turn_whose_process_stops_reading_and_working_is_resumed_by_another(store: Any) -> None:
    """The loop of the first process ends amid the reply, as by Ctrl-C."""
    payments = Payments()
    talk = thread(store, payments, agent=Stuck(again=False), owner="w")
    async for event in talk.send("10", key="k"):
        if isinstance(event, ThreadText):
            break
    assert talk._task is not None
    talk._task.cancel()
    await asyncio.gather(talk._task, return_exceptions=True)
    async with thread(store, payments, agent=Stuck(again=True), owner="w") as later:
        events = await collect(later.send("10", key="k"))
        assert [each for each in events if isinstance(each, ReplyDiscarded)]
        assert events[-1].outcome == "succeeded"  # type: ignore[attr-defined]
        assert events == await collect(later.events())
    assert payments.paid == ["10"]
