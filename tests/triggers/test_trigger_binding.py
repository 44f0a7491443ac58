"""Consent without an app, digests as people see them, early withdrawals, and the events of a trigger."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from bobcat import FinalAnswer, Policy, ToolCall, ToolSet, TriggerError, Triggers, WorkerTriggers, run_agent, tool
from bobcat.triggers.binding import PARTS
from bobcat.workers import Workers
from triggers.conftest import ALICE, BOT, Place

OTHER = Policy.compile("rules: [{id: all, match: {tool: note}, decision: allow}]")


async def kinds(place: Place, id: str) -> list[str]:
    return [event.kind.removeprefix("trigger.") for event in await place.triggers.events(id)]


async def test_a_consent_without_an_app_is_bound_by_the_first_worker(place: Place) -> None:
    remote = Triggers(place.store)
    id = await remote.propose("note", every=60, by=BOT)
    await remote.confirm(id, by=ALICE)
    await place.work()
    bound = await remote.get(id)
    assert bound.consent is not None
    assert set(bound.consent.digests) == set(PARTS)
    place.store.forward(minutes=1)
    await place.work()
    assert place.effects == 1
    place.app.state["policy"] = OTHER
    place.store.forward(minutes=1)
    await place.work()
    assert ((await remote.get(id)).state, place.effects) == ("withdrawn", 1)
    assert await kinds(place, id) == ["proposed", "confirmed", "bound", "withdrawn"]


async def test_a_consent_without_an_app_is_bound_to_what_was_shown(place: Place) -> None:
    remote = Triggers(place.store)
    id = await remote.propose("note", every=60, by=BOT)
    assert await remote.digest(id) is None
    with pytest.raises(TriggerError) as raised:
        await remote.confirm(id, by=ALICE, digest="0")
    assert raised.value.code == "no_app"
    await place.work()
    shown = await remote.digest(id)
    assert shown == await place.triggers.digest(id)
    place.app.state["policy"] = OTHER  # deployed after the person has looked
    await remote.confirm(id, by=ALICE, digest=shown)
    place.store.forward(minutes=2)
    await place.work()
    trigger = await remote.get(id)
    assert (trigger.state, trigger.reason, place.effects) == ("withdrawn", "changed since the consent: policy", 0)
    assert await remote.digest(id) not in (None, shown), "the person sees the present ones"
    await remote.confirm(id, by=ALICE, digest=await remote.digest(id))
    place.store.forward(minutes=2)
    await place.work()
    assert place.effects == 1


async def test_tools_and_policy_can_be_given_instead_of_the_app(place: Place) -> None:
    state = place.app.state
    given = Triggers(place.store, tools=state["tools"], policy=state["policy"])
    id = await given.propose("note", every=60, by=BOT)
    assert await given.digest(id) == await place.triggers.digest(id)
    await given.confirm(id, by=ALICE)
    place.store.forward(minutes=1)
    await place.work()
    assert place.effects == 1


async def test_a_changed_app_withdraws_before_the_next_firing(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    id = await place.triggers.propose("note", cron="0 0 1 1 *", by=BOT, confirmed_by=ALICE)
    await place.work()
    assert (await place.triggers.get(id)).state == "active"
    new = Place(place.path)  # a process with another policy
    new.app.state["policy"] = OTHER
    new.store.moment = place.store.moment
    with caplog.at_level(logging.WARNING):
        await new.work()
    trigger = await place.triggers.get(id)
    assert (trigger.state, trigger.reason) == ("withdrawn", "changed since the consent: policy")
    assert f"the consent to the trigger {id} is withdrawn" in caplog.text
    (event,) = [event for event in await place.triggers.events(id) if event.kind == "trigger.withdrawn"]
    assert event.body["reason"] == "changed since the consent: policy"
    versions = []
    for _ in range(3):  # two processes that differ do not change it again and again
        for each in (place, new):
            await each.work()
        entry = await place.store.get("trigger", id)
        assert entry is not None
        versions.append(entry.version)
    assert versions[-1] == versions[-2]


@tool()
async def note(text: str, more: int = 1) -> str:
    """Note a text."""
    return ""


async def test_a_changed_schema_of_a_tool_withdraws(place: Place) -> None:
    id = await place.triggers.propose("note", every=60, by=BOT, confirmed_by=ALICE)
    place.app.state["tools"] = ToolSet.from_functions(note)
    await place.work()
    assert (await place.triggers.get(id)).reason == "changed since the consent: tools"


async def test_the_changes_of_a_trigger_are_bounded(place: Place) -> None:
    id = await place.triggers.propose("note", every=60, by=BOT)
    for number in range(120):
        await place.triggers.change(id, payload={"n": number}, by="alice")
    events = await place.triggers.events(id)
    assert ([events[0].seq, events[-1].seq], len(events)) == ([21, 120], 100)
    assert events[-1].body["by"] == "user:alice"


CALLS: list[dict[str, Any]] = [
    {"cron": "0 9 * * *", "timezone": "Europe/Berlin"},
    {"at": "90m"},
    {"every": "15m"},
    {"when_changed": "value", "every": "1h"},
]


@pytest.mark.parametrize("when", CALLS)
async def test_an_agent_proposes_each_kind_and_confirms_none(place: Place, when: dict[str, Any]) -> None:
    propose = place.triggers.tool(by=BOT, names=["note"], thread="acme/42", tenant="acme")

    class Proposer:
        async def step(self, conversation: Any) -> Any:
            if len(conversation) == 1:
                return ToolCall("propose_trigger", {"run": "note", "payload": {"x": 1}, **when})
            return FinalAnswer(conversation[-1].content)

    policy = Policy.compile("rules: [{id: p, match: {tool: propose_trigger}, decision: allow}]")
    result = await run_agent(Proposer(), "x", tools=ToolSet({propose.name: propose}), policy=policy)
    assert "waits for the consent" in str(result.final_answer), result
    (trigger,) = await place.triggers.list()
    assert (trigger.when, trigger.by, trigger.thread, trigger.tenant) == (next(iter(when)), BOT, "acme/42", "acme")
    for _ in range(3):
        place.store.forward(days=1)
        await place.work()
    assert (place.effects, (await place.triggers.get(trigger.id)).state) == (0, "proposed")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ({"run": "talk", "cron": "* * * * *"}, "no trigger may run `talk`"),
        ({"run": "note", "when_changed": "other"}, "there is no probe `other`; known: value"),
        ({"run": "note"}, "got none of them"),
        ({"run": "note", "cron": "* * * * * *"}, "five fields"),
    ],
)
async def test_a_mistake_of_an_agent_is_its_result(place: Place, call: dict[str, Any], problem: str) -> None:
    propose = place.triggers.tool(by="agent:bot", names=["note"])

    class Proposer:
        async def step(self, conversation: Any) -> Any:
            if len(conversation) == 1:
                return ToolCall("propose_trigger", {"payload": {}, **call})
            return FinalAnswer(conversation[-1].content)

    policy = Policy.compile("rules: [{id: p, match: {tool: propose_trigger}, decision: allow}]")
    result = await run_agent(Proposer(), "x", tools=ToolSet({propose.name: propose}), policy=policy)
    assert problem in str(result.final_answer)
    assert await place.triggers.list() == []


async def test_the_app_of_another_process_confirms_only_what_it_can_make(place: Place) -> None:
    id = await place.triggers.propose("note", every=60, by=BOT)
    workers = Workers()
    with pytest.raises(TypeError, match="app must be WorkerTriggers"):
        Triggers(place.store, workers)
    WorkerTriggers(workers)
    with pytest.raises(TriggerError) as raised:
        await Triggers(place.store, workers).confirm(id, by=ALICE)
    assert raised.value.code == "bad_trigger"

    @workers.run("note")
    def broken(job: Any) -> dict[str, Any]:
        raise KeyError("text")

    with pytest.raises(TriggerError) as raised:
        await Triggers(place.store, workers).confirm(id, by=ALICE)
    assert raised.value.code == "app_failed"
