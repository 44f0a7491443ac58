"""Deleted threads: hidden, restorable for their retention, then erased from every store."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    Approvals,
    Asked,
    Ended,
    FileStore,
    MemoryStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    StoreError,
    ToolSet,
    durable_approvals,
    tool,
)
from bobcat.attachments import AttachmentStore
from bobcat.errors import AttachmentError, ThreadError
from bobcat.model.attachment import Attachment
from bobcat.threads import PurgeReport, Thread, Threads
from thread_conversations import ASKING, KINDS, POLICY, Ledger, Payer, awaited, collect, content, thread

PICTURE = Attachment.text("of the invoice", name="invoice.txt")
LARGE = Attachment.from_bytes(bytes(range(256)) * 5000, name="large.bin", media_type="application/octet-stream")


@pytest.fixture(params=["memory", "file", "sqlite", "postgres", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Makes store objects; all but those in memory share what they keep."""
    name = f"threads_{uuid.uuid4().hex[:12]}"
    if request.param == "postgres":
        import psycopg

        url = request.getfixturevalue("postgres_url")
        yield lambda: PostgresStore(url, schema=name, durability="warn")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())
    elif request.param == "redis":
        import redis

        url = request.getfixturevalue("redis_url")
        yield lambda: RedisStore(url, prefix=f"{name}:", durability="warn")
        with redis.Redis.from_url(url) as client:
            for key in client.scan_iter(f"{name}:*", count=1000):
                client.delete(key)
    else:
        kept = MemoryStore()
        stores = {"file": lambda: FileStore(tmp_path / "s"), "sqlite": lambda: SQLiteStore(tmp_path / "s.db")}
        yield stores.get(request.param, lambda: kept)


async def refused(code: str, work: Any) -> None:
    with pytest.raises(ThreadError) as caught:
        await work
    assert caught.value.code == code


def whole(directory: Path) -> bytes:
    """All bytes of the file `a.db`, and of those beside it."""
    return b"".join(path.read_bytes() for path in directory.glob("a.db*"))


async def talk(store: Any, id: str, text: str, *files: Attachment, **options: Any) -> list[Any]:
    given = {"agent": Payer(), "tools": Ledger().tools(), "policy": POLICY, **options}
    async with Thread(store, id, **given) as found:
        return await collect(found.send(text, attachments=files, key=text))


async def fill(store: Any, id: str) -> None:
    """A thread with each kind of document: of three turns, the last one waits for an approval."""
    await talk(store, id, "10", PICTURE)
    await talk(store, id, "20", LARGE)
    async with Thread(store, id, agent=Payer(), tools=Ledger().tools(), policy=POLICY) as found:
        await found.pin(1)
    await store.put("thread.note", f"thread:{id}#summary", {"text": "of it"}, expected=0)
    await store.put("thread.cancel", f"thread:{id}#9", {"reason": "x"}, expected=0)
    asked = await talk(store, id, "30", policy=ASKING, on_approval=durable_approvals(store))
    assert isinstance(asked[-1], Asked)


@pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")
@awaited
async def test_a_purged_thread_leaves_nothing_and_another_one_stays_whole(make: Callable[[], Any]) -> None:
    async with aclosing(make()) as store, aclosing(make()) as second:
        threads = Threads(store)
        await fill(store, "acme/42")
        before = await content(store)
        await fill(store, "acme")
        await threads.delete("acme", keep_days=0)
        assert await threads.purge(dry_run=True) == PurgeReport(("acme",), (), 0)
        assert await Threads(second).purge() == PurgeReport(("acme",), (), 0)
        assert await content(store) == before
        assert await Threads(second).purge() == PurgeReport((), (), 0)
        async with thread(second, Ledger(), policy=ASKING, on_approval=durable_approvals(second)) as other:
            messages = await other.messages()
            assert [each.attachments[0].name for each in messages if each.attachments] == ["invoice.txt", "large.bin"]
            assert [each.data for each in await AttachmentStore(second).load(messages[0].attachments)] == [
                b"of the invoice"
            ]
            (waiting,) = await Approvals(second).list()
            await Approvals(second).grant(waiting.id, approver="alice")
            assert isinstance((await collect(other.resume()))[-1], Ended)
        await threads.delete("acme/42", keep_days=0)
        assert await threads.purge(dry_run=True) == PurgeReport(("acme/42",), (), 2)
        assert await threads.purge() == PurgeReport(("acme/42",), (), 2)
        assert await content(store) == ([], {kind: [] for kind in KINDS})
        assert isinstance((await talk(second, "acme", "10", PICTURE))[-1], Ended)
        assert (await threads.get("acme")).turns == 1


@awaited
async def test_a_deleted_thread_is_hidden_and_refused_until_it_is_restored() -> None:
    store = MemoryStore()
    threads = Threads(store)
    await fill(store, "acme/42")
    shown = await threads.get("acme/42")
    assert (shown.deleted, shown.kept_until) == (None, None)
    async with thread(store, Ledger(), policy=ASKING, on_approval=durable_approvals(store)) as found:
        messages, events = await found.messages(), await collect(found.events())
        following = asyncio.create_task(collect(found.events(follow=True)))
        await asyncio.sleep(0.05)
        deleted = await threads.delete("acme/42")
        assert deleted.deleted is not None
        assert deleted.kept_until == deleted.deleted + timedelta(days=30)
        assert deleted.to_json()["kept_until"] == deleted.kept_until.isoformat()
        await refused("deleted", following)
        works: list[Any] = [collect(found.send("40")), found.queue("40"), collect(found.resume())]
        works += [found.cancel(), found.messages(), found.turns(), found.pin(1), collect(found.events())]
        async with thread(store, Ledger(), busy="refuse") as other:
            works += [collect(other.send("50"))]
            for work in works:
                await refused("deleted", work)
        for work in (threads.rename("acme/42", "t"), threads.archive("acme/42"), threads.unarchive("acme/42")):
            await refused("deleted", work)
        await refused("deleted", threads.export("acme/42", "never"))
        for archived in (False, True, None):
            assert await threads.list(archived=archived) == []
        assert await threads.list(deleted=True) == [deleted] == [await threads.get("acme/42")]
        assert await threads.restore("acme/42") == shown == (await threads.list())[0]
        assert await threads.restore("acme/42") == shown
        assert (await found.messages(), await collect(found.events())) == (messages, events)
        assert isinstance((await collect(found.resume()))[-1], Asked)


@awaited
async def test_the_retention_counts_from_the_deletion_by_the_stores_time() -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    store = MemoryStore(clock=lambda: now[0])
    threads = Threads(store)
    await talk(store, "a", "10")
    await threads.archive("a")
    await threads.delete("a", keep_days=2)
    now[0] += timedelta(days=1)
    assert (await threads.delete("a", keep_days=3)).kept_until == datetime(2026, 1, 4, tzinfo=UTC)
    assert await threads.purge() == PurgeReport((), (), 0)
    now[0] = datetime(2026, 1, 4, tzinfo=UTC)
    await refused("expired", threads.restore("a"))
    assert [each.id for each in await threads.list(deleted=True)] == ["a"]
    assert await threads.purge(now=datetime(2026, 1, 3, 23, tzinfo=UTC)) == PurgeReport((), (), 0)
    assert await threads.purge() == PurgeReport(("a",), (), 0)
    await refused("unknown", threads.get("a"))


@awaited
async def test_invalid_arguments_of_deletions_have_codes() -> None:
    threads = Threads(MemoryStore())
    await talk(threads._store, "a", "10")
    for days in (-1, -0.5, float("nan"), float("inf"), 36_501, True, "1", None):
        await refused("bad_keep_days", threads.delete("a", keep_days=days))  # type: ignore[arg-type]
    for now in ("2026-01-01", datetime(2026, 1, 1), 3):
        await refused("bad_time", threads.purge(now=now))  # type: ignore[arg-type]
    for work in (threads.delete("x"), threads.restore("x")):
        await refused("unknown", work)
    await refused("bad_id", threads.delete("a#1"))
    assert (await threads.list())[0].id == "a"


@awaited
async def test_a_store_that_removes_nothing_is_refused_before_anything_is_hidden() -> None:
    class Keeping:
        """A store of somebody else, without the methods."""

        def __init__(self) -> None:
            self._inner = MemoryStore()

        def __getattr__(self, name: str) -> Any:
            if name in ("erase", "discard"):
                raise AttributeError(name)
            return getattr(self._inner, name)

    threads = Threads(Keeping())  # type: ignore[arg-type]
    await talk(threads._store, "a", "10")
    await threads.delete("a", keep_days=0)
    for dry_run in (True, False):
        with pytest.raises(StoreError) as caught:
            await threads.purge(dry_run=dry_run)
        assert caught.value.code == "not_erasable"
    assert (await threads.list(deleted=True))[0].turns == 1


@awaited
async def test_a_turn_in_progress_ends_and_nothing_is_purged_before() -> None:
    store, started, go = MemoryStore(), asyncio.Event(), asyncio.Event()

    @tool
    async def pay(amount: str) -> str:
        """Pay."""
        started.set()
        await go.wait()
        return f"paid {amount}"

    async with thread(store, Ledger(), tools=ToolSet.from_functions(pay)) as found:
        first = asyncio.create_task(collect(found.send("10")))
        await started.wait()
        second = asyncio.create_task(collect(found.send("20")))
        await asyncio.sleep(0.05)
        threads = Threads(store)
        await threads.delete("acme/42", keep_days=0)
        assert await threads.purge() == PurgeReport((), ("acme/42",), 0)
        assert await threads.purge(dry_run=True) == PurgeReport((), ("acme/42",), 0)
        go.set()
        ended = (await first)[-1]
        assert isinstance(ended, Ended)
        assert ended.outcome == "succeeded"
        await refused("deleted", second)
    assert [each.status for each in await store.runs() if each.run_id.endswith("#1")] == ["succeeded"]
    assert not [each for each in await store.runs() if each.run_id.endswith("#2")]
    assert await threads.purge() == PurgeReport(("acme/42",), (), 0)
    assert await content(store) == ([], {kind: [] for kind in KINDS})


@awaited
async def test_a_message_behind_a_deletion_runs_after_the_restore() -> None:
    store, ledger = MemoryStore(), Ledger()
    await talk(store, "acme/42", "5")
    lease = await store.acquire("thread:acme/42", owner="another", seconds=60)
    async with thread(store, ledger) as found:
        await found.queue("10")
        await Threads(store).delete("acme/42")
        await store.release(lease)
        await Threads(store).restore("acme/42")
        await collect(found.resume())
    assert ledger.paid == ["10"]


@awaited
async def test_an_exported_thread_is_imported_after_the_purge(tmp_path: Path) -> None:
    store = MemoryStore()
    threads = Threads(store)
    await talk(store, "acme/42", "10", PICTURE)
    exported = await threads.get("acme/42")
    await threads.export("acme/42", tmp_path / "t")
    await threads.delete("acme/42", keep_days=0)
    await refused("exists", threads.import_(tmp_path / "t"))
    assert (await threads.purge()).attachments == 1
    with pytest.raises(AttachmentError):
        await AttachmentStore(store).read(PICTURE.digest)
    assert await threads.import_(tmp_path / "t") == exported
    assert await AttachmentStore(store).read(PICTURE.digest) == b"of the invoice"
    await talk(store, "other", "20", PICTURE)
    await threads.delete("other", keep_days=0)
    assert (await threads.purge()).attachments == 0
    assert await AttachmentStore(store).read(PICTURE.digest) == b"of the invoice"


@awaited
async def test_bytes_that_came_from_elsewhere_stay() -> None:
    store = MemoryStore()
    await AttachmentStore(store).save([LARGE])
    await talk(store, "a", "10", PICTURE)
    await Threads(store).delete("a", keep_days=0)
    assert (await Threads(store).purge()).attachments == 1
    assert await AttachmentStore(store).read(LARGE.digest) == LARGE.data


@awaited
async def test_a_copy_of_the_sqlite_file_keeps_what_the_other_file_erases(tmp_path: Path) -> None:
    payments, secret = Ledger(), "the secret of the thread"
    async with thread(str(tmp_path / "a.db"), payments) as one:
        await collect(one.send(secret, attachments=[PICTURE]))
        messages = await one.messages()
    async with Threads(str(tmp_path / "a.db")) as threads:
        await threads.delete("acme/42")
    source, target = sqlite3.connect(tmp_path / "a.db"), sqlite3.connect(tmp_path / "b.db")
    source.backup(target)
    source.close()
    target.close()
    later = datetime.now(UTC) + timedelta(days=31)
    async with Threads(str(tmp_path / "a.db")) as threads:
        assert (await threads.purge(now=later)).erased == ("acme/42",)
    assert secret.encode() not in whole(tmp_path)
    async with Threads(str(tmp_path / "b.db")) as threads:
        assert (await threads.restore("acme/42")).turns == 1
    async with thread(str(tmp_path / "b.db"), payments) as other:
        assert await other.messages() == messages
        assert isinstance((await collect(other.send("20")))[-1], Ended)
