"""A thread as the target of a firing: each time is one turn of the thread, under its consent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import Approvals, Thread, compile_policy
from bobcat.approvals.waking import LOOK_SECONDS, WAITING, wait_for
from bobcat.threads import Asked, Ended, Threads, TurnStarted
from bobcat.threads.journal import ThreadJournal
from bobcat.threads.sending import send_message
from bobcat.triggers import TriggerError
from bobcat.workers import Jobs, Runner
from triggers.conftest import ALICE, BOT, Place

ASKING = compile_policy("rules: [{id: ask, match: {tool: note}, decision: approve_required}]")
OTHER = compile_policy("rules: [{id: all, match: {tool: note}, decision: allow}]")


async def add(place: Place, **options: Any) -> str:
    options = {"every": 60, "thread": "acme/42", "payload": {"text": "the report"}, **options}
    return await place.triggers.propose("talk", by=BOT, confirmed_by=ALICE, **options)


def thread(place: Place, **options: Any) -> Thread:
    arguments = {"agent": place.app.Speaker(), "tools": place.app.state["tools"], "policy": place.app.state["policy"]}
    return Thread(place.store, "acme/42", **{**arguments, **options})


async def events(place: Place, kind: type[Any]) -> list[Any]:
    return [event async for event in thread(place).events() if isinstance(event, kind)]


async def test_each_firing_is_one_turn_of_the_thread(place: Place) -> None:
    id = await add(place)
    for _ in range(3):
        place.store.forward(minutes=1)
        await place.work()
        await place.work()
    assert [each.text for each in await events(place, TurnStarted)] == ["the report"] * 3
    ends = await events(place, Ended)
    assert [(each.outcome, each.answer) for each in ends] == [
        ("succeeded", "3 messages"),
        ("succeeded", "7 messages"),
        ("succeeded", "11 messages"),
    ]
    assert place.effects == 3
    runs = [await place.store.run(firing.run_id) for firing in await place.triggers.history(id)]
    assert [(run.status, run.detail["thread"], run.detail["turn"]) for run in runs if run] == [
        ("succeeded", "acme/42", number) for number in (1, 2, 3)
    ]


async def test_a_firing_is_sent_once_when_the_run_is_executed_again(place: Place) -> None:
    id = await add(place)
    place.store.forward(minutes=1)
    await place.work()
    run_id = (await place.triggers.history(id))[0].run_id
    summary = await place.store.run(run_id)
    assert summary is not None
    await place.store.set_status(run_id, "queued", detail=(await Jobs(place.store).get(run_id)).detail())
    await place.work()  # as after a death before the status was recorded
    assert (len(await events(place, TurnStarted)), place.effects) == (1, 1)


async def test_a_firing_waits_for_the_turn_of_a_person(place: Place) -> None:
    await add(place)
    holding = asyncio.Event()

    class Slow(place.app.Speaker):  # type: ignore[misc, name-defined]
        identity = "Speaker"

        async def step(self, conversation: Any) -> Any:
            await holding.wait()
            return await super().step(conversation)

    place.store.forward(minutes=1)
    async with thread(place, agent=Slow()) as talk:
        await talk.queue("a question")
        await place.work()
        assert (await place.store.runs(status="queued"))[0].run_id.startswith("trigger:")
        holding.set()
    await place.work()
    assert place.effects == 1, "it is tried again after a pause"
    place.store.forward(seconds=2)
    await place.work()
    assert [each.text for each in await events(place, TurnStarted)] == ["a question", "the report"]
    assert [each.outcome for each in await events(place, Ended)] == ["succeeded"] * 2


async def test_a_turn_that_asks_continues_after_the_answer(place: Place) -> None:
    place.app.state["policy"] = ASKING
    id = await add(place)
    place.store.forward(minutes=1)
    await place.work()
    (asked,) = await events(place, Asked)
    assert place.effects == 0
    await place.work()
    assert len(await events(place, Asked)) == 1, "an attempt without an answer does not ask again"
    assert (await Approvals(place.store).grant(asked.approvals[0], approver="alice")).requeued
    await place.work()
    assert ([each.outcome for each in await events(place, Ended)], place.effects) == (["succeeded"], 1)
    assert (await place.store.run((await place.triggers.history(id))[0].run_id)).status == "succeeded"  # type: ignore[union-attr]


async def asked_turn(place: Place) -> tuple[str, str]:
    """The run of a firing whose turn waits, and the approval."""
    place.app.state["policy"] = ASKING
    id = await add(place)
    place.store.forward(minutes=1)
    await place.work()
    (asked,) = await events(place, Asked)
    return (await place.triggers.history(id))[0].run_id, asked.approvals[0]


async def status(place: Place, run_id: str) -> str | None:
    run = await place.store.run(run_id)
    return None if run is None else run.status


async def test_a_waiting_turn_is_not_looked_at_before_its_approval_expires(place: Place) -> None:
    _, approval = await asked_turn(place)
    expires = (await Approvals(place.store).show(approval)).expires
    assert await place.store.next_due() == expires


async def test_an_answer_wakes_the_firing_when_its_process_dies_before_it_has(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, approval = await asked_turn(place)

    async def die(*_: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("bobcat.approvals.inbox.wake", die)
        with pytest.raises(KeyboardInterrupt):
            await Approvals(place.store).grant(approval, approver="alice")
    assert await status(place, run_id) == "suspended"
    place.store.forward(seconds=LOOK_SECONDS)
    await place.work()
    assert (await status(place, run_id), place.effects) == ("succeeded", 1)


async def test_an_answer_while_the_firing_is_being_suspended_wakes_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    granted = False

    async def answered_before(store: Any, asking: str, waiting: str) -> bool:
        nonlocal granted
        if not granted:
            (asked,) = await Approvals(store).list()
            granted = not (await Approvals(store).grant(asked.id, approver="alice")).requeued
        return await wait_for(store, asking, waiting)

    monkeypatch.setattr("bobcat.workers.suspended.wait_for", answered_before)
    run_id, _ = await asked_turn(place)
    assert (granted, await status(place, run_id), place.effects) == (True, "succeeded", 1)


async def test_a_firing_suspended_by_an_earlier_release_continues_after_an_answer(place: Place) -> None:
    run_id, approval = await asked_turn(place)
    (entry,) = await place.store.scan(WAITING)
    await place.store.discard(entry)
    await place.store.look_at(run_id, await place.store.now())
    await place.work()
    assert (await Approvals(place.store).grant(approval, approver="alice")).requeued
    await place.work()
    assert (await status(place, run_id), place.effects) == ("succeeded", 1)


async def test_the_cancellation_of_a_waiting_turn_ends_its_firing(place: Place) -> None:
    run_id, _ = await asked_turn(place)
    async with thread(place) as talk:
        await talk.cancel("no more")
    await place.work()
    assert (await status(place, run_id), place.effects) == ("cancelled", 0)


async def test_a_purged_thread_leaves_no_waiting_run(place: Place) -> None:
    await asked_turn(place)
    assert len(await place.store.scan(WAITING)) == 1
    threads = Threads(place.store)
    await threads.delete("acme/42", keep_days=0)
    assert (await threads.purge()).erased == ("acme/42",)
    assert await place.store.scan(WAITING) == ()


async def test_a_withdrawn_consent_ends_a_turn_that_waits(place: Place) -> None:
    place.app.state["policy"] = ASKING
    id = await add(place)
    place.store.forward(minutes=1)
    await place.work()
    (asked,) = await events(place, Asked)
    await place.triggers.withdraw(id)
    await Approvals(place.store).grant(asked.approvals[0], approver="alice")
    await place.work()
    (ended,) = await events(place, Ended)
    assert (ended.outcome, place.effects) == ("cancelled", 0)
    assert "no consent" in str(ended.error)


async def test_a_message_without_a_turn_ends_when_the_consent_is_withdrawn(place: Place) -> None:
    id = await add(place)
    place.store.forward(minutes=1)
    await place.sweep()
    run_id = (await place.triggers.history(id))[0].run_id
    bound = {"tools": "", "policy": ""}
    await send_message(ThreadJournal(place.store, "acme/42"), "the report", key=run_id, bound=bound)
    await place.triggers.withdraw(id)
    await place.work()
    (ended,) = await events(place, Ended)
    assert (ended.outcome, place.effects, place.app.state["steps"]) == ("failed", 0, 0)


async def test_a_process_with_another_policy_does_not_run_the_turn(place: Place) -> None:
    talk = thread(place)
    bound = {"tools": "other", "policy": talk._options.policy.id}
    await send_message(talk._journal, "the report", key="k", bound=bound)
    async with thread(place, policy=OTHER) as other:
        (ended,) = [event async for event in other.send("the report", key="k") if isinstance(event, Ended)]
        assert ended.outcome == "failed"
        assert "tools and the policy" in str(ended.error)
        assert place.effects == 0
        (ended,) = [event async for event in other.send("a question") if isinstance(event, Ended)]
        assert ended.outcome == "succeeded"


async def test_a_failed_turn_is_not_sent_again(place: Place) -> None:
    class Failing:
        async def step(self, conversation: Any) -> Any:
            raise RuntimeError("no model")

    place.app.workers.makers["talk"] = lambda job: {
        "agent": Failing(), "task": "x", "tools": place.app.state["tools"], "policy": place.app.state["policy"],
    }  # fmt: skip
    id = await add(place)
    place.store.forward(minutes=1)
    for _ in range(3):
        await place.work()
    assert [each.outcome for each in await events(place, Ended)] == ["failed"]
    job = await Jobs(place.store).get((await place.triggers.history(id))[0].run_id)
    assert (job.attempts, "no model" in str(job.error)) == (1, True)


async def test_a_cancelled_job_cancels_its_turn(place: Place) -> None:
    begun = asyncio.Event()

    class Waiting:
        async def step(self, conversation: Any) -> Any:
            begun.set()
            await asyncio.Event().wait()

    place.app.workers.makers["talk"] = lambda job: {
        "agent": Waiting(), "task": "x", "tools": place.app.state["tools"], "policy": place.app.state["policy"],
    }  # fmt: skip
    id = await add(place)
    place.store.forward(minutes=1)
    working = asyncio.create_task(place.work())
    await begun.wait()
    await Jobs(place.store).cancel((await place.triggers.history(id))[0].run_id, reason="no more")
    await working
    (ended,) = await events(place, Ended)
    assert (ended.outcome, "no more" in str(ended.error)) == ("cancelled", True)


async def test_a_stopped_worker_leaves_the_turn_to_the_next_one(place: Place) -> None:
    begun, state = asyncio.Event(), place.app.state

    class Speaker(place.app.Speaker):  # type: ignore[misc, name-defined]
        async def step(self, conversation: Any) -> Any:
            if not begun.is_set():
                begun.set()
                await asyncio.Event().wait()
            return await super().step(conversation)

    place.app.workers.makers["talk"] = lambda job: {
        "agent": Speaker(), "task": "x", "tools": state["tools"], "policy": state["policy"],
    }  # fmt: skip
    id = await add(place)
    place.store.forward(minutes=1)
    await place.sweep()
    run_id = (await place.triggers.history(id))[0].run_id
    working = asyncio.create_task(Runner(place.app.workers, place.store).execute(run_id))
    await begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    await place.work()
    assert ([each.outcome for each in await events(place, Ended)], place.effects) == (["succeeded"], 1)


@pytest.mark.parametrize("id", ["", "a#b", " a", 5, "x" * 201])
async def test_an_invalid_thread_is_refused(place: Place, id: Any) -> None:
    with pytest.raises(TriggerError) as raised:
        await add(place, thread=id)
    assert raised.value.code == "bad_trigger"


async def test_a_changed_thread_in_the_store_withdraws(place: Place) -> None:
    id = await add(place)
    entry = await place.store.get("trigger", id)
    assert entry is not None
    await place.store.put("trigger", id, {**entry.body, "thread": "other"}, expected=entry.version)
    place.store.forward(minutes=1)
    await place.work()
    assert (await place.triggers.get(id)).reason == "changed since the consent: payload"
    assert place.effects == 0


async def test_a_run_that_a_thread_cannot_take_fails_with_its_reason(place: Place) -> None:
    place.app.workers.makers["talk"] = lambda job: {
        "agent": place.app.Speaker(), "task": "", "tools": place.app.state["tools"],
        "policy": place.app.state["policy"], "on_delta": print,
    }  # fmt: skip
    id = await add(place)
    place.store.forward(minutes=1)
    await place.work()
    job = await Jobs(place.store).get((await place.triggers.history(id))[0].run_id)
    assert "`talk` cannot be a turn of a thread" in str(job.error)
