"""Sinks that take results get each one as the journal has it; other sinks get what they got."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import bobcat
from bobcat import (
    AuditEvent,
    FinalAnswer,
    MemoryStore,
    Message,
    ToolCall,
    ToolSet,
    multi_sink,
    run_agent,
    tool,
    truncate_compressor,
)
from bobcat.runtime.compat import LYNX_2_5
from bobcat.runtime.loop import run_with
from bobcat.runtime.options import Options
from bobcat.threads import Thread

POLICY = bobcat.compile_policy(
    "rules: [{id: no, match: {tool: never}, decision: deny, reason: no}, {id: yes, match: {}, decision: allow}]"
)


@tool(effect="none")
async def echo(text: str) -> str:
    """Echo."""
    return text


@tool(effect="none")
async def fail() -> str:
    """Fail."""
    raise OSError("broken")


@tool(effect="none")
async def never() -> str:
    """Never."""
    return "never"


TOOLS = ToolSet.from_functions(echo, fail, never)
CALLS = (
    ToolCall("echo", {"text": "long " * 20}, "a"),
    ToolCall("fail", {}, "b"),
    ToolCall("never", {}, "c"),
    ToolCall("unknown", {}, "d"),
    ToolCall("echo", {"wrong": 1}, "e"),
)


class Caller:
    """Makes all calls at once; then answers, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self._fails = fails

    async def step(self, conversation: Sequence[Message]) -> Any:
        if conversation[-1].role == "user":
            return CALLS
        if self._fails:
            raise KeyboardInterrupt
        return FinalAnswer("done")


class Keeping:
    """Keeps its events."""

    results = False

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    async def __call__(self, event: AuditEvent) -> None:
        self.events.append(event)

    def bodies(self) -> list[dict[str, Any]]:
        return [dict(each.body) for each in self.events if each.kind == "action.result"]


class Taking(Keeping):
    results = True


def run(*sinks: Any, **options: Any) -> Any:
    return asyncio.run(run_agent(Caller(), "go", tools=TOOLS, policy=POLICY, sinks=sinks, **options))


async def journaled(store: MemoryStore, run_id: str) -> list[dict[str, Any]]:
    records = [each for each in await store.load(run_id) if each.kind == "action.result"]
    return [{name: value for name, value in each.body.items() if name not in ("step", "chain")} for each in records]


@pytest.mark.parametrize("journal", [False, True])
def test_each_call_has_one_result_as_the_journal_has_it(journal: bool) -> None:
    store, taking = MemoryStore(), Taking()
    options: dict[str, Any] = {"store": store, "run_id": "r"} if journal else {}
    run(multi_sink(taking), compressor=truncate_compressor(max_chars=20), **options)
    bodies = taking.bodies()
    assert [body.pop("seq") for body in bodies] == [0, 1, 2, 3, 4]
    assert [body["ok"] for body in bodies] == [True, False, False, False, False]
    assert [body["message"].partition(" ")[0] for body in bodies] == [
        "[ok]",
        "[error]",
        "[denied]",
        "[error]",
        "[error]",
    ]
    assert "left out" in bodies[0]["message"]
    assert bodies[0]["whole"] == f"[ok] {'long ' * 20}"
    if journal:
        assert bodies == asyncio.run(journaled(store, "r"))


def test_other_sinks_get_what_they_got() -> None:
    alone, beside, taking = Keeping(), Keeping(), Taking()
    run(alone)
    run(beside, taking)

    def shown(sink: Keeping) -> list[tuple[int, str, list[str]]]:
        return [(each.seq, each.kind, list(each.body)) for each in sink.events]

    assert shown(alone) == shown(beside)
    assert shown(beside) == [each for each in shown(taking) if each[1] != "action.result"]


def test_a_result_is_durable_before_a_sink_sees_it() -> None:
    store = MemoryStore()

    class Checking(Taking):
        async def __call__(self, event: AuditEvent) -> None:
            await super().__call__(event)
            if event.kind == "action.result":
                assert len(await journaled(store, "r")) == len(self.bodies())

    checking = Checking()
    result = run(checking, store=store, run_id="r")
    assert len(checking.bodies()) == len(CALLS)
    assert not result.audit_gaps


def test_a_resumed_run_shows_the_results_of_earlier_attempts_as_replayed() -> None:
    store, first, second = MemoryStore(), Taking(), Taking()
    options: dict[str, Any] = {"tools": TOOLS, "policy": POLICY, "store": store, "run_id": "r", "owner": "w"}
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run_agent(Caller(fails=True), "go", sinks=[first], **options))
    asyncio.run(run_agent(Caller(), "go", sinks=[second], **options))
    assert len(first.bodies()) == len(CALLS)
    assert second.bodies() == [{**body, "replayed": True} for body in first.bodies()]


def test_turns_of_a_thread_show_their_results() -> None:
    async def talk() -> Taking:
        taking = Taking()
        async with Thread(MemoryStore(), "t", agent=Caller(), tools=TOOLS, policy=POLICY, sinks=[taking]) as thread:
            for text in ("one", "two"):
                async for _ in thread.send(text):
                    pass
        return taking

    events = [each for each in asyncio.run(talk()).events if each.kind == "action.result"]
    assert [each.correlation_id for each in events] == ["thread:t#1"] * 5 + ["thread:t#2"] * 5


def test_a_required_sink_that_fails_on_a_result_stops_the_run() -> None:
    class Failing(Taking):
        required = True

        async def __call__(self, event: AuditEvent) -> None:
            await super().__call__(event)
            if event.kind == "action.result":
                raise OSError("full")

    failing = Failing()
    result = run(failing)
    assert (result.status, result.code) == ("failed", "sink_failed")
    assert "not executed" in failing.bodies()[1]["message"]


def test_a_run_of_lynx_agent_shows_none() -> None:
    taking = Taking()
    options = Options(tools=TOOLS, policy=POLICY, sinks=[taking])
    asyncio.run(run_with(LYNX_2_5, Caller(), "go", options))
    assert taking.events
    assert taking.bodies() == []
