"""The fast path takes the same steps as the machine: every script is run with it and without it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

import bobcat
import campaign
from bobcat.runtime.compat import DEFAULTS, LYNX_2_5, CompatOptions
from bobcat.runtime.fast_path import FastPath
from bobcat.runtime.loop import run_with
from bobcat.runtime.options import Options
from lynx_runs import SCRIPTS, Death, Script, comparable, play

ALLOW = bobcat.compile_policy("rules: [{id: r, match: {}, decision: allow}]")
CALLS = (
    ("echo", "a", 0), ("echo", "fail", 0), ("other", "b", 0), ("echo", "c", 0), ("query", "d", 0), ("echo", "e", 7)
)  # fmt: skip


class Api:
    """`bobcat`, with an unobserved `run_agent`."""

    def __init__(self, *, use_fast_path: bool, compat: CompatOptions = DEFAULTS) -> None:
        self._use_fast_path, self._compat = use_fast_path, compat

    def __getattr__(self, name: str) -> Any:
        return getattr(bobcat, name)

    async def run_agent(self, agent: Any, task: str, **options: Any) -> Any:
        defaults = dict.fromkeys(("correlation_id", "store", "run_id", "executor", "cancel", "on_approval"))
        surroundings = {"principal": bobcat.Principal("user", "u"), "environment": "dev", "workspace": "."}
        given: dict[str, Any] = {**defaults, **surroundings, **options, "sinks": ()}
        return await run_with(self._compat, agent, task, Options(**given), use_fast_path=self._use_fast_path)


def both(script: Script) -> tuple[Any, Any]:
    """The run with the fast path, and without, under either set of options."""
    outcomes: dict[bool, list[Any]] = {True: [], False: []}
    for use_fast_path, found in outcomes.items():
        for compat in (DEFAULTS, LYNX_2_5):
            api: Any = Api(use_fast_path=use_fast_path, compat=compat)
            found.append(comparable(play(api, script, bobcat.compile_policy, bobcat.DuplicateRecord)))
    return outcomes[True], outcomes[False]


@settings(max_examples=campaign.examples(150), deadline=None)
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
    """Calls one tool for ever, or replies with its script."""

    def __init__(self, reply: Any = None) -> None:
        self.reply = bobcat.ToolCall("act", {}) if reply is None else reply
        self.seen: list[Any] = []

    async def step(self, conversation: Any) -> Any:
        self.seen = [comparable(message.content) for message in conversation]
        return self.reply


def outcomes(act: Callable[..., Any], compat: Any = DEFAULTS, reply: Any = None, **options: Any) -> list[Any]:
    """Results, journals and what the agent saw of a run whose tool is `act`, with the lane and without."""
    found: list[Any] = []
    for use_fast_path in (True, False):
        name, metadata = options.get("name", "act"), bobcat.ToolMetadata("low", True, ())
        tools = bobcat.ToolSet({name: bobcat.ToolDef(name, "", act, None, metadata)})
        policy = options.get("policy", ALLOW)
        store = options.get("store", bobcat.MemoryStore)()
        agent = Plain(reply)
        full: dict[str, Any] = {
            "tools": tools, "policy": policy, "sinks": (), "on_approval": None, "budget": bobcat.Budget(steps=2),
            "principal": bobcat.Principal("user", "u"), "environment": "dev", "workspace": ".", "correlation_id": None,
            "executor": None, "cancel": None, **options, "store": store, "run_id": "r",
        }  # fmt: skip
        full.pop("name", None)
        if callable(full["cancel"]):
            full["cancel"] = full["cancel"]()
        result = asyncio.run(run_with(compat, agent, "t", Options(**full), use_fast_path=use_fast_path))
        records = asyncio.run(store.load("r"))
        kept = [(r.seq, r.kind, comparable(dict(r.body)), r.idempotency_key) for r in records]
        found.append((result, kept, agent.seen))
    return found


def stand_still(seconds: float) -> None:
    """Block the event loop."""
    time.sleep(seconds)


async def takes(text: str = "x", times: int = 1) -> str:
    return f"{text} {times}"


ODD_REPLIES = {
    "a default is left out": bobcat.ToolCall("act", {"text": "a"}),
    "an unknown argument": bobcat.ToolCall("act", {"text": "a", "times": 1, "more": 1}),
    "a list": bobcat.ToolCall("act", {"text": ["a"], "times": 1}),
    "a problem": bobcat.ToolCall("act", {"text": "a", "times": 1}, problem="cut off"),
    "a text": bobcat.ToolCall("act", {"text": "a", "times": 1}, text="let us see"),
    "usage": bobcat.ToolCall("act", {"text": "a", "times": 1}, usage=bobcat.Usage(1, 2)),
    "a call id": bobcat.ToolCall("act", {"text": "a", "times": 1}, call_id="c-1"),
    "an unknown tool": bobcat.ToolCall("nope", {}),
    "two calls": [bobcat.ToolCall("act", {"text": "a", "times": 1})] * 2,
    "no call at all": 7,
}


@pytest.mark.parametrize("compat", [DEFAULTS, LYNX_2_5], ids=lambda compat: compat.name)
@pytest.mark.parametrize("reply", ODD_REPLIES.values(), ids=ODD_REPLIES)
def test_a_reply_that_is_not_plain_goes_the_same_way(reply: Any, compat: CompatOptions) -> None:
    with_lane, without = outcomes(takes, compat, reply)
    assert with_lane == without


CHANGED_AND_ALLOWED = bobcat.compile_policy("""
rules:
  - {id: allow-what-was-changed, priority: 5, match: {args.text: changed}, decision: allow}
  - {id: change, match: {}, decision: transform, transform: {jsonpath: $.args.text, set: changed}}
""")


@pytest.mark.parametrize("compat", [DEFAULTS, LYNX_2_5], ids=lambda compat: compat.name)
def test_arguments_that_rules_change_are_those_that_run(compat: CompatOptions) -> None:
    call = bobcat.ToolCall("act", {"text": "a", "times": 1})
    with_lane, without = outcomes(takes, compat, call, policy=CHANGED_AND_ALLOWED)
    assert with_lane == without
    assert with_lane[2][-1] == "[ok] changed 1"


def test_repeated_calls_end_an_unobserved_run() -> None:
    call = bobcat.ToolCall("act", {"text": "a", "times": 1})
    with_lane, without = outcomes(takes, reply=call, budget=bobcat.Budget(max_repeated_calls=2))
    assert with_lane == without
    assert with_lane[0].error == "repeated call limit exhausted (2): act with identical args"


def test_the_names_of_actions_are_the_same_for_tools_whose_names_need_care() -> None:
    call = bobcat.ToolCall("1|act", {"text": "a", "times": 1})
    with_lane, without = outcomes(takes, reply=call, name="1|act")
    assert with_lane == without


def test_a_model_that_swallows_its_cancellation_is_too_late() -> None:
    class Late(Plain):
        async def step(self, conversation: Any) -> Any:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(30)
            return bobcat.ToolCall("act", {})

    async def act() -> str:
        raise AssertionError("it must not run")

    async def run(*, use_fast_path: bool) -> Any:
        api = Api(use_fast_path=use_fast_path)
        tools = bobcat.ToolSet({"act": bobcat.ToolDef("act", "", act, None, bobcat.ToolMetadata("low", True, ()))})
        budget = bobcat.Budget(duration_seconds=0.05)
        return await api.run_agent(Late(), "t", tools=tools, policy=ALLOW, budget=budget, correlation_id="c")

    with_lane, without = (asyncio.run(run(use_fast_path=use_fast_path)) for use_fast_path in (True, False))
    assert with_lane == without
    assert with_lane.error == "duration budget exhausted (0.05s)"


def test_nothing_begins_on_the_account_of_a_lease_that_was_lost_while_the_intent_was_written() -> None:
    class Overtaken(bobcat.MemoryStore):
        """Is so slow to write an intent that another worker takes the run behind it."""

        def __init__(self) -> None:
            self.time = datetime(2030, 1, 1, tzinfo=UTC)
            super().__init__(clock=lambda: self.time)

        async def append(self, record: Any) -> None:
            await super().append(record)
            if record.kind == "action.intent":
                stand_still(0.1)
                self.time += timedelta(seconds=60)
                await self.acquire("r", owner="another", seconds=60)

    async def act() -> str:
        raise AssertionError("it must not run")

    with_lane, without = outcomes(act, store=Overtaken, lease_seconds=0.2, owner="me")
    assert with_lane == without
    assert with_lane[0].error == "superseded: another worker is executing run 'r'"


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
    assert [kind for _, kind, *_ in with_lane[1][-2:]] == ["action.result", "run.failed"]


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
    with_lane, without = outcomes(act, msgspec.structs.replace(DEFAULTS, store_timeout_seconds=0.05), store=store)
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

    with_lane, without = outcomes(act, msgspec.structs.replace(DEFAULTS, store_timeout_seconds=0.02), store=Stubborn)
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
    assert [kind for _, kind, *_ in with_lane[1][-3:]] == ["action.intent", "action.abandoned", "run.cancelled"]
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
        task = asyncio.create_task(bobcat.run_agent(Plain(), "t", tools=tools, policy=ALLOW))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())


def test_plain_steps_really_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    came_to: list[Any] = []
    go = FastPath.run

    async def watched(self: FastPath) -> Any:
        came_to.append(await go(self))
        return came_to[-1]

    monkeypatch.setattr(FastPath, "run", watched)
    script = Script((("echo", "a", 0),) * 5)
    api: Any = Api(use_fast_path=True)
    play(api, script, bobcat.compile_policy, bobcat.DuplicateRecord)
    assert [type(event).__name__ for event in came_to] == ["ModelReplied"]
    play(api, replace(script, calls=CALLS), bobcat.compile_policy, bobcat.DuplicateRecord)
    assert len(came_to) > 2
