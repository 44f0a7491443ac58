"""The express lane takes the same steps as the machine: every script is run with it and without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

import bobcat
from bobcat.kernel.express import Express
from bobcat.kernel.loop import Options, run_in_manner
from bobcat.kernel.manner import INCUMBENT, SAFE, Manner
from lynx_runs import SCRIPTS, Death, Script, comparable, play

CALLS = (
    ("echo", "a", 0), ("echo", "fail", 0), ("other", "b", 0), ("echo", "c", 0), ("query", "d", 0), ("echo", "e", 7)
)  # fmt: skip


class Api:
    """`bobcat`, with a `run_agent` that nobody watches."""

    def __init__(self, *, by_express: bool, manner: Manner = SAFE) -> None:
        self._by_express, self._manner = by_express, manner

    def __getattr__(self, name: str) -> Any:
        return getattr(bobcat, name)

    async def run_agent(self, agent: Any, task: str, **options: Any) -> Any:
        defaults = dict.fromkeys(("correlation_id", "store", "run_id", "executor", "cancel", "on_approval"))
        surroundings = {"principal": bobcat.Principal("user", "u"), "environment": "dev", "workspace": "."}
        given: dict[str, Any] = {**defaults, **surroundings, **options, "sinks": ()}
        return await run_in_manner(self._manner, agent, task, Options(**given), by_express=self._by_express)


def both(script: Script) -> tuple[Any, Any]:
    """The run with the lane, and without, in either manner."""
    outcomes: dict[bool, list[Any]] = {True: [], False: []}
    for by_express, found in outcomes.items():
        for manner in (SAFE, INCUMBENT):
            api: Any = Api(by_express=by_express, manner=manner)
            found.append(comparable(play(api, script, bobcat.compile_policy, bobcat.DuplicateRecord)))
    return outcomes[True], outcomes[False]


@settings(max_examples=150, deadline=None)
@given(SCRIPTS)
def test_any_script_goes_the_same_way(script: Script) -> None:
    with_lane, without = both(script)
    assert with_lane == without


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("at", range(1, 18))
def test_a_death_at_any_write_leaves_the_same_behind(at: int, kept: bool) -> None:
    with_lane, without = both(Script(CALLS, journaled=True, deaths=(Death(at, kept),)))
    assert with_lane == without


@pytest.mark.parametrize("journaled", [True, False])
@pytest.mark.parametrize("place", ["model", "tool"])
@pytest.mark.parametrize("count", range(1, 6))
def test_the_switch_stops_the_same_step(place: str, count: int, journaled: bool) -> None:
    with_lane, without = both(Script(CALLS, cancel_at=(place, count), journaled=journaled))
    assert with_lane == without


@pytest.mark.parametrize("steps", [None, 0, 1, 3])
@pytest.mark.parametrize("end", ["answer", "raise", "late"])
def test_caps_and_ends_are_the_same(steps: int | None, end: str) -> None:
    with_lane, without = both(Script(CALLS, end=end, budget={"steps": steps} if steps is not None else {}))
    assert with_lane == without


class Plain:
    """Calls one tool for ever."""

    async def step(self, conversation: Any) -> Any:
        return bobcat.ToolCall("act", {})


def outcomes(act: Callable[[], Any], manner: Any = SAFE, **options: Any) -> list[Any]:
    """Results and journals of a run whose tool is `act`, with the lane and without."""
    found: list[Any] = []
    for by_express in (True, False):
        tools = bobcat.ToolSet({"act": bobcat.ToolDef("act", "", act, None, bobcat.ToolMetadata("low", True, ()))})
        policy = bobcat.compile_policy("rules: [{id: r, match: {}, decision: allow}]")
        store = options.get("store", bobcat.MemoryStore)()
        full: dict[str, Any] = {
            "tools": tools, "policy": policy, "sinks": (), "on_approval": None, "budget": bobcat.Budget(steps=2),
            "principal": bobcat.Principal("user", "u"), "environment": "dev", "workspace": ".", "correlation_id": None,
            "executor": None, "cancel": None, **options, "store": store, "run_id": "r",
        }  # fmt: skip
        if callable(full["cancel"]):
            full["cancel"] = full["cancel"]()
        result = asyncio.run(run_in_manner(manner, Plain(), "t", Options(**full), by_express=by_express))
        records = asyncio.run(store.load("r"))
        found.append((result, [(r.seq, r.kind, comparable(dict(r.body))) for r in records]))
    return found


def test_a_tool_that_hangs_is_ended_by_the_deadline() -> None:
    async def act() -> None:
        await asyncio.sleep(30)

    with_lane, without = outcomes(act, budget=bobcat.Budget(duration_seconds=0.05))
    assert with_lane == without
    assert with_lane[0].error == "duration budget exhausted (0.05s)"


def test_a_tool_that_swallows_its_cancellation_has_happened() -> None:
    async def act() -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "too late"
        return "never"

    with_lane, without = outcomes(act, budget=bobcat.Budget(duration_seconds=0.05))
    assert with_lane == without
    assert [kind for _, kind, _ in with_lane[1][-2:]] == ["action.result", "run.failed"]


@pytest.mark.parametrize("error", [asyncio.CancelledError("by hand"), SystemExit(3), TimeoutError("mine")])
def test_what_a_tool_raises_by_hand_is_its_failure(error: BaseException) -> None:
    async def act() -> None:
        raise error

    with_lane, without = outcomes(act)
    assert with_lane == without
    assert with_lane[0].error == "step budget exhausted (2)"


class Hanging(bobcat.MemoryStore):
    """Never finishes its n-th write."""

    hangs_at = 0

    async def append(self, record: Any) -> None:
        if record.seq == self.hangs_at:
            await asyncio.sleep(30)
        await super().append(record)


@pytest.mark.parametrize("at", range(7))
def test_a_store_that_hangs_fails_the_run(at: int) -> None:
    async def act() -> str:
        return "done"

    store = type("HangingAt", (Hanging,), {"hangs_at": at})
    with_lane, without = outcomes(act, msgspec.structs.replace(SAFE, store_seconds=0.05), store=store)
    assert with_lane == without
    assert with_lane[0].error == "store.append failed: TimeoutError: "


class Stubborn(bobcat.MemoryStore):
    """Takes too long for every write, and cannot be stopped."""

    async def append(self, record: Any) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)
        await super().append(record)


def test_a_late_write_counts() -> None:
    async def act() -> str:
        return "done"

    with_lane, without = outcomes(act, msgspec.structs.replace(SAFE, store_seconds=0.02), store=Stubborn)
    assert with_lane == without
    assert with_lane[0].error == "step budget exhausted (2)"


def test_the_switch_does_not_reach_a_write_but_the_tool_behind_it() -> None:
    tokens: list[bobcat.CancelToken] = []

    class Throwing(bobcat.MemoryStore):
        async def append(self, record: Any) -> None:
            if record.kind == "action.intent":
                tokens[-1].cancel("stop")
                await asyncio.sleep(0.01)
            await super().append(record)

    async def act() -> str:
        raise AssertionError("it must not run")

    def token() -> bobcat.CancelToken:
        tokens.append(bobcat.CancelToken())
        return tokens[-1]

    with_lane, without = outcomes(act, cancel=token, store=Throwing)
    assert with_lane[0].error == without[0].error == "cancelled: stop"
    assert [kind for _, kind, _ in with_lane[1][-3:]] == ["action.intent", "action.abandoned", "run.cancelled"]
    assert with_lane == without


def test_ctrl_c_and_cancellation_from_outside_come_out() -> None:
    async def act() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcomes(act)

    async def hang() -> None:
        await asyncio.sleep(30)

    async def go() -> None:
        tools = bobcat.ToolSet.from_functions(bobcat.tool(name="act")(hang))
        policy = bobcat.compile_policy("rules: [{id: r, match: {}, decision: allow}]")
        task = asyncio.create_task(bobcat.run_agent(Plain(), "t", tools=tools, policy=policy))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())


def test_plain_steps_really_take_the_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    came_to: list[Any] = []
    go = Express.go

    async def watched(self: Express) -> Any:
        came_to.append(await go(self))
        return came_to[-1]

    monkeypatch.setattr(Express, "go", watched)
    script = Script((("echo", "a", 0),) * 5)
    api: Any = Api(by_express=True)
    play(api, script, bobcat.compile_policy, bobcat.DuplicateRecord)
    assert [type(event).__name__ for event in came_to] == ["ModelReplied"]
    play(api, replace(script, calls=CALLS), bobcat.compile_policy, bobcat.DuplicateRecord)
    assert len(came_to) > 2
