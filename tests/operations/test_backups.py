"""`bobcat runs backup` and `restore`: between stores of every kind, of live stores, and of files that were damaged."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from bobcat import StepRecord
from bobcat.errors import StoreError
from bobcat.stores.urls import open_store
from operations.conftest import KINDS, Site, url_of

ODD = {"text": "a\0b \ud800 \u2028 \N{SNOWMAN}", "number": 2**80, "deep": [[[{}]]]}


async def fill(store: Any) -> None:
    """Runs that no worker made, with content that is hard to keep."""
    for seq in range(3):
        body = {**ODD, "seq": seq, "chain": f"{seq:064d}"}
        await store.append(
            StepRecord("odd \u00e9/..%2f", seq, "note", "key", body, datetime(2026, 1, 2, 3, 4, 5, 6, UTC))
        )
    await store.set_status("odd \u00e9/..%2f", "failed", detail={"error": "x", **ODD})
    await store.put("note", "k/\u00e9", ODD, expected=0)
    entry = await store.put("note", "twice", {"n": 1}, expected=0)
    await store.put("note", "twice", {"n": 2}, expected=entry.version)


async def content(store: Any) -> dict[str, Any]:
    """Everything of a store that a restore keeps."""
    found: dict[str, Any] = {"runs": {}, "documents": {}}
    after = None
    while page := await store.runs(limit=7, after=after):
        for run in page:
            records = [(each.seq, each.kind, each.body, each.timestamp) for each in await store.load(run.run_id)]
            facts = (run.status, run.detail, run.created, run.updated, run.appended or 0, run.head or "", run.queue)
            found["runs"][run.run_id] = (facts, records)
        after = page[-1]
    for kind in ("job", "note", "approval", "approval-step", "grant"):
        for entry in await store.scan(kind, limit=1000):
            found["documents"][kind, entry.key] = (entry.version, entry.body, entry.updated)
    return found


@pytest.fixture
def filled(site: Site) -> Site:
    site.queue("answer", "a", "--tenant", "acme")
    site.queue("ask", "s")
    site.work()
    site.queue("answer", "q", "--priority", "5", "--at", "2999-01-01T00:00:00")
    site.with_store(fill)
    return site


def another(kind: str, tmp_path: Path, request: pytest.FixtureRequest, site: Site) -> Site:
    """An empty store of a kind, beside that of `site`."""
    path = tmp_path / "other"
    path.mkdir(exist_ok=True)
    if kind == "postgres" and site.url.startswith("postgres"):
        with psycopg.connect(site.url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA bobcat CASCADE")
        return site
    if kind == "redis" and site.url.startswith("redis"):
        with redis.Redis.from_url(site.url) as client:
            client.flushall()
        return site
    return Site(url_of(kind, path, request), site.run)


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_store_has_everything_and_begins_an_epoch(
    filled: Site, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    before = filled.with_store(content)
    made = filled.bobcat("runs", "backup", "b.jsonl", "--format", "json")
    assert (made.code, made.json()["runs"]) == (0, 4), made.err
    target = another(kind, tmp_path, request, filled)
    done = target.bobcat("runs", "restore", "b.jsonl")
    assert done.code == 0, done.err
    assert target.with_store(content) == before
    shown = target.bobcat("store", "show", "--format", "json").json()
    assert shown["epoch"] == made.json()["epoch"] + 1
    runs = target.bobcat("runs", "list", "--format", "json").json()
    assert all(run["restored"] for run in runs)


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_work_goes_on_in_a_restored_store(
    filled: Site, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    filled.queue("answer", "later")
    filled.bobcat("runs", "backup", "b.jsonl.gz")
    assert gzip.decompress(Path("b.jsonl.gz").read_bytes()).startswith(b'{"type":"header"')
    target = another(kind, tmp_path, request, filled)
    assert target.bobcat("runs", "restore", "b.jsonl.gz").code == 0
    target.queue("answer", "new")
    target.work()
    assert sorted(target.ids("--status", "succeeded")) == ["a", "later", "new"]
    (asked,) = target.bobcat("approvals", "list", "--format", "json").json()
    granted = target.bobcat("approvals", "grant", asked["id"], "--approver", "alice")
    assert granted.code == 0, granted.err
    target.work()
    assert target.ids("--status", "queued") == ["q"]
    assert "s" in target.ids("--status", "succeeded,suspended")


def test_a_backup_of_a_working_store_is_one_state_of_it(site: Site, tmp_path: Path) -> None:
    """A counter and a journal are written in turn: the saved ones differ by one at most, whatever the moment."""
    stop = threading.Event()
    written = threading.Event()

    def write() -> None:
        async def main() -> None:
            async with aclosing(open_store(site.url)) as store:
                lease = await store.acquire("r", owner="writer", seconds=60)
                entry = await store.put("note", "count", {"n": 0}, expected=0)
                for seq in range(100_000):
                    body = {"chain": f"{seq:064d}", "pad": "x" * 200}
                    await store.append_fenced(StepRecord("r", seq, "note", "", body, datetime.now(UTC)), lease)
                    entry = await store.put("note", "count", {"n": seq + 1}, expected=entry.version)
                    if seq == 20:
                        written.set()
                    if stop.is_set():
                        return

        asyncio.run(main())

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert written.wait(30)
        for number in range(5):
            done = site.bobcat("runs", "backup", f"b{number}.jsonl")
            assert done.code == 0, done.err
    finally:
        stop.set()
        thread.join()
    for number in range(5):
        lines = [json.loads(line) for line in Path(f"b{number}.jsonl").read_text().splitlines()]
        records = sum(line["type"] == "record" for line in lines)
        (run,) = [line for line in lines if line["type"] == "run"]
        (count,) = [json.loads(line["body"])["n"] for line in lines if line["type"] == "document"]
        assert run["records"] == records
        assert run["head"] == f"{records - 1:064d}"
        assert 0 <= records - count <= 1


def test_a_store_that_is_not_empty_is_not_restored(filled: Site) -> None:
    filled.bobcat("runs", "backup", "b.jsonl")
    before = filled.with_store(content)
    done = filled.bobcat("runs", "restore", "b.jsonl")
    assert (done.code, "(not_empty)" in done.err) == (4, True)
    assert filled.with_store(content) == before


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def changed(data: bytes) -> bytes:
    return data.replace(b'"failed"', b'"queued"', 1)


def without_a_line(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:3], *lines[4:]])


def without_the_end(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-1])


def swapped(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    lines[2], lines[-2] = lines[-2], lines[2]
    return b"".join(lines)


def continued(data: bytes) -> bytes:
    return data + data.splitlines(keepends=True)[1]


@pytest.mark.parametrize(
    "damage",
    [cut, changed, without_a_line, without_the_end, swapped, continued, lambda _: b"", lambda _: b"rules: []\n",
     lambda data: data[:-1], lambda data: gzip.compress(data)[:-30], lambda data: data.replace(b"\n", b"\n\n", 1),
     lambda data: b"\x1f\x8b" + data],
)  # fmt: skip
def test_a_damaged_file_is_refused_before_anything_is_written(
    damage: Callable[[bytes], bytes], site: Site, tmp_path: Path
) -> None:
    source = Site(f"sqlite:////{str(tmp_path / 'source.db').lstrip('/')}", site.run)
    source.with_store(fill)
    source.queue("answer", "a")
    source.bobcat("runs", "backup", "b.jsonl")
    Path("damaged").write_bytes(damage(Path("b.jsonl").read_bytes()))
    done = site.bobcat("runs", "restore", "damaged")
    assert (done.code, done.out) == (3, "")
    assert "(damaged)" in done.err
    if not site.url.startswith(("postgres", "redis")):
        assert not any((tmp_path / name).exists() for name in ("runs.db", "journals")), "the store was not even made"
    assert site.bobcat("runs", "restore", "b.jsonl").code == 0


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_later_format_is_named_as_such(site: Site) -> None:
    site.queue("answer", "a")
    site.bobcat("runs", "backup", "b.jsonl")
    text = Path("b.jsonl").read_text()
    Path("later").write_text(text.replace('"version":1', '"version":2', 1))
    done = site.bobcat("runs", "restore", "later")
    assert (done.code, "(too_new)" in done.err) == (3, True)


def test_a_restore_that_fails_in_the_middle_leaves_an_empty_store(site: Site, tmp_path: Path) -> None:
    source = Site(f"sqlite:////{str(tmp_path / 'source.db').lstrip('/')}", site.run)
    source.with_store(fill)
    source.bobcat("runs", "backup", "b.jsonl")

    async def interrupted(store: Any) -> None:
        from bobcat.stores.backup_file import BackupReader

        reader = BackupReader(Path("b.jsonl"))

        def items() -> Any:
            for number, item in enumerate(reader.items()):
                if number == 5:
                    raise StoreError("unavailable", "the disk is away")
                yield item

        with pytest.raises(StoreError, match="the disk is away"):
            await store.restore(items())
        reader.close()

    site.with_store(interrupted)
    assert site.ids() == []
    assert site.bobcat("runs", "restore", "b.jsonl").code == 0
    assert site.with_store(content) == source.with_store(content)


def test_an_existing_file_is_not_replaced(site: Site) -> None:
    site.queue("answer", "a")
    Path("b").write_text("mine")
    done = site.bobcat("runs", "backup", "b")
    assert (done.code, done.err) == (4, "error: `b` exists already (exists)\n")
    assert Path("b").read_text() == "mine"
    done = site.bobcat("runs", "backup", "absent/b")
    assert (done.code, done.out) == (3, "")
    assert site.bobcat("runs", "restore", "absent").code == 3


def test_an_unsafe_action_of_a_restored_run_waits_for_a_person(site: Site, tmp_path: Path, request: Any) -> None:
    """The run was executing when the backup was made: its action may have happened since."""
    site.queue("ask", "s")
    site.work()
    (asked,) = site.bobcat("approvals", "list", "--format", "json").json()
    assert site.bobcat("approvals", "grant", asked["id"], "--approver", "alice").code == 0
    site.bobcat("runs", "backup", "b.jsonl")
    site.work()
    assert site.ids("--status", "succeeded") == ["s"], "it was paid after the backup"
    kind = next(kind for kind in KINDS if site.url.startswith(kind))
    target = another(kind, tmp_path, request, site)
    assert target.bobcat("runs", "restore", "b.jsonl").code == 0
    target.work()
    assert target.ids("--status", "suspended") == ["s"]
    (again,) = target.bobcat("approvals", "list", "--format", "json").json()
    assert again["uncertain"] is True
