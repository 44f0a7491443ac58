"""What was erased is not on the disk any more, and an interrupted erase of files is completed by the next one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bobcat import FileStore, MemoryStore, SQLiteStore, StepRecord, StoreError
from bobcat.stores.file import store as file_store
from bobcat.stores.protocol import RunBusy, erasable
from bobcat.testing.contract.subject import record

SECRET = "the-secret-of-the-run"


def steps(count: int, first: int = 0, run_id: str = "r") -> list[StepRecord]:
    return [record(run_id, seq, {"text": f"{SECRET} {seq} " + "x" * 500}) for seq in range(first, count)]


async def fill(store: Any) -> None:
    for each in steps(50):
        await store.append(each)
    await store.set_status("r", "succeeded", detail={"answer": SECRET})
    await store.put("note", "k", {"text": SECRET + "y" * 9000}, expected=0)


async def remove(store: Any) -> None:
    assert await store.erase("r")
    assert await store.discard(await store.get("note", "k"))


@pytest.mark.parametrize("make", [lambda path: SQLiteStore(path / "s.db"), lambda path: FileStore(path / "s")])
def test_erased_content_is_not_in_the_files(make: Callable[[Path], Any], tmp_path: Path) -> None:
    def content() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    async def main() -> None:
        async with aclosing(make(tmp_path)) as store:
            await fill(store)
            await store.append(record("other", 0, {"text": "kept"}))
        assert SECRET.encode() in content()
        async with aclosing(make(tmp_path)) as store:
            await remove(store)

    asyncio.run(main())
    assert SECRET.encode() not in content()
    assert b"kept" in content()


class Killed(BaseException):
    """The process ends here."""


def killed_at(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """End the process before the `at`th operation on files of an erase."""
    left = at

    def mortal(operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return operation(*args)

        return call

    monkeypatch.setattr(file_store, "remove_file", mortal(file_store.remove_file))
    monkeypatch.setattr(file_store, "replace_file", mortal(file_store.replace_file))
    monkeypatch.setattr(file_store, "sync_directory", mortal(file_store.sync_directory))
    monkeypatch.setattr(os, "ftruncate", mortal(os.ftruncate))


def test_an_erase_of_files_that_was_killed_is_completed_by_the_next(tmp_path: Path) -> None:
    async def stopped_at(at: int) -> bool:
        directory = tmp_path / str(at)
        async with aclosing(FileStore(directory)) as store:
            await fill(store)
            before = await store.load("r")
            with pytest.MonkeyPatch.context() as monkeypatch:
                killed_at(at, monkeypatch)
                try:
                    await store.erase("r")
                    stopped = False
                except Killed:
                    stopped = True
        async with aclosing(FileStore(directory)) as store:
            run, found = await store.run("r"), await store.load("r")
            assert list(found) in ([], list(before))
            if found:
                assert run is not None
            if run is not None:
                assert run.appended in (None, run.records)
                assert await store.erase("r", fence=run.fence)
            await store.erase("r")
            assert (await store.run("r"), list(await store.load("r"))) == (None, [])
            assert os.listdir(directory / "runs") == []
        return stopped

    async def main() -> int:
        at = 0
        while await stopped_at(at):
            at += 1
        return at

    assert asyncio.run(main()) == 6


def test_a_journal_that_begins_again_is_read_by_objects_that_knew_the_old_one(tmp_path: Path) -> None:
    """Also where the new file gets the inode of the old one."""

    async def main() -> None:
        one, other = FileStore(tmp_path), FileStore(tmp_path)
        async with aclosing(one), aclosing(other):
            for length in (3, 9, 5, 40):
                wanted = [record("r", seq, {"length": length}) for seq in range(length)]
                for each in wanted:
                    await one.append(each)
                for seq in (0, 2, length - 1):
                    assert list(await other.load_from("r", seq=seq, limit=2)) == wanted[seq : seq + 2]
                assert await other.erase("r")

    asyncio.run(main())


def test_pages_of_a_journal_with_gaps_and_out_of_order(tmp_path: Path) -> None:
    async def main() -> None:
        for name, order in (("gaps", [0, 1, 5, 9, 10]), ("mixed", [3, 0, 7, 1, 2])):
            async with aclosing(FileStore(tmp_path)) as store:
                for seq in order:
                    await store.append(record(name, seq))
                for first in range(12):
                    for limit in (None, 1, 2, 10):
                        found = [each.seq for each in await store.load_from(name, seq=first, limit=limit)]
                        assert found == [seq for seq in sorted(order) if seq >= first][:limit]

    asyncio.run(main())


def test_a_page_reports_the_line_that_was_damaged_meanwhile(tmp_path: Path) -> None:
    async def main() -> None:
        async with aclosing(FileStore(tmp_path)) as store:
            for each in steps(5):
                await store.append(each)
            path = tmp_path / "runs" / "r.jsonl"
            lines = path.read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join([*lines[:3], b"?" * (len(lines[3]) - 1) + b"\n", lines[4]]))
            assert [each.seq for each in await store.load_from("r", seq=1, limit=2)] == [1, 2]
            with pytest.raises(StoreError, match="line 4: not a record"):
                await store.load_from("r", seq=2, limit=2)

    asyncio.run(main())


def test_a_store_that_removes_nothing_says_so() -> None:
    class Keeping:
        """A `DurableStore` of somebody else."""

        def __init__(self) -> None:
            self._inner = MemoryStore()

        def __getattr__(self, name: str) -> Any:
            if name in ("erase", "discard"):
                raise AttributeError(name)
            return getattr(self._inner, name)

    with pytest.raises(StoreError, match="`Keeping` cannot remove anything") as caught:
        erasable(Keeping())  # type: ignore[arg-type]
    assert caught.value.code == "not_erasable"
    assert erasable(MemoryStore())
    assert RunBusy.code == "busy"
