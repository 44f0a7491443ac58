"""Conversations that are killed: what a client does, so written that it may be started again from its beginning.

Each message has a key, its text.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bobcat import (
    Approvals,
    Cap,
    LastMessages,
    Ledger,
    Summary,
    Thread,
    durable_approvals,
    truncate_compressor,
)
from bobcat.attachments import Attachment
from bobcat.errors import ApprovalError
from bobcat.threads import Asked, CallResult, ThreadEvent, ThreadText, Turn
from threads.killed_agent import POLICY, PRICES, Scripted, World, tools


class Talk:
    """A client's process: threads of one id, and the moment from which kills count."""

    def __init__(self, place: str, id: str, world: World, arm: Callable[[], None], **options: Any) -> None:
        self._place, self.id, self.world, self.arm = place, id, world, arm
        self._options = options
        self.ledger: Ledger | None = None

    def thread(self, *, streams: bool = True, owner: str = "w", **options: Any) -> Thread:
        """A thread of its own connection."""
        return Thread(
            self._place, self.id, agent=Scripted(self.world, streams=streams), tools=tools(self.world), policy=POLICY,
            ledger=self.ledger, **{"owner": owner, **self._options, **options},
        )  # fmt: skip

    async def read(self, events: AsyncIterator[ThreadEvent]) -> list[ThreadEvent]:
        """Note each event when it is seen."""
        found = []
        async for event in events:
            self.world.note("seen", event.seq, repr(event))
            found.append(event)
        return found

    async def say(self, thread: Thread, text: str, **options: Any) -> list[ThreadEvent]:
        """Send a message, its text being its key."""
        return await self.read(thread.send(text, key=text, **options))


async def plain(talk: Talk) -> None:
    async with talk.thread(streams=False) as thread:
        await talk.say(thread, "first")
        talk.arm()
        await talk.say(thread, "second")
        await talk.say(thread, "third")


async def streaming(talk: Talk) -> None:
    async with talk.thread() as thread:
        talk.arm()
        await talk.say(thread, "pay 1|look a|charge 2|first")
        await talk.say(thread, "second")


async def several(talk: Talk) -> None:
    async with talk.thread() as thread:
        talk.arm()
        await talk.say(thread, "pay 1,charge 2,look a,rob 3,pay 4|first")


async def _approving(talk: Talk, text: str, answer: Callable[[Approvals, str], Awaitable[object]]) -> None:
    async with talk.thread() as thread:
        store = thread._journal.store
        thread._options = _asking(thread._options, store)
        talk.arm()
        events = await talk.say(thread, text)
        while events and isinstance(events[-1], Asked):
            for id in events[-1].approvals:
                with suppress(ApprovalError):  # answered by the client that was killed
                    await answer(Approvals(store), id)
            events = await talk.read(thread.resume())
        await talk.say(thread, "second")


def _asking(options: Any, store: Any) -> Any:
    return msgspec.structs.replace(options, on_approval=durable_approvals(store))


async def approved(talk: Talk) -> None:
    await _approving(talk, "pay 1,wire 2,charge 3|wire 4|first", lambda desk, id: desk.grant(id, approver="ada"))


async def refused(talk: Talk) -> None:
    await _approving(talk, "pay 1,wire 2,charge 3|first", lambda desk, id: desk.deny(id, approver="ada"))


async def expired(talk: Talk) -> None:
    await _approving(talk, "pay 1,hurry 2,charge 3|first", lambda desk, id: asyncio.sleep(0.55))


async def attached(talk: Talk) -> None:
    async with talk.thread() as thread:
        talk.arm()
        await talk.say(thread, "look a|first", attachments=[Attachment.text("one" * 100), Attachment.text("two")])
        await talk.say(thread, "second")


async def queued(talk: Talk) -> None:
    async with talk.thread(owner="w1") as one, talk.thread(owner="w2") as two:
        talk.arm()
        await one.queue("pay 1|first", key="pay 1|first")
        first, second = talk.say(one, "pay 1|first"), talk.say(two, "charge 2|second")
        await asyncio.gather(first, second)


async def _summarise(earlier: str | None, turns: Sequence[Turn]) -> str:
    await asyncio.sleep(0)
    return " ".join([*([earlier] if earlier else []), *(turn.messages[0].content for turn in turns)])


async def windowed(talk: Talk) -> None:
    window = Summary(_summarise, LastMessages(4))
    async with talk.thread(window=window, compressor=truncate_compressor(max_chars=20)) as thread:
        for text in ("look a|first", "second", "third"):
            await talk.say(thread, text)
        talk.arm()
        await talk.say(thread, "look b|fourth")
        await talk.say(thread, "fifth")


async def cancelled(talk: Talk) -> None:
    async with talk.thread() as thread, talk.thread(owner="other") as other:
        talk.arm()
        for canceller, text in ((thread, "pay 1|wait"), (other, "wait too")):
            called = "pay" not in text
            async for event in thread.send(text, key=text):
                talk.world.note("seen", event.seq, repr(event))
                called = called or isinstance(event, CallResult)
                if called and isinstance(event, ThreadText):
                    await canceller.cancel("enough", turn=event.turn)
        await talk.say(thread, "second")


async def cancelled_waiting(talk: Talk) -> None:
    async with talk.thread() as thread:
        thread._options = _asking(thread._options, thread._journal.store)
        talk.arm()
        events = await talk.say(thread, "pay 1,wire 2|first")
        if events and isinstance(events[-1], Asked):
            await thread.cancel("enough")
        await talk.say(thread, "second")


async def uncertain(talk: Talk) -> None:
    async with talk.thread() as thread:
        talk.arm()
        await talk.say(thread, "gamble 1|first")
        await talk.say(thread, "second")


async def broken(talk: Talk) -> None:
    async with talk.thread() as thread:
        talk.arm()
        await talk.say(thread, "forget 1|first")


@dataclass(frozen=True)
class Workload:
    """A client, with the effects that it has in the end, and the event types that may differ after a kill."""

    client: Callable[[Talk], Awaitable[None]]
    effects: tuple[str, ...] = ()
    questions: int = 0
    differs: frozenset[str] = field(default_factory=frozenset)
    at_most_once: bool = False


WORKLOADS = {
    "plain": Workload(plain),
    "streaming": Workload(streaming, ("pay 1", "charge 2")),
    "several": Workload(several, ("pay 1", "charge 2", "pay 4")),
    "approved": Workload(approved, ("pay 1", "wire 2", "charge 3", "wire 4"), questions=2),
    "refused": Workload(refused, ("pay 1", "charge 3"), questions=1),
    "expired": Workload(expired, ("pay 1", "charge 3"), questions=1, differs=frozenset({"Asked"})),
    "attached": Workload(attached),
    "queued": Workload(queued, ("pay 1", "charge 2")),
    "windowed": Workload(windowed),
    "cancelled": Workload(cancelled, ("pay 1",)),
    "cancelled_waiting": Workload(cancelled_waiting, ("pay 1",), questions=1),
    "uncertain": Workload(
        uncertain, ("gamble 1",), differs=frozenset({"Decided", "CallResult", "ThreadUsage"}), at_most_once=True
    ),
}
BROKEN = {"broken": Workload(broken, ("forget 1",))}
"""A tool that does not do what it declares: kills double its effect."""


def ledger_at(place: str) -> Ledger:
    """The ledger of all threads."""
    return Ledger(place, [Cap("thread", usd=1)], prices=PRICES)
