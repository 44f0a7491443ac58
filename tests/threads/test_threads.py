"""Threads: turns, their events, keys, suspension, cancellation, and what is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bobcat import Approvals, Budget, FinalAnswer, MemoryStore, Message, SQLiteStore, durable_approvals
from bobcat.errors import ThreadBusy, ThreadError
from bobcat.model.deltas import TextDelta
from bobcat.threads import Asked, CallResult, Decided, Ended, ReplyDiscarded, Thread, ThreadText, TurnStarted
from bobcat.threads.sending import send_message
from thread_conversations import ASKING, Payer, awaited, collect, thread
from thread_conversations import Ledger as Payments


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "threads.db")


@awaited
async def test_each_message_is_a_turn_that_sees_the_ones_before(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments) as talk:
        first = await collect(talk.send("10"))
        second = await collect(talk.send("20"))
    assert payments.paid == ["10", "20"]
    assert isinstance(first[0], TurnStarted)
    assert isinstance(first[-1], Ended)
    assert (first[-1].answer, second[-1].answer) == ("3 messages", "7 messages")  # type: ignore[attr-defined]
    assert "".join(each.text for each in first if isinstance(each, ThreadText)) == "Paying.Paying."
    assert [each.rules for each in first if isinstance(each, Decided)] == [("pay",)]
    everything = first + second
    assert [each.seq for each in everything] == list(range(1, len(everything) + 1))
    other = thread(store, payments)
    for since in range(len(everything) + 1):
        assert await collect(other.events(since)) == everything[since:]
    shown = await other.messages()
    assert [each.role for each in shown] == ["user", "assistant", "tool", "assistant"] * 2


@awaited
async def test_the_same_key_is_the_same_turn(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments) as talk:
        first = await collect(talk.send("10", key="k"))
        assert await collect(talk.send("10", key="k")) == first
        with pytest.raises(ThreadError) as refused:
            await collect(talk.send("11", key="k"))
        assert refused.value.code == "key_conflict"
        both = await asyncio.gather(*(collect(talk.send("20", key="j")) for _ in range(3)))
    assert both[0] == both[1] == both[2]
    assert payments.paid == ["10", "20"]


@awaited
async def test_a_queued_message_runs_without_a_reader(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments) as talk:
        assert await talk.queue("10", key="k") == await talk.queue("10", key="k") == 0
        assert await talk.queue("20") > 0
        with pytest.raises(ThreadError):
            await talk.queue(" ")
    assert payments.paid == ["10", "20"]


@awaited
async def test_a_turn_goes_on_without_its_reader(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments) as talk:
        async for _ in talk.send("10"):
            break
    events = await collect(thread(store, payments).events())
    assert isinstance(events[-1], Ended)
    assert payments.paid == ["10"]


@awaited
async def test_an_approval_suspends_the_thread_and_resume_continues_it(store: Any) -> None:
    payments = Payments()
    options = {"policy": ASKING, "on_approval": durable_approvals(store)}
    async with thread(store, payments, **options) as talk:
        events = await collect(talk.send("10"))
        assert isinstance(events[-1], Asked)
        assert await collect(talk.send("20")) == []
        with pytest.raises(ThreadBusy):
            await collect(thread(store, payments, busy="refuse", **options).send("30"))
        await Approvals(store).grant(events[-1].approvals[0], approver="ada")
        more = await collect(talk.resume())
        assert [each.turn for each in more if isinstance(each, Ended)] == [1]
        assert isinstance(more[-1], Asked)
        assert payments.paid == ["10"]
        await talk.cancel("enough")
        events = await collect(talk.events())
    assert isinstance(events[-1], Ended)
    assert (events[-1].outcome, events[-1].code) == ("cancelled", "cancelled")
    assert [each.seq for each in events] == list(range(1, len(events) + 1))
    assert [each.message for each in events if isinstance(each, CallResult)] == ["[ok] paid 10"]


@awaited
async def test_cancel_at_the_sight_of_a_question_ends_the_turn(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments, policy=ASKING, on_approval=durable_approvals(store)) as talk:
        found = []
        async for event in talk.send("10"):
            found.append(event)
            if isinstance(event, Asked):
                await talk.cancel("enough")
        assert [type(each) for each in found[-2:]] == [Asked, Ended]
        assert isinstance((await collect(talk.send("20")))[-1], Asked)
    assert payments.paid == []


@awaited
async def test_a_late_cancel_of_a_turn_does_not_end_the_next_one(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments, policy=ASKING, on_approval=durable_approvals(store)) as talk:
        for turn in (1, 0, True, "1"):
            with pytest.raises(ThreadError, match="turn must be the number of a turn"):
                await talk.cancel("enough", turn=turn)
        await collect(talk.send("10"))
        await talk.cancel("enough", turn=1)
        assert isinstance((await collect(talk.send("20")))[-1], Asked)
        await talk.cancel("late", turn=1)
        assert [each.turn for each in await collect(talk.events()) if isinstance(each, Ended)] == [1]
        await talk.cancel("enough", turn=2)
        assert [each.turn for each in await collect(talk.events()) if isinstance(each, Ended)] == [1, 2]


@pytest.mark.parametrize("owner", ["same", "other"])
@awaited
async def test_cancel_of_a_waiting_turn_that_a_killed_process_holds(store: Any, owner: str) -> None:
    payments = Payments()
    options = {"policy": ASKING, "on_approval": durable_approvals(store)}
    async with thread(store, payments, **options) as talk:
        asked = (await collect(talk.send("10")))[-1]
    assert isinstance(asked, Asked)
    for run in ("thread:acme/42", "thread:acme/42#1"):
        await store.acquire(run, owner="same", seconds=0.5)
    async with thread(store, payments, owner=owner, **options) as talk:
        await talk.cancel("enough")
        if owner == "other":  # the turn ends when the lease of the killed process does: no grant counts until then
            await Approvals(store).grant(asked.approvals[0], approver="ada")
        ended = [each for each in await collect(talk.send("20")) if isinstance(each, Ended)]
        events = await collect(talk.events())
    assert [(each.turn, each.outcome) for each in events if isinstance(each, Ended)] == [(1, "cancelled")]
    assert ended == []
    assert isinstance(events[-1], Asked)
    assert events[-1].turn == 2
    assert payments.paid == []


@awaited
async def test_a_turn_that_is_cancelled_before_its_run_begins_asks_no_model(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments) as one, thread(store, payments) as two:
        begun = await send_message(one._journal, "10")
        worker = one._new_worker()
        assert await worker.acquire()
        record = await one._journal.next_message(None)
        assert record is not None
        await one._journal.begin(1, record, 0, [], worker.keeper.lease)
        await worker.release()
        await two.cancel("enough")
        assert begun == 0
        events = await collect(one.events())
    assert [type(each) for each in events] == [TurnStarted, Ended]
    assert events[-1].outcome == "cancelled"  # type: ignore[attr-defined]


class Slow(Payer):
    """Never ends its reply."""

    async def stream(self, conversation: Any) -> Any:
        yield TextDelta("wai")
        await asyncio.sleep(3600)


@awaited
async def test_cancel_discards_the_open_reply_and_the_next_message_works(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments, agent=Slow()) as talk:
        found = []
        async for event in talk.send("10"):
            found.append(event)
            if isinstance(event, ThreadText):
                await talk.cancel("stop")
    assert [type(each) for each in found[-2:]] == [ReplyDiscarded, Ended]
    async with thread(store, payments) as talk:
        assert isinstance((await collect(talk.send("20")))[-1], Ended)


@awaited
async def test_a_failed_turn_has_its_code_and_the_next_one_runs(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments, budget=Budget(steps=0)) as talk:
        failed = (await collect(talk.send("10")))[-1]
    assert isinstance(failed, Ended)
    assert (failed.outcome, failed.code) == ("failed", "budget_exhausted")
    async with thread(store, payments) as talk:
        assert (await collect(talk.send("20")))[-1].outcome == "succeeded"  # type: ignore[attr-defined]


@awaited
async def test_concurrent_senders_queue_in_order(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments) as one, thread(store, payments) as two:
        turns = await asyncio.gather(*(collect((one, two)[i % 2].send(str(i))) for i in range(8)))
    assert sorted(payments.paid) == [str(i) for i in range(8)]
    for i, events in enumerate(turns):
        assert events[0].text == str(i)  # type: ignore[attr-defined]
        assert isinstance(events[-1], Ended)
    everything = await collect(thread(store, payments).events())
    assert [each.seq for each in everything] == list(range(1, len(everything) + 1))


@awaited
async def test_a_busy_thread_refuses(store: Any) -> None:
    payments = Payments()
    async with thread(store, payments, busy="refuse") as one, thread(store, payments, busy="refuse") as two:
        sending = one.send("10")
        await anext(sending)
        for each in (one, two):
            with pytest.raises(ThreadBusy) as refused:
                await collect(each.send("20"))
            assert refused.value.code == "busy"
        async for _ in sending:
            pass
        await asyncio.sleep(0)
    assert payments.paid == ["10"]


class Remembering:
    """Answers with what it sees."""

    async def step(self, conversation: Any) -> FinalAnswer:
        return FinalAnswer("|".join(message.content for message in conversation))


class Summary:
    """A window of one message."""

    async def choose(self, history: Any, message: Message) -> list[Message]:
        return [Message("user", f"{history.turns} earlier")]


@awaited
async def test_a_window_chooses_what_the_agent_sees(store: Any) -> None:
    async with thread(store, Payments(), agent=Remembering(), window=Summary()) as talk:
        await collect(talk.send("a"))
        ended = (await collect(talk.send("b")))[-1]
    assert ended.answer == "1 earlier|b"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["", "a#1", " a", "x" * 201, "a\nb"])
def test_a_bad_id_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a thread's id"):
        Thread(MemoryStore(), name, agent=Payer(), tools=Payments().tools(), policy=ASKING)
