"""Listing, renaming, archiving, exporting and importing threads, with the public API and real stores."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import uuid
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bobcat import Approvals, Asked, Ended, MemoryStore, PostgresStore, Thread, durable_approvals
from bobcat.attachments import AttachmentStore
from bobcat.errors import ThreadError
from bobcat.model.attachment import Attachment
from bobcat.stores.urls import open_store
from bobcat.threads import Threads
from bobcat.threads.journal import ThreadJournal
from thread_conversations import ASKING, Ledger, Payer, StoppingStore, awaited, collect, thread


async def talk(store: Any, id: str, *texts: str, **options: Any) -> None:
    """Send messages to a thread."""
    given = {"agent": Payer(), "tools": Ledger().tools(), "policy": ASKING, **options}
    async with Thread(store, id, **given) as found:
        for text in texts:
            await collect(found.send(text))


async def refused(code: str, work: Any) -> None:
    with pytest.raises(ThreadError) as caught:
        await work
    assert caught.value.code == code


@awaited
async def test_threads_are_listed_from_their_first_message_on() -> None:
    store = MemoryStore()
    threads = Threads(store)
    assert await threads.list() == []
    for id in ("c", "a", "b"):
        await talk(store, id, f"the invoice\nof {id} " + "x" * 100)
    found = await threads.list()
    assert [(each.id, each.turns, each.archived) for each in found] == [(id, 1, False) for id in "abc"]
    assert found[0].title.startswith("the invoice of a xx")
    assert len(found[0].title) == 80
    assert [each.id for each in await threads.list(limit=1, after="a")] == ["b"]
    await threads.archive("b")
    assert [each.id for each in await threads.list(limit=2)] == ["a", "c"]
    assert [each.id for each in await threads.list(archived=True)] == ["b"]
    assert [each.id for each in await threads.list(archived=None)] == ["a", "b", "c"]
    assert not (await threads.unarchive("b")).archived
    assert (await threads.rename("b", "Invoices")).title == "Invoices" == (await threads.get("b")).title


@awaited
async def test_invalid_arguments_have_codes() -> None:
    store = MemoryStore()
    threads = Threads(store)
    await talk(store, "a", "hello")
    for title in ("", " ", "x" * 201, "a\nb", 3):
        await refused("bad_title", threads.rename("a", title))  # type: ignore[arg-type]
    for limit in (0, 10_001, True, "1"):
        await refused("bad_limit", threads.list(limit=limit))  # type: ignore[arg-type]
    await refused("bad_id", threads.get("a#1"))
    for work in (threads.get("x"), threads.rename("x", "t"), threads.archive("x"), threads.export("x", "f")):
        await refused("unknown", work)


@awaited
async def test_an_imported_thread_is_the_same_and_continues(tmp_path: Path) -> None:
    payments, file = Ledger(), tmp_path / "t.jsonl"
    picture = Attachment.text("of the invoice")
    async with thread(str(tmp_path / "a.db"), payments) as one:
        await collect(one.send("10", key="first"))
        events, messages = await collect(one.events()), await one.messages()
    async with aclosing(open_store(f"sqlite:///{tmp_path}/a.db")) as store:
        await AttachmentStore(store).save([picture])
        await ThreadJournal(store, "acme/42").add_message("20", None, {"attachments": [picture.reference()]})
    async with Threads(str(tmp_path / "a.db")) as threads:
        exported = await threads.rename("acme/42", "Payments")
        await threads.export("acme/42", file)
        await refused("file_exists", threads.export("acme/42", file))
    assert file.stat().st_mode & 0o077 == 0
    for place in (MemoryStore(), open_store(f"file:{tmp_path}/files")):
        async with Threads(place) as threads:
            assert await threads.import_(file) == exported
            assert await AttachmentStore(place).read(picture.digest) == b"of the invoice"
            await refused("exists", threads.import_(file))
        async with thread(place, payments) as other:
            assert await collect(other.events()) == events
            assert await other.messages() == messages
            assert isinstance((await collect(other.send("10", key="first")))[-1], Ended)
            assert payments.paid.count("10") == 1
            await collect(other.send("30"))
            assert await other.turns() == 3


@awaited
async def test_a_suspended_turn_moves_and_asks_again(tmp_path: Path) -> None:
    payments, source, target = Ledger(), MemoryStore(), MemoryStore()
    async with thread(source, payments, policy=ASKING, on_approval=durable_approvals(source)) as one:
        asked = (await collect(one.send("10")))[-1]
        assert isinstance(asked, Asked)
    await Threads(source).export("acme/42", tmp_path / "t")
    await Threads(target).import_(tmp_path / "t")
    async with thread(target, payments, policy=ASKING, on_approval=durable_approvals(target)) as other:
        again = (await collect(other.resume()))[-1]
        assert isinstance(again, Asked)
        await Approvals(target).grant(again.approvals[0], approver="alice")
        ended = (await collect(other.resume()))[-1]
        assert isinstance(ended, Ended)
        assert ended.outcome == "succeeded"
    assert payments.paid == ["10"]


@awaited
async def test_a_thread_with_a_turn_in_progress_is_not_exported(tmp_path: Path) -> None:
    store = MemoryStore()
    await talk(store, "a", "10")
    await store.acquire("thread:a", owner="another", seconds=60)
    await refused("busy", Threads(store).export("a", tmp_path / "t"))
    assert os.listdir(tmp_path) == []


@awaited
async def test_a_changed_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    source, file = MemoryStore(), tmp_path / "t"
    await talk(source, "a", "10")
    await Threads(source).export("a", file)
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    changed = [whole[:-1], whole[: len(whole) // 2], b"", b"\n", b"[]\n", b'{"thread":{}}\n', whole + b"{}\n"]
    changed += [b"".join(lines[:at] + lines[at + 1 :]) for at in range(len(lines))]
    changed += [whole.replace(b'"10"', b'"99"'), whole.replace(b"thread:a", b"thread:b")]
    for content in changed:
        file.write_bytes(content)
        store = MemoryStore()
        await refused("damaged", Threads(store).import_(file))
        assert not await store.runs()
        assert not await store.scan("thread")


@awaited
async def test_an_import_killed_anywhere_is_invisible_until_it_is_repeated(tmp_path: Path) -> None:
    source, file = MemoryStore(), tmp_path / "t"
    await talk(source, "a", "10", policy=ASKING)
    await Threads(source).export("a", file)
    at = 0
    while True:
        inner = MemoryStore()
        stopping = StoppingStore(inner, at)
        task = asyncio.create_task(Threads(stopping).import_(file))
        stopped = asyncio.create_task(stopping.stopped.wait())
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            break
        task.cancel()
        listed = await Threads(inner).list()
        if not listed:
            with pytest.raises(ThreadError):
                await Threads(inner).get("a")
            assert [each.id for each in [await Threads(inner).import_(file)]] == ["a"]
        assert await Threads(inner).get("a") == await Threads(source).get("a")
        at += 1
    assert at > 20


@awaited
async def test_a_thread_whose_import_has_not_ended_is_refused() -> None:
    store = MemoryStore()
    await store.put("thread", "acme/42", {"state": "importing", "digest": "d"}, expected=0)
    async with thread(store, Ledger()) as found:
        for work in (found.send("10"), found.events(), found.resume()):
            await refused("importing", collect(work))
    assert await Threads(store).list() == []


@awaited
async def test_documents_of_threads_with_similar_ids_are_apart(tmp_path: Path) -> None:
    store = MemoryStore()
    await talk(store, "acme", "10")
    await talk(store, "acme/42", "20")
    await store.put("thread.note", "thread:acme#summary", {"of": "acme"}, expected=0)
    await store.put("thread.note", "thread:acme/42#summary", {"of": "42"}, expected=0)
    await Threads(store).export("acme", tmp_path / "t")
    lines = [json.loads(line) for line in (tmp_path / "t").read_text().splitlines()]
    assert [line["document"]["body"] for line in lines if "document" in line] == [{"of": "acme"}]


@awaited
async def test_a_copy_of_the_sqlite_file_is_the_whole_thread(tmp_path: Path) -> None:
    payments = Ledger()
    async with thread(str(tmp_path / "a.db"), payments) as one:
        await collect(one.send("10"))
        events = await collect(one.events())
        source, target = sqlite3.connect(tmp_path / "a.db"), sqlite3.connect(tmp_path / "b.db")
        source.backup(target)
        source.close()
        target.close()
    async with thread(str(tmp_path / "b.db"), payments) as other:
        assert await collect(other.events()) == events
        (*_, last) = await collect(other.send("20"))
        assert isinstance(last, Ended)
        assert last.outcome == "succeeded"
    assert payments.paid == ["10", "20"]


def test_a_thread_moves_through_postgresql(postgres_url: str, tmp_path: Path) -> None:
    schema, payments = f"threads_{uuid.uuid4().hex[:12]}", Ledger()

    async def move() -> None:
        source, target = MemoryStore(), PostgresStore(postgres_url, schema=schema)
        async with thread(source, payments) as one:
            await collect(one.send("10", key="first"))
            events = await collect(one.events())
        await Threads(source).export("acme/42", tmp_path / "t")
        async with aclosing(target):
            assert await Threads(target).import_(tmp_path / "t") == await Threads(source).get("acme/42")
            await Threads(target).export("acme/42", tmp_path / "u")
            async with thread(target, payments) as other:
                assert await collect(other.events()) == events
                await collect(other.send("20"))

    try:
        asyncio.run(move())
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
    assert sorted((tmp_path / "t").read_bytes().splitlines()) == sorted((tmp_path / "u").read_bytes().splitlines())
    assert payments.paid == ["10", "20"]
