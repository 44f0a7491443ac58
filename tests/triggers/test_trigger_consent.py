"""Consent: what an agent proposes never fires without it, and each kind of change withdraws it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bobcat import FinalAnswer, Policy, Principal, ToolCall, ToolSet, compile_policy, run_agent, tool
from bobcat.triggers import Quotas, TriggerError, Triggers
from bobcat.workers import Jobs, Runner, Workers
from triggers.conftest import ALICE, BOT, Place


async def active(place: Place, **options: Any) -> str:
    options = {"every": 60, **options}
    return await place.triggers.propose("note", by=BOT, confirmed_by=ALICE, **options)


async def test_what_an_agent_proposes_never_fires_without_consent(place: Place) -> None:
    id = await place.triggers.propose("note", every=1, by=BOT)
    for _ in range(5):
        place.store.forward(hours=1)
        await place.work()
    assert (place.effects, place.app.state["steps"], await place.outcomes(id)) == (0, 0, [])
    await place.triggers.confirm(id, by=ALICE)
    place.store.forward(hours=1)
    await place.work()
    assert (place.effects, await place.outcomes(id)) == (1, ["queued"])


@pytest.mark.parametrize(
    ("by", "code"),
    [
        (BOT, "not_a_user"),
        (Principal("agent", "other"), "not_a_user"),
        (Principal("service", "cron"), "not_a_user"),
        (Principal("user", "bot"), "self_approval"),
        (None, "not_a_user"),
    ],
)
async def test_an_agent_cannot_confirm(place: Place, by: Any, code: str) -> None:
    id = await place.triggers.propose("note", every=1, by=BOT)
    with pytest.raises(TriggerError) as raised:
        await place.triggers.confirm(id, by=by)
    assert (raised.value.code, (await place.triggers.get(id)).state) == (code, "proposed")


async def test_a_second_person_can_be_required(place: Place) -> None:
    strict = Triggers(place.store, place.app.triggers, self_approval=False)
    id = await strict.propose("note", every=1, by=ALICE)
    with pytest.raises(TriggerError, match="their own"):
        await strict.confirm(id, by=ALICE)
    assert (await strict.confirm(id, by=Principal("user", "bob"))).state == "active"


@tool()
async def other() -> str:
    """Another tool."""
    return ""


def new_policy(place: Place) -> None:
    place.app.state["policy"] = compile_policy("rules: [{id: all, match: {tool: note}, decision: allow}]")


def new_tools(place: Place) -> None:
    place.app.state["tools"] = ToolSet.from_functions(place.app.note, other)


def new_description(place: Place) -> None:
    known = place.app.state["tools"].get("note")
    place.app.state["tools"] = ToolSet({"note": replace(known, description="Delete everything.")})


async def tamper(place: Place, id: str, **fields: Any) -> None:
    entry = await place.store.get("trigger", id)
    assert entry is not None
    await place.store.put("trigger", id, {**entry.body, **fields}, expected=entry.version)


CHANGES = {"policy": new_policy, "tools": new_tools, "tools, by description": new_description}


@pytest.mark.parametrize("part", CHANGES)
@pytest.mark.parametrize("queued", [False, True])
async def test_a_change_of_tools_or_policy_withdraws_before_and_after_queueing(
    place: Place, part: str, queued: bool
) -> None:
    id = await active(place)
    place.store.forward(minutes=2)
    if queued:
        await place.sweep()
        assert await place.outcomes(id) == ["queued"]
    CHANGES[part](place)
    await place.work()
    trigger = await place.triggers.get(id)
    assert (trigger.state, trigger.reason) == ("withdrawn", f"changed since the consent: {part.split(',')[0]}")
    assert (place.effects, place.app.state["steps"]) == (0, 0)
    await place.triggers.confirm(id, by=ALICE)
    place.store.forward(minutes=2)
    await place.work()
    assert place.effects == 1


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"payload": {"x": 1}}, "payload"),
        ({"tenant": "other"}, "payload"),
        ({"seconds": 1.0}, "schedule"),
        ({"catch_up": "all"}, "schedule"),
    ],
)
async def test_a_change_in_the_store_withdraws(place: Place, fields: dict[str, Any], part: str) -> None:
    id = await active(place)
    await tamper(place, id, **fields)
    place.store.forward(minutes=2)
    await place.work()
    trigger = await place.triggers.get(id)
    assert (trigger.state, trigger.reason, place.effects) == ("withdrawn", f"changed since the consent: {part}", 0)


async def test_a_new_payload_withdraws_and_stops_a_queued_firing(place: Place) -> None:
    id = await active(place)
    place.store.forward(minutes=2)
    await place.sweep()
    assert (await place.triggers.change(id, payload={"new": 1})).state == "withdrawn"
    await place.triggers.confirm(id, by=ALICE)
    await place.work()  # the firing of the old payload has no consent any more
    assert place.effects == 0
    assert (await place.triggers.get(id)).state == "active"


@pytest.mark.parametrize("end", ["withdraw", "delete"])
async def test_a_queued_firing_does_not_run_after_the_end(place: Place, end: str) -> None:
    id = await active(place)
    place.store.forward(minutes=2)
    await place.sweep()
    await getattr(place.triggers, end)(id)
    await place.work()
    run_id = (await place.triggers.history(id))[0].run_id
    run = await place.store.run(run_id)
    assert run is not None
    assert (run.status, place.effects) == ("failed", 0)
    assert "no consent" in str((await Jobs(place.store).get(run_id)).error)


async def test_an_app_without_triggers_runs_no_firing(place: Place) -> None:
    await active(place)
    place.store.forward(minutes=2)
    await place.sweep()
    plain = Workers(makers=place.app.workers.makers)
    for run_id in await Runner(plain, place.store).due():
        assert (await Runner(plain, place.store).execute(run_id)).outcome == "failed"
    assert place.effects == 0


async def test_pause_and_resume(place: Place) -> None:
    id = await active(place)
    await place.triggers.pause(id)
    place.store.forward(hours=1)
    await place.work()
    assert place.effects == 0
    await place.triggers.resume(id)
    await place.work()
    assert place.effects == 0, "times of the pause are not made up for"
    place.store.forward(minutes=1)
    await place.work()
    assert place.effects == 1


async def test_an_agent_proposes_with_a_tool_once_for_each_call(place: Place) -> None:
    propose = place.triggers.tool(by=BOT, names=["note"])

    class Proposer:
        async def step(self, conversation: Any) -> Any:
            if len(conversation) == 1:
                return ToolCall("propose_trigger", {"run": "note", "cron": "* * * * *", "payload": {}})
            return FinalAnswer(conversation[-1].content)

    policy = Policy.compile("rules: [{id: p, match: {tool: propose_trigger}, decision: allow}]")
    for _ in range(2):
        result = await run_agent(
            Proposer(), "x", tools=ToolSet({propose.name: propose}), policy=policy, store=place.store, run_id="r"
        )
        assert "waits for the consent" in str(result.final_answer), result
    (trigger,) = await place.triggers.list()
    assert (trigger.state, trigger.by) == ("proposed", BOT)
    with pytest.raises(ValueError, match="kind agent"):
        place.triggers.tool(by=ALICE, names=["note"])


async def test_the_quotas_of_a_principal(place: Place) -> None:
    place.app.triggers.quotas = Quotas(triggers=2, firings_per_day=3)
    triggers = Triggers(place.store, place.app.triggers)
    ids = [await triggers.propose("note", every=60, by=BOT) for _ in range(2)]
    with pytest.raises(TriggerError, match="limit"):
        await triggers.propose("note", every=60, by=BOT)
    await triggers.propose("note", every=60, by=ALICE)
    await triggers.delete(ids[0])
    await triggers.confirm(ids[1], by=ALICE)
    await triggers.propose("note", every=60, by=BOT)
    for _ in range(5):
        place.store.forward(minutes=1)
        await place.work()
    assert (place.effects, await place.outcomes(ids[1])) == (3, ["queued"] * 3 + ["skipped"] * 2)
    place.store.forward(days=1)
    await place.work()
    assert place.effects == 4


async def test_confirm_what_was_shown(place: Place) -> None:
    id = await place.triggers.propose("note", every=60, by=BOT)
    shown = await place.triggers.digest(id)
    await place.triggers.change(id, payload={"x": 1})
    with pytest.raises(TriggerError, match="differs from what was shown"):
        await place.triggers.confirm(id, by=ALICE, digest=shown)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"every": 0}, {"every": float("nan")}, {"every": True}, {"cron": "x"}, {"cron": "* * * * *", "every": 5},
        {"cron": "* * * * *", "timezone": "Berlin"}, {"every": timedelta(days=400)}, {"when_changed": ""},
        {"every": 5, "catch_up": "sometimes"}, {"every": 5, "payload": {"x": object()}}, {"at": "tomorrow"},
    ],
)  # fmt: skip
async def test_an_invalid_trigger_is_refused(place: Place, options: dict[str, Any]) -> None:
    with pytest.raises(TriggerError) as raised:
        await place.triggers.propose("note", by=ALICE, **options)
    assert raised.value.code == "bad_trigger"
