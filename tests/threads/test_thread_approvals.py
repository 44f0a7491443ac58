"""A reply of several calls, some of which need an approval: one question a call, in order, and nothing runs twice.

Every part of the conversation is a thread of its own, as in another process.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bobcat import Approvals, MemoryStore, SQLiteStore, durable_approvals
from bobcat.threads import Asked, CallProposed, CallResult, CallStarted, Decided, Ended, Thread, ThreadEvent
from thread_conversations import awaited, collect
from threads.killed_agent import POLICY, Scripted, World, tools

TEXT = "pay 1,wire 2,charge 3,wire 4,look a|first"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "threads.db")


def thread(store: Any, world: World) -> Thread:
    return Thread(
        store, "t", agent=Scripted(world, streams=True), tools=tools(world), policy=POLICY,
        on_approval=durable_approvals(store),
    )  # fmt: skip


async def asked_in(events: list[ThreadEvent]) -> Asked:
    """The question that the events end with, the only one of them."""
    (asked,) = [each for each in events if isinstance(each, Asked)]
    assert events[-1] == asked
    assert len(asked.approvals) == 1
    return asked


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("first", [True, False])
@awaited
async def test_each_call_has_one_question_and_runs_once(store: Any, tmp_path: Path, first: bool, second: bool) -> None:
    world = World(tmp_path / "world")
    parts: list[list[ThreadEvent]] = []
    async with thread(store, world) as talk:
        parts.append(await collect(talk.send(TEXT, key="k")))
    for granted in (first, second):
        asked = await asked_in(parts[-1])
        async with thread(store, world) as talk:
            assert await collect(talk.send(TEXT, key="k")) == [each for part in parts for each in part]
        desk = Approvals(store)
        await (desk.grant if granted else desk.deny)(asked.approvals[0], approver="ada")
        async with thread(store, world) as talk:
            parts.append(await collect(talk.resume()))
    events = [each for part in parts for each in part]
    assert [each.seq for each in events] == list(range(1, len(events) + 1))
    assert isinstance(events[-1], Ended)
    assert events[-1].outcome == "succeeded"
    shown = [each for each in events if isinstance(each, (CallProposed, Decided, Asked, CallStarted, CallResult))]
    assert [(type(each).__name__, each.step) for each in shown] == [
        *(("CallProposed", step) for step in range(5)),
        ("Decided", 0), ("CallStarted", 0), ("CallResult", 0),
        ("Decided", 1), ("Asked", 1), ("Decided", 1), *([("CallStarted", 1)] if first else []), ("CallResult", 1),
        ("Decided", 2), ("CallStarted", 2), ("CallResult", 2),
        ("Decided", 3), ("Asked", 3), ("Decided", 3), *([("CallStarted", 3)] if second else []), ("CallResult", 3),
        ("Decided", 4), ("CallStarted", 4), ("CallResult", 4),
    ]  # fmt: skip
    assert [each.ok for each in events if isinstance(each, CallResult)] == [True, first, True, second, True]
    effects = [f"{name} {what}" for name, what, *_ in world.lines("effect")]
    assert effects == ["pay 1", *(["wire 2"] if first else []), "charge 3", *(["wire 4"] if second else [])]
    assert Counter(made for _, made, _ in world.lines("model")) == {0: 1, 5: 1}
    questions = (await Approvals(store).list_all(status=None)).approvals
    assert Counter(each.step for each in questions) == {1: 1, 3: 1}
