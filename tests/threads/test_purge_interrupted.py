"""Purges that are killed, and purges beside senders and other purges, with the other work at every store operation."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from bobcat import Asked, Ended, MemoryStore, durable_approvals
from bobcat.attachments import AttachmentStore
from bobcat.errors import ThreadError
from bobcat.model.attachment import Attachment
from bobcat.stores.urls import open_store
from bobcat.threads import Thread, Threads
from thread_conversations import (
    ASKING,
    POLICY,
    InterruptedStore,
    Ledger,
    Payer,
    StoppingStore,
    awaited,
    collect,
    content,
)

FILES = (Attachment.text("of the invoice"), Attachment.from_bytes(b"\0" * 600_000, name="z", media_type="x/y"))
PROCESS = str(Path(__file__).with_name("purge_process.py"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}


async def talk(store: Any, id: str, text: str, *files: Attachment) -> list[Any]:
    async with Thread(store, id, agent=Payer(), tools=Ledger().tools(), policy=POLICY) as thread:
        return await collect(thread.send(text, attachments=files, key=text))


async def filled(store: Any) -> Any:
    """A store with the deleted thread `a`, whose attachments the thread `b` has in part."""
    await talk(store, "a", "10", *FILES)
    await talk(store, "a", "20")
    await store.put("thread.note", "thread:a#summary", {"text": "of it"}, expected=0)
    await store.put("approval", "of-a", {"run_id": "thread:a#2"}, expected=0)
    await talk(store, "b", "30", FILES[0])
    await Threads(store).delete("a", keep_days=0)
    return store


async def only_b_is_left(store: Any) -> None:
    runs, documents = await content(store)
    assert runs == ["thread:b", "thread:b#1"]
    left = {kind: keys for kind, keys in documents.items() if keys}
    assert left.pop("thread.key")[0].startswith("thread:b#")
    digest = FILES[0].digest
    chunk = f"{digest}/00000"
    uses = [f"thread:b#{digest}"]
    assert left == {"thread": ["b"], "thread.attachment": uses, "attachment": [digest], "attachment.chunk": [chunk]}
    await is_whole(store, "b", FILES[0])


async def is_whole(store: Any, id: str, *files: Attachment) -> None:
    """The thread has a turn with these attachments, and their bytes; it takes another message."""
    async with Thread(store, id, agent=Payer(), tools=Ledger().tools(), policy=POLICY) as thread:
        messages = await thread.messages()
        kept = [each for message in messages for each in message.attachments]
        assert [each.digest for each in kept] == [each.digest for each in files]
        assert [each.data for each in await AttachmentStore(store).load(kept)] == [each.data for each in files]


async def at_every_point(run: Callable[[int], Awaitable[bool]], least: int) -> None:
    """Call `run` for each point, until it says that the point was not reached."""
    points = 0
    while await run(points):
        points += 1
    assert points > least


@awaited
async def test_a_purge_killed_anywhere_shows_nothing_and_is_completed_by_the_next() -> None:
    async def stopped_at(at: int) -> bool:
        inner = await filled(MemoryStore())
        stopping = StoppingStore(inner, at)
        purge = asyncio.create_task(Threads(stopping).purge())  # type: ignore[arg-type]
        stopped = asyncio.create_task(stopping.stopped.wait())
        await asyncio.wait({purge, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if purge.done():
            return False
        purge.cancel()
        threads = Threads(inner)
        assert [each.id for each in await threads.list()] == ["b"]
        try:  # whole, or gone
            found = (await threads.get("a")).turns
        except ThreadError as error:
            assert error.code in ("deleted", "unknown")  # noqa: PT017
            assert await threads.list(deleted=True) == []
        else:
            assert found == 2
        await is_whole(inner, "b", FILES[0])
        await threads.purge()
        await only_b_is_left(inner)
        return True

    await at_every_point(stopped_at, 80)


@awaited
async def test_a_message_with_the_same_attachments_comes_at_any_point_of_a_purge() -> None:
    async def sent_at(at: int) -> bool:
        inner = await filled(MemoryStore())

        async def send() -> None:
            assert isinstance((await talk(inner, "c", "40", *FILES))[-1], Ended)

        store = InterruptedStore(inner, at, send)
        await Threads(store).purge()  # type: ignore[arg-type]
        if store.done:
            await is_whole(inner, "c", *FILES)
            await is_whole(inner, "b", FILES[0])
            await Threads(inner).delete("c", keep_days=0)
            await Threads(inner).purge()
            await only_b_is_left(inner)
        return store.done

    await at_every_point(sent_at, 40)


@awaited
async def test_a_purge_comes_at_any_point_of_a_message_with_the_same_attachments() -> None:
    async def purged_at(at: int) -> bool:
        inner = await filled(MemoryStore())

        async def purge() -> None:
            assert (await Threads(inner).purge()).erased == ("a",)

        store = InterruptedStore(inner, at, purge)
        assert isinstance((await talk(store, "c", "40", *FILES))[-1], Ended)
        await is_whole(inner, "c", *FILES)
        await is_whole(inner, "b", FILES[0])
        return store.done

    await at_every_point(purged_at, 30)


@pytest.mark.parametrize("files", [(), FILES], ids=["text", "files"])
@awaited
async def test_a_deletion_and_a_purge_come_at_any_point_of_a_message_of_the_thread(files: Any) -> None:
    async def purged_at(at: int) -> bool:
        inner = await filled(MemoryStore())
        await Threads(inner).purge()
        await talk(inner, "a", "10")

        async def purge() -> None:
            await Threads(inner).delete("a", keep_days=0)
            await Threads(inner).purge()

        store = InterruptedStore(inner, at, purge)
        try:
            ended: Any = (await talk(store, "a", "40", *files))[-1:]
        except ThreadError as error:
            assert error.code == "deleted"  # noqa: PT017
        else:
            assert not ended or isinstance(ended[0], Ended)
        assert {each.id for each in await Threads(inner).list()} <= {"a", "b"}
        await is_whole(inner, "b", FILES[0])
        if "a" in [each.key for each in await inner.scan("thread")]:
            with_state = await inner.get("thread", "a")
            assert with_state is not None
            if with_state.body["state"] == "live":
                await Threads(inner).delete("a", keep_days=0)
        await Threads(inner).purge()
        await only_b_is_left(inner)
        return store.done

    await at_every_point(purged_at, 30)


@pytest.mark.parametrize("act", [lambda thread: thread.cancel(), lambda thread: thread.pin(1)], ids=["cancel", "pin"])
@awaited
async def test_a_deletion_and_a_purge_come_at_any_point_of_other_writes(act: Any) -> None:
    async def purged_at(at: int) -> bool:
        inner = await filled(MemoryStore())
        await Threads(inner).purge()
        asking: dict[str, Any] = {"policy": ASKING, "on_approval": durable_approvals(inner)}
        async with Thread(inner, "a", agent=Payer(), tools=Ledger().tools(), **asking) as thread:
            assert isinstance((await collect(thread.send("10")))[-1], Asked)

        async def purge() -> None:
            await Threads(inner).delete("a", keep_days=0)
            await Threads(inner).purge()

        store: Any = InterruptedStore(inner, at, purge)
        async with Thread(store, "a", agent=Payer(), tools=Ledger().tools(), policy=ASKING) as thread:
            with suppress(ThreadError):
                await act(thread)
        if not store.done:
            await purge()
        await Threads(inner).purge()
        await only_b_is_left(inner)
        return bool(store.done)

    await at_every_point(purged_at, 5)


@awaited
async def test_a_slow_purge_leaves_a_new_thread_with_the_same_id_alone() -> None:
    async def overtaken_at(at: int) -> bool:
        inner = await filled(MemoryStore())

        async def purge_and_begin_again() -> None:
            assert (await Threads(inner).purge()).busy == ()
            await talk(inner, "a", "50", *FILES)
            await inner.put("thread.note", "thread:a#summary", {"text": "new"}, expected=0)
            await inner.put("approval", "of-a", {"run_id": "thread:a#1"}, expected=0)

        store = InterruptedStore(inner, at, purge_and_begin_again)
        await Threads(store).purge()  # type: ignore[arg-type]
        if not store.done:
            return False
        try:
            assert (await Threads(inner).get("a")).turns == 1
        except ThreadError as error:
            raise AssertionError(f"the new thread is gone at point {at}") from error
        await is_whole(inner, "a", *FILES)
        assert await inner.get("thread.note", "thread:a#summary") is not None
        assert await inner.get("approval", "of-a") is not None
        return True

    await at_every_point(overtaken_at, 40)


@pytest.fixture(params=["sqlite", "file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        url: str = request.getfixturevalue("database")
        return url
    return f"file:{tmp_path / 's'}" if request.param == "file" else f"sqlite:///{tmp_path / 's.db'}"


@awaited
async def test_killed_purges_of_several_processes_are_completed(place: str) -> None:
    async with aclosing(open_store(place)) as store:
        await filled(store)
        for at in (8, 20, 31, 5):
            process = await asyncio.create_subprocess_exec(sys.executable, PROCESS, place, str(at), env=ENVIRONMENT)
            assert await process.wait() == -9
            assert [each.id for each in await Threads(store).list()] == ["b"]
        both = [
            await asyncio.create_subprocess_exec(sys.executable, PROCESS, place, "99999", env=ENVIRONMENT)
            for _ in range(2)
        ]
        assert [await each.wait() for each in both] == [0, 0]
        await only_b_is_left(store)
