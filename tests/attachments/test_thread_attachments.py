"""Attachments of a thread's messages: durable before the message, the same in every process, and read when shown."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from adapters.vendor_server import serving
from bobcat import Cap, Ended, FinalAnswer, Ledger, MemoryStore, Message, Policy, Prices, SQLiteStore, ToolSet, Usage
from bobcat.adapters.anthropic_sdk import ClaudeAgent
from bobcat.attachments import Attachment, AttachmentError, AttachmentLimits
from bobcat.attachments.store import CHUNK_KIND, KIND
from bobcat.errors import ThreadError
from bobcat.threads import LastMessages, LastTokens, Thread, TurnStarted

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
IMAGE = Attachment.from_bytes(PNG, name="shot.png")
NOTE = Attachment.text("12 EUR", name="bill.txt")
NO_TOOLS = ToolSet.from_functions()
PROCESS = str(Path(__file__).with_name("attaching_process.py"))
POLICY = Policy.compile("rules: []")


class Reader:
    """Keeps the conversations that it is shown."""

    model = "small"
    max_output_tokens = 1_000

    def __init__(self) -> None:
        self.shown: list[list[Message]] = []

    async def step(self, conversation: Sequence[Message]) -> FinalAnswer:
        self.shown.append(list(conversation))
        return FinalAnswer("ok", Usage(10, 2, model="small"))


def talk(store: Any, agent: Any, **options: Any) -> Thread:
    return Thread(store, "t", agent=agent, tools=NO_TOOLS, policy=POLICY, **options)


async def ask(thread: Thread, text: str, *files: Attachment, **options: Any) -> list[Any]:
    return [event async for event in thread.send(text, attachments=files, **options)]


def files_in(messages: Sequence[Message]) -> list[bytes | None]:
    return [file.data for message in messages for file in message.attachments]


def test_another_process_resumes_with_the_same_files(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'threads.db'}"
    first = subprocess.run([sys.executable, PROCESS, place, "die"], capture_output=True, timeout=60)
    assert first.returncode == -9
    second = subprocess.run([sys.executable, PROCESS, place, "run"], capture_output=True, timeout=60, text=True)
    assert second.returncode == 0, second.stderr
    answers = [ast.literal_eval(line) for line in second.stdout.splitlines()]
    look = ("look", [PNG.hex()])
    assert answers == [[look], [look, ("and now the bill", [b"12 EUR".hex(), PNG.hex()])]]
    assert first.stdout.decode().splitlines() == second.stdout.splitlines()[:1]

    async def check() -> None:
        store = SQLiteStore(tmp_path / "threads.db")
        async with aclosing(store):
            thread = talk(store, Reader())
            started = [each async for each in thread.events() if isinstance(each, TurnStarted)]
            assert [each.attachments for each in started] == [(IMAGE.digest,), (NOTE.digest, IMAGE.digest)]
            users = [each for each in await thread.messages() if each.role == "user"]
            assert [each.attachments for each in users] == [(IMAGE,), (NOTE, IMAGE)]
            assert files_in(users) == [None] * 3
            assert len(await store.scan(KIND)) == 2

    asyncio.run(check())


def test_claude_gets_the_files_of_earlier_turns(tmp_path: Path) -> None:
    replies = [
        {
            "id": "m", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "ok"}],
            "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        for _ in range(2)
    ]  # fmt: skip

    async def work(url: str) -> None:
        async with AsyncAnthropic(base_url=url, api_key="test", max_retries=0) as client:
            agent = ClaudeAgent(tools=NO_TOOLS, client=client, cache_prompt=False)
            window = LastTokens(100_000, count=agent)
            for text, files in (("look", (IMAGE,)), ("and the bill", (NOTE,))):
                async with talk(f"sqlite:///{tmp_path / 'threads.db'}", agent, window=window) as thread:
                    assert (await ask(thread, text, *files))[-1].outcome == "succeeded"

    with serving(*replies) as vendor:
        asyncio.run(work(vendor.url))
    first, second = (request["messages"] for request in vendor.requests)
    assert [each["type"] for each in first[0]["content"]] == ["image", "text"]
    assert second[0] == first[0]
    assert [each["type"] for each in second[-1]["content"]] == ["document", "text"]
    assert second[-1]["content"][0]["source"]["data"] == "12 EUR"


class Counting(MemoryStore):
    """Counts the chunks that are read."""

    chunks = 0

    async def get(self, kind: str, key: str) -> Any:
        self.chunks += kind == CHUNK_KIND
        return await super().get(kind, key)


def test_only_files_that_are_shown_are_read() -> None:
    async def work() -> None:
        agent, store = Reader(), Counting()
        async with talk(store, agent, window=LastMessages(2)) as thread:
            await ask(thread, "one", IMAGE)
            await ask(thread, "two", IMAGE)
            assert files_in(agent.shown[-1]) == [PNG, PNG]
            await ask(thread, "three")
            assert files_in(agent.shown[-1]) == [PNG]
            store.chunks = 0
            await ask(thread, "four")
            assert files_in(agent.shown[-1]) == []
            assert store.chunks == 0

    asyncio.run(work())


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ("too_large", [Attachment.from_bytes(bytes(101))]),
        ("too_many", [NOTE] * 3),
        ("not_loaded", [replace(NOTE, data=None)]),
        ("bad_attachments", ["bill.txt"]),
        ("bad_attachments", "bill.txt"),
        ("bad_attachments", NOTE),
    ],
)
@pytest.mark.parametrize("busy", ["queue", "refuse"])
def test_what_is_refused_leaves_nothing(code: str, files: Any, busy: Any) -> None:
    async def work() -> None:
        store = MemoryStore()
        async with talk(
            store, Reader(), busy=busy, attachment_limits=AttachmentLimits(attachment_bytes=100, count=2)
        ) as thread:
            with pytest.raises(AttachmentError if code.startswith(("too", "not")) else ThreadError) as refused:
                await thread.queue("look", attachments=files)
            assert getattr(refused.value, "code", None) == code
        assert not await store.load("thread:t")
        assert not await store.scan(KIND)

    asyncio.run(work())


def test_a_key_belongs_to_the_text_and_its_files() -> None:
    async def work() -> None:
        async with talk(MemoryStore(), Reader()) as thread:
            first = await ask(thread, "look", IMAGE, key="k")
            assert await ask(thread, "look", IMAGE, key="k") == first
            for files in ((NOTE,), ()):
                with pytest.raises(ThreadError, match="belongs to another message"):
                    await ask(thread, "look", *files, key="k")

    asyncio.run(work())


def test_lost_bytes_fail_the_turn_and_not_the_thread() -> None:
    async def work() -> None:
        agent, store = Reader(), MemoryStore()
        async with talk(store, agent, window=LastMessages(2)) as thread:
            await ask(thread, "one", IMAGE)
            (chunk,) = await store.scan(CHUNK_KIND)
            await store.put(CHUNK_KIND, chunk.key, {}, expected=chunk.version)
            ended = (await ask(thread, "two"))[-1]
            assert isinstance(ended, Ended)
            assert ended.code == "damaged"
            assert f"attachment `{IMAGE.digest}` in the store is incomplete" in str(ended.error)
            assert (await ask(thread, "three", IMAGE))[-1].outcome == "succeeded"

    asyncio.run(work())


def test_an_attachment_that_the_store_lost_is_missing() -> None:
    class Forgetful(MemoryStore):
        """Has no attachment once the first turn is over."""

        async def get(self, kind: str, key: str) -> Any:
            found = await super().get(kind, key)
            return None if kind == KIND and agent.shown else found

    agent, store = Reader(), Forgetful()

    async def work() -> None:
        async with talk(store, agent, window=LastMessages(2)) as thread:
            await ask(thread, "one", IMAGE)
            ended = (await ask(thread, "two"))[-1]
            assert (ended.outcome, ended.code) == ("failed", "missing")
            assert f"the store has no attachment `{IMAGE.digest}`" in str(ended.error)

    asyncio.run(work())


def test_a_message_of_the_window_keeps_its_files() -> None:
    async def work() -> None:
        store = MemoryStore()
        async with talk(store, Reader(), window=Choosing()) as thread:
            await ask(thread, "one", IMAGE)
            await ask(thread, "two", NOTE)
            shown = thread._agent.shown[-1]  # type: ignore[attr-defined]
            assert [each.content for each in shown] == ["in short", "two"]
            assert files_in(shown) == [PNG, b"12 EUR"]

    asyncio.run(work())


class Choosing:
    """Shows a message of its own with the files of the turn before."""

    async def choose(self, history: Any, message: Message) -> list[Message]:
        found = [await history.turn(number) for number in range(1, history.turns + 1)]
        return [replace(each.messages[0], content="in short") for each in found]


def test_a_ledger_counts_the_files_of_a_thread(tmp_path: Path) -> None:
    prices = Prices.from_mapping({"small": {"input": 1, "output": 5}}, date="2026-11-01")

    async def work() -> None:
        caps = [Cap("thread", usd=Decimal("0.1"))]
        async with Ledger(str(tmp_path / "spending.db"), caps, prices=prices) as ledger:
            async with talk(MemoryStore(), Reader(), ledger=ledger) as thread:
                assert (await ask(thread, "look"))[-1].outcome == "succeeded"
                assert (await ask(thread, "look", NOTE))[-1].outcome == "succeeded"
                assert (await ask(thread, "look", IMAGE))[-1].code == "budget_exhausted"

    asyncio.run(work())
