"""Windows that raise or choose nothing usable: the sender gets a coded error that names the window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bobcat import MemoryStore, Message
from bobcat.errors import StoreError, ThreadError
from bobcat.threads import Ended
from bobcat.threads.recent import Recent
from thread_conversations import Ledger, awaited, collect, thread


class Broken:
    """Raises or returns what it was given, and chooses nothing once it is mended."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def choose(self, history: object, message: Message) -> Any:
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


class Late(Broken):
    """Does so in its coroutine."""

    async def choose(self, history: object, message: Message) -> Any:
        await asyncio.sleep(0)
        return super().choose(history, message)


@pytest.mark.parametrize("window", [Broken, Late])
@pytest.mark.parametrize("error", [ValueError("no such turn"), asyncio.CancelledError("mine"), SystemExit(3)])
@awaited
async def test_an_error_of_a_window_reaches_the_sender_and_names_the_window(
    window: Callable[[Any], Broken], error: BaseException
) -> None:
    store, payments, chosen = MemoryStore(), Ledger(), window(error)
    async with thread(store, payments, window=chosen) as talk:
        with pytest.raises(ThreadError) as raised:
            await collect(talk.send("10", key="k"))
        assert raised.value.code == "window_failed"
        assert f"the window `{type(chosen).__name__}` raised {type(error).__name__}" in str(raised.value)
        assert raised.value.__cause__ is error
        assert (payments.paid, await talk.turns()) == ([], 0)
        chosen.found = []
        events = await collect(talk.send("10", key="k"))
        assert isinstance(events[-1], Ended)
        assert payments.paid == ["10"]


@pytest.mark.parametrize("found", [None, 5, "turn 1", ["turn 1"], [None]])
@awaited
async def test_a_choice_that_is_no_choice_is_a_bad_window(found: object) -> None:
    async with thread(MemoryStore(), Ledger(), window=Broken(found)) as talk:
        with pytest.raises(ThreadError) as raised:
            await collect(talk.send("10"))
        assert raised.value.code == "bad_window"


@awaited
async def test_a_store_that_fails_below_a_window_is_not_the_fault_of_the_window() -> None:
    class Failing(MemoryStore):
        down = False

        async def load(self, run_id: str) -> Any:
            if self.down and run_id.endswith("#1"):
                raise StoreError("unavailable", "the store is down")
            return await super().load(run_id)

    store = Failing()
    async with thread(store, Ledger()) as talk:
        await collect(talk.send("10"))
    store.down = True
    async with thread(store, Ledger(), window=Recent()) as talk:
        with pytest.raises(StoreError, match="the store is down"):
            await collect(talk.send("20"))


@awaited
async def test_a_counter_that_raises_is_an_error_of_its_window() -> None:
    def count(message: Message) -> int:
        raise KeyError("tokens")

    async with thread(MemoryStore(), Ledger(), window=Recent(count=count)) as talk:
        await collect(talk.send("10"))  # the first turn has no earlier messages to count
        with pytest.raises(ThreadError, match="the window `Recent` raised KeyError"):
            await collect(talk.send("20"))
