"""New files of a store are private, whatever the umask; existing ones keep their mode."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bobcat import FileStore, SQLiteStore, StepRecord
from bobcat.approvals import StoredConfirmationGate
from bobcat.sinks import private_opener
from kernel.crashing_process import Bank, attempt, tools


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(directory: Path) -> dict[str, int]:
    return {str(path.relative_to(directory)): stat.S_IMODE(path.stat().st_mode) for path in directory.rglob("*")}


def use(make: Callable[[], Any]) -> None:
    async def main() -> None:
        async with aclosing(make()) as store:
            found = tools(Bank(once=False), "unsafe", reconciled=False, run_id="r")
            assert (await attempt(store, "r", found)).error is None
            await store.put("kind", "key", {}, expected=0)
            await StoredConfirmationGate(store).grant("target")

    asyncio.run(main())


@pytest.mark.usefixtures("umask")
def test_a_sqlite_file_and_what_lies_beside_it_are_private(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def main() -> dict[str, int]:
        async with aclosing(SQLiteStore(path)) as store:
            await store.set_status("r", "queued")
            return modes(tmp_path)

    assert asyncio.run(main()) == dict.fromkeys(("runs.db", "runs.db-wal", "runs.db-shm", "runs.db-epoch"), 0o600)
    use(lambda: SQLiteStore(path))
    assert set(modes(tmp_path).values()) == {0o600}


def test_a_store_of_files_is_private(tmp_path: Path, umask: int) -> None:
    top = tmp_path / "made" / "deeper"
    use(lambda: FileStore(top / "journals"))
    found = {name: (0o700 if (tmp_path / name).is_dir() else 0o600) for name in modes(tmp_path)}
    assert modes(tmp_path) == found
    assert {"made", "made/deeper/journals/runs/r.jsonl", "made/deeper/journals/runs/r.head"} <= found.keys()


def test_an_audit_file_is_private(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "audit.jsonl"
    for text in ("one\n", "two\n"):
        with open(path, "a", encoding="utf-8", opener=private_opener) as file:
            file.write(text)
    assert (path.read_text(), modes(tmp_path)) == ("one\ntwo\n", {"audit.jsonl": 0o600})
    path.chmod(0o640)
    with open(path, "w", encoding="utf-8", opener=private_opener) as file:
        file.write("three\n")
    with open(path, encoding="utf-8", opener=private_opener) as file:
        assert file.read() == "three\n"
    assert modes(tmp_path) == {"audit.jsonl": 0o640}


def test_files_that_are_there_keep_their_modes(tmp_path: Path) -> None:
    """Somebody may have given a group access."""
    path, directory = tmp_path / "runs.db", tmp_path / "journals"
    use(lambda: SQLiteStore(path))
    use(lambda: FileStore(directory))
    shared = [path, directory / "runs" / "r.json", directory / "runs" / "r.jsonl", directory / "format"]
    for each in shared:
        each.chmod(0o640)

    async def change(store: Any) -> None:
        async with aclosing(store):
            await store.append(StepRecord("r", 100, "k", "", {}, await store.now()))
            await store.set_status("r", "failed")

    asyncio.run(change(SQLiteStore(path)))
    asyncio.run(change(FileStore(directory)))
    assert {stat.S_IMODE(each.stat().st_mode) for each in shared} == {0o640}
