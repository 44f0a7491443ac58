"""A thread under a policy that remembers: sources over turns, counts of a turn and of the thread, the user's words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import FinalAnswer, MemoryStore, Message, Policy, SQLiteStore, ToolCall, ToolSet, durable_approvals, tool
from bobcat.approvals import Approvals
from bobcat.threads import Threads
from bobcat.threads.thread import Thread
from unit.cli_runner import runner

SOURCED = """
sources:
  contacts: {tool: search, fields: [email], asked_with: task}
rules:
  - {id: search, match: {tool: search}, decision: allow}
  - {id: mail, match: {tool: mail, args.to.from: [task, contacts]}, decision: allow}
"""
COUNTED = """
rules:
  - {id: turn, match: {tool: mail, run.count.mail.ge: 2}, decision: deny, priority: 1}
  - {id: mail, match: {tool: mail, run.count.mail: {lt: 3, by: session}}, decision: allow}
"""


@tool(effect="none")
async def search(name: str) -> list[dict[str, str]]:
    return [{"name": name, "email": f"{name.lower()}@corp.example"}]


@tool(effect="idempotent")
async def mail(to: str) -> str:
    return "sent"


class Speaker:
    """Makes the calls of `turns[message]`, and answers."""

    def __init__(self, turns: dict[str, list[ToolCall]]) -> None:
        self.turns = turns
        self.told: dict[str, list[str]] = {}

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        start = max(at for at, each in enumerate(conversation) if each.role == "user")
        told = [each.content for each in conversation[start:] if each.role == "tool"]
        message = conversation[start].content
        self.told[message] = [text.split("]")[0] + "]" for text in told]
        calls = self.turns[message]
        return calls[len(told)] if len(told) < len(calls) else FinalAnswer("done")


def find(name: str) -> ToolCall:
    return ToolCall("search", {"name": name})


def send(to: str) -> ToolCall:
    return ToolCall("mail", {"to": to})


def opened(store: Any, agent: Speaker, policy: str, **options: Any) -> Thread:
    tools = ToolSet.from_functions(search, mail)
    return Thread(store, "t", agent=agent, tools=tools, policy=Policy.compile(policy), **options)


async def said(thread: Thread, *messages: str) -> None:
    for message in messages:
        async for _ in thread.send(message):
            pass
        await thread._task  # type: ignore[misc]  # the turn has ended, and its worker has released the thread


def test_results_of_earlier_turns_are_sources_and_their_words_are_not() -> None:
    agent = Speaker({
        "find Ann and copy boss@corp.example": [find("Ann"), find("Eve"), send("boss@corp.example")],
        "write to her": [send("ann@corp.example"), send("eve@corp.example"), send("boss@corp.example")],
        "and again": [send("ann@corp.example"), find("Ann")],
    })  # fmt: skip

    async def main(*, new_each_time: bool) -> None:
        store = MemoryStore()
        if new_each_time:
            for message in agent.turns:
                async with opened(store, agent, SOURCED) as thread:
                    await said(thread, message)
        else:
            async with opened(store, agent, SOURCED) as thread:
                await said(thread, *agent.turns)

    for new_each_time in (False, True):
        agent.told.clear()
        asyncio.run(main(new_each_time=new_each_time))
        assert list(agent.told.values()) == [
            ["[ok]", "[ok]", "[ok]"], ["[ok]", "[denied]", "[denied]"], ["[ok]", "[ok]"]
        ]  # fmt: skip


def test_counts_are_of_the_turn_and_by_session_of_the_thread() -> None:
    agent = Speaker({"one": [send("a"), send("b"), send("c")], "two": [send("d"), send("e")]})

    async def main() -> None:
        store = MemoryStore()
        async with opened(store, agent, COUNTED) as thread:
            await said(thread, "one", "two")
        other = Speaker({"one": [send("a")]})
        tools = ToolSet.from_functions(search, mail)
        async with Thread(store, "u", agent=other, tools=tools, policy=Policy.compile(COUNTED)) as thread:
            await said(thread, "one")
        assert other.told == {"one": ["[ok]"]}

    asyncio.run(main())
    assert agent.told == {"one": ["[ok]", "[ok]", "[denied]"], "two": ["[ok]", "[denied]"]}


def test_a_thread_can_have_one_task() -> None:
    agent = Speaker({"go": [send("ann@corp.example")], "go on": [send("ann@corp.example"), send("bob@corp.example")]})

    async def main() -> None:
        async with opened(MemoryStore(), agent, SOURCED, task="write to ann@corp.example") as thread:
            await said(thread, "go", "go on")

    asyncio.run(main())
    assert agent.told == {"go": ["[ok]"], "go on": ["[ok]", "[denied]"]}
    with pytest.raises(TypeError, match="user_task must be a string"):
        opened(MemoryStore(), agent, SOURCED, task=5)


def test_a_turn_that_waits_is_continued_elsewhere_with_the_same_sources(tmp_path: Path) -> None:
    policy = SOURCED + "  - {id: ask, match: {tool: mail}, decision: approve_required}\n"
    agent = Speaker({"find Ann": [find("Ann")], "write": [send("x@y.z"), send("ann@corp.example"), send("q@y.z")]})

    async def main() -> None:
        store = SQLiteStore(tmp_path / "threads.db")
        options = {"on_approval": durable_approvals(store)}
        async with opened(store, agent, policy, **options) as thread:
            await said(thread, "find Ann", "write")
        assert agent.told["write"] == []
        for expected in (["[ok]", "[ok]"], ["[ok]", "[ok]", "[ok]"]):
            (waiting,) = await Approvals(store).list()
            assert any("not from the user's own words" in note for note in waiting.notes)
            await Approvals(store).grant(waiting.id, approver="alice")
            async with opened(store, agent, policy, **options) as thread:
                async for _ in thread.resume():
                    pass
            assert agent.told["write"] == expected
        await store.aclose()

    asyncio.run(main())


def test_a_step_of_a_turn_is_explained_with_the_sources_of_the_turns_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bobcat = runner(capsys, monkeypatch)
    path = tmp_path / "policy.yaml"
    path.write_text(SOURCED)
    agent = Speaker({"find Ann": [find("Ann")], "write": [send("ann@corp.example"), send("x@corp.example")]})

    async def main() -> None:
        store = SQLiteStore(tmp_path / "threads.db")
        async with opened(store, agent, SOURCED) as thread:
            await said(thread, "find Ann", "write")
        await store.aclose()

    asyncio.run(main())
    assert agent.told["write"] == ["[ok]", "[denied]"]
    url = f"sqlite:///{tmp_path / 'threads.db'}"
    found = [
        bobcat("explain", str(path), "--store", url, "--run", "thread:t#2", "--step", step, "--format", "json")
        for step in ("0", "1")
    ]
    assert [each.code for each in found] == [0, 0], found
    assert [each.json()["decision"]["verdict"] for each in found] == ["allow", "deny"]


def test_a_purged_thread_leaves_no_sources_and_no_counts() -> None:
    agent = Speaker({"find Ann": [find("Ann")], "write": [send("ann@corp.example")], "count": [send("a")]})

    async def main() -> None:
        store = MemoryStore()
        async with opened(store, agent, COUNTED) as thread:
            await said(thread, "count")
        async with opened(store, agent, SOURCED) as thread:
            await said(thread, "find Ann")
            assert [each.run_id for each in await store.runs() if each.run_id.startswith("scope:")]
            await Threads(store).delete("t", keep_days=0)
            assert (await Threads(store).purge()).erased == ("t",)
            assert not [each.run_id for each in await store.runs() if each.run_id.startswith("scope:")]
            await said(thread, "write")

    asyncio.run(main())
    assert agent.told == {"find Ann": ["[ok]"], "count": ["[ok]"], "write": ["[denied]"]}
