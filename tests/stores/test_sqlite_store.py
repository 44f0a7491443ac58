"""`SQLiteStore`: its file, its transactions, its threads, and what it says when it cannot work."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat import SQLiteStore, StoreError
from bobcat.stores.codec import MAX_BODY_BYTES, MAX_NAME_BYTES, MAX_SEQ
from bobcat.stores.protocol import LeaseLost
from bobcat.stores.sqlite import schema
from stores.appender import entry


def kept(path: Path, run_id: str = "r") -> list[int]:
    async def load() -> list[int]:
        store = SQLiteStore(path)
        records = await store.load(run_id)
        await store.aclose()
        return [record.seq for record in records]

    return asyncio.run(load())


def test_every_commit_reaches_the_disk_and_readers_do_not_wait(tmp_path: Path) -> None:
    async def settings() -> tuple[Any, Any]:
        store = SQLiteStore(tmp_path / "runs.db")
        lease = await store.acquire("r", owner="a", seconds=60)
        async with store.transaction(lease) as transaction:
            connection = transaction.connection
            found = connection.execute("PRAGMA journal_mode").fetchone(), connection.execute("PRAGMA synchronous")
            return found[0][0], found[1].fetchone()[0]

    full = 2
    assert asyncio.run(settings()) == ("wal", full)


def test_a_tool_writes_in_the_transaction_of_its_result(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def pay(*, fails: bool) -> None:
        store = SQLiteStore(path)
        lease = await store.acquire("r", owner="a", seconds=60)
        async with store.transaction(lease) as transaction:
            connection: sqlite3.Connection = transaction.connection
            connection.execute("CREATE TABLE IF NOT EXISTS payments (amount INTEGER)")
            connection.execute("INSERT INTO payments VALUES (5)")
            await transaction.append(entry("r", 0))
            if fails:
                raise RuntimeError("declined")
        await store.aclose()

    with pytest.raises(RuntimeError, match="declined"):
        asyncio.run(pay(fails=True))
    assert kept(path) == []
    with sqlite3.connect(path) as found:
        assert found.execute("SELECT name FROM sqlite_master WHERE name = 'payments'").fetchone() is None
    asyncio.run(pay(fails=False))
    assert kept(path) == [0]
    assert found.execute("SELECT amount FROM payments").fetchall() == [(5,)]
    found.close()


def test_a_run_cannot_be_taken_during_a_transaction_even_when_its_lease_ends(tmp_path: Path) -> None:
    async def overtaken() -> tuple[int, int]:
        store, other = SQLiteStore(tmp_path / "runs.db"), SQLiteStore(tmp_path / "runs.db")
        lease = await store.acquire("r", owner="a", seconds=0.3)
        async with store.transaction(lease) as transaction:
            taking = asyncio.ensure_future(other.acquire("r", owner="b", seconds=60))
            await asyncio.sleep(0.5)
            assert not taking.done()
            await transaction.append(entry("r", 0))
        new = await taking
        with pytest.raises(LeaseLost):
            await store.append_fenced(entry("r", 1), lease)
        return lease.fence, new.fence

    assert asyncio.run(overtaken()) == (1, 2)
    assert kept(tmp_path / "runs.db") == [0]


def test_a_record_of_another_run_is_refused_in_a_transaction(tmp_path: Path) -> None:
    async def mixed_up() -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        async with store.transaction(await store.acquire("r", owner="a", seconds=60)) as transaction:
            await transaction.append(entry("another", 0))

    with pytest.raises(LeaseLost, match="a lease on run 'r' is not valid for run 'another'"):
        asyncio.run(mixed_up())


def test_a_store_serves_one_event_loop_after_the_other_and_several_at_once(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "runs.db")
    asyncio.run(store.append(entry("r", 0)))
    asyncio.run(store.append(entry("r", 1)))

    async def write(start: int) -> None:
        for seq in range(start, start + 20):
            await store.append(entry("r", seq))

    threads = [threading.Thread(target=lambda at=at: asyncio.run(write(at))) for at in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(store.aclose())
    assert kept(tmp_path / "runs.db") == [0, 1, *range(100, 120), *range(200, 220), *range(300, 320)]


def _append_in_child(store: SQLiteStore) -> None:
    asyncio.run(store.append(entry("r", 1)))


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_store_works_on_in_a_forked_child(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "runs.db")
    asyncio.run(store.append(entry("r", 0)))
    child = multiprocessing.get_context("fork").Process(target=_append_in_child, args=(store,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    asyncio.run(store.append(entry("r", 2)))
    asyncio.run(store.aclose())
    assert kept(tmp_path / "runs.db") == [0, 1, 2]


def test_processes_may_make_the_file_at_the_same_moment(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from bobcat import SQLiteStore; from stores.appender import entry\n"
        "asyncio.run(SQLiteStore(sys.argv[1]).append(entry('r', int(sys.argv[2]))))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "runs.db")]
    tests = str(Path(__file__).parent.parent)
    children = [subprocess.Popen([*command, str(n)], env={"PYTHONPATH": tests}) for n in range(6)]
    assert [child.wait(60) for child in children] == [0] * 6
    assert kept(tmp_path / "runs.db") == list(range(6))


def refused(path: Path, call: Callable[[SQLiteStore], Any] | None = None, **options: Any) -> tuple[str, str]:
    async def ask() -> None:
        store = SQLiteStore(path, **options)
        try:
            await (store.load("r") if call is None else call(store))
        finally:
            await store.aclose()

    with pytest.raises(StoreError) as caught:
        asyncio.run(ask())
    return caught.value.code, str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    code, text = refused(path)
    assert code == "damaged"
    assert text == f"`{path}` is not a usable SQLite file (file is not a database)"
    assert path.read_text().startswith("dear diary")


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    code, text = refused(tmp_path / "missing" / "runs.db")
    assert (code, text) == (
        "unavailable",
        f"`{tmp_path / 'missing' / 'runs.db'}` cannot be used: unable to open database file",
    )


@pytest.mark.parametrize("path", ["", ":memory:", "file:runs.db?mode=memory"])
def test_a_path_that_is_no_file_is_refused(path: str) -> None:
    with pytest.raises(StoreError, match="is not a file: give a path, or use a `MemoryStore`") as caught:
        SQLiteStore(path)
    assert caught.value.code == "bad_path"


def test_a_later_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    asyncio.run(SQLiteStore(path).append(entry("r", 0)))
    newer = len(schema.MIGRATIONS) + 1
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE bobcat_schema SET version = ?", (newer,))
    connection.close()
    code, text = refused(path)
    assert code == "too_new"
    assert text == (
        f"`{path}` has schema {newer}, and this release of bobcat knows schemas up to {newer - 1}: upgrade bobcat"
    )


def test_a_writer_that_waits_for_too_long_says_so(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    asyncio.run(SQLiteStore(path).append(entry("r", 0)))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    code, text = refused(path, lambda store: store.append(entry("r", 1)), busy_seconds=0.2)
    assert code == "busy"
    assert text == f"`{path}` is locked by another writer for too long (database is locked)"
    holder.rollback()
    holder.close()
    assert kept(path) == [0]


def test_a_store_that_was_closed_says_so(tmp_path: Path) -> None:
    async def late() -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        await store.append(entry("r", 0))
        await store.aclose()
        await store.aclose()
        await store.append(entry("r", 1))

    with pytest.raises(StoreError, match=r"was closed; create another store") as caught:
        asyncio.run(late())
    assert caught.value.code == "closed"
    assert kept(tmp_path / "runs.db") == [0]


@pytest.mark.parametrize(
    "run_id, text",
    [
        ("", "the run id must be a text of one character or more, not `''`"),
        ("é" * 257, f"the run id has 514 bytes in UTF-8; at most {MAX_NAME_BYTES} are kept"),
        ("a\0b", "the run id 'a\\x00b' has a NUL character in it"),
        ("\ud800", "the run id '\\ud800' has half a surrogate pair in it"),
    ],
)
def test_a_run_id_that_not_every_store_can_keep_is_refused(tmp_path: Path, run_id: str, text: str) -> None:
    for call in (
        lambda store: store.append(entry(run_id, 0)),
        lambda store: store.acquire(run_id, owner="a", seconds=1),
        lambda store: store.load(run_id),
    ):
        assert refused(tmp_path / "runs.db", call) == ("bad_name", text)


def test_a_body_over_the_limit_is_refused_and_the_position_stays_free(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    large = entry("r", 0, "x" * MAX_BODY_BYTES)
    code, text = refused(path, lambda store: store.append(large))
    assert code == "too_large"
    assert text.endswith(f"bytes of JSON; a store keeps at most {MAX_BODY_BYTES}")
    asyncio.run(SQLiteStore(path).append(entry("r", 0)))
    assert kept(path) == [0]


@pytest.mark.parametrize("seq", [-1, MAX_SEQ + 1])
def test_a_position_that_not_every_store_can_keep_is_refused(tmp_path: Path, seq: int) -> None:
    code, text = refused(tmp_path / "runs.db", lambda store: store.append(entry("r", seq)))
    assert (code, text) == ("bad_seq", f"a record's position is between 0 and {MAX_SEQ}, not {seq}")


def test_one_request_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    async def together() -> list[object]:
        store = SQLiteStore(tmp_path / "runs.db")
        await store.append(entry("r", 0))
        calls = [store.append(entry("r", seq)) for seq in (0, 1, 2, 0, 3)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        await store.aclose()
        return [type(outcome).__name__ for outcome in outcomes]

    assert asyncio.run(together()) == ["DuplicateRecord", "NoneType", "NoneType", "DuplicateRecord", "NoneType"]
    assert kept(tmp_path / "runs.db") == [0, 1, 2, 3]


def test_a_store_is_loaded_when_it_is_asked_for() -> None:
    program = (
        "import sys, bobcat\n"
        "bobcat.MemoryStore, bobcat.run_agent\n"
        "assert not {'sqlite3', 'psycopg', 'redis'} & set(sys.modules)\n"
        "bobcat.SQLiteStore\n"
        "assert 'sqlite3' in sys.modules and not {'psycopg', 'redis'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
