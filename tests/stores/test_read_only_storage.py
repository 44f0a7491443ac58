"""A storage that cannot be written is listed and traced all the same; a write says why not."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bobcat import FileStore, SQLiteStore, StoreError
from bobcat.cli.group import cli
from kernel.crashing_process import Bank, attempt, tools
from stores.make_released import RELEASED

UNPRIVILEGED = 65534


def as_nobody(work: Callable[[], object]) -> None:
    """Do it in a process of a user who owns nothing: modes do not bind root."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(UNPRIVILEGED)
                os.setuid(UNPRIVILEGED)
            work()
            code = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody can reach; those of pytest are its user's."""
    path = Path(tempfile.mkdtemp(prefix="bobcat-read-only-"))
    path.chmod(0o755)
    yield path
    for each in (path, *(found for found in path.rglob("*") if found.is_dir())):
        each.chmod(0o755)
    shutil.rmtree(path)


def look(url: str) -> None:
    runner = CliRunner()
    listed = runner.invoke(cli, ["runs", "list", "--store", url])
    assert (listed.exit_code, listed.output.split()[:2]) == (0, ["r", "succeeded"]), listed.output
    traced = runner.invoke(cli, ["trace", "--store", url, "--run-id", "r"])
    assert (traced.exit_code, traced.output.startswith("run r: ")) == (0, True), traced.output


def close_off(path: Path) -> None:
    for each in (path, *path.rglob("*")) if path.is_dir() else (path, *path.parent.glob(f"{path.name}-*")):
        each.chmod(0o555 if each.is_dir() else 0o444)
    path.parent.chmod(0o555)


def fill(store: Any) -> None:
    async def main() -> None:
        async with aclosing(store):
            found = tools(Bank(once=False), "unsafe", reconciled=False, run_id="r")
            assert (await attempt(store, "r", found)).error is None
            await store.put("kind", "key", {}, expected=0)

    asyncio.run(main())


def demand_readable(make: Callable[[], Any], url: str) -> None:
    async def main() -> tuple[str, str]:
        async with aclosing(make()) as store:
            assert [run.run_id for run in await store.runs()] == ["r"]
            assert (await store.run("r")).status == "succeeded"
            assert len(await store.load("r")) == (await store.run("r")).records > 10
            assert (await store.get("kind", "key")).version == 1
            with pytest.raises(StoreError) as caught:
                await store.set_status("r", "failed")
            assert (await store.run("r")).status == "succeeded"
            return caught.value.code, str(caught.value)

    code, text = asyncio.run(main())
    assert code == "read_only", text
    assert "it can be listed and traced, but not written" in text
    look(url)


def test_a_sqlite_file_that_cannot_be_written_is_listed_and_traced(place: Path) -> None:
    path = place / "runs.db"
    fill(SQLiteStore(path))
    look(f"sqlite:///{path}")  # with its imports: another user cannot read them from our home
    close_off(path)
    as_nobody(lambda: demand_readable(lambda: SQLiteStore(path), f"sqlite:///{path}"))


def test_so_is_one_with_a_log_while_its_writer_is_there(place: Path) -> None:
    path = place / "runs.db"

    async def main() -> None:
        async with aclosing(SQLiteStore(path)) as store:
            found = tools(Bank(once=False), "unsafe", reconciled=False, run_id="r")
            assert (await attempt(store, "r", found)).error is None
            await store.put("kind", "key", {}, expected=0)
            await asyncio.to_thread(look, f"sqlite:///{path}")
            close_off(path)
            as_nobody(lambda: demand_readable_in_thread(path))

    asyncio.run(main())


def demand_readable_in_thread(path: Path) -> None:
    """In a child of a process whose event loop runs: `asyncio.run` needs a thread without one."""
    import threading

    failures: list[BaseException] = []

    def work() -> None:
        try:
            demand_readable(lambda: SQLiteStore(path), f"sqlite:///{path}")
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def test_a_directory_of_journals_that_cannot_be_written_is_listed_and_traced(place: Path) -> None:
    path = place / "journals"
    fill(FileStore(path))
    look(f"file://{path}")
    close_off(path)
    as_nobody(lambda: demand_readable(lambda: FileStore(path), f"file://{path}"))


def test_an_older_schema_that_cannot_be_written_says_what_to_do(place: Path) -> None:
    path = place / "runs.db"
    shutil.copy(RELEASED / "sqlite-v1.db", path)
    close_off(path)

    def ask() -> None:
        async def main() -> None:
            async with aclosing(SQLiteStore(path)) as store:
                await store.runs()

        with pytest.raises(StoreError, match="has schema 1, and this release reads schema 4: open it once where"):
            asyncio.run(main())

    as_nobody(ask)
