"""`bobcat store`: the epoch of a store, and saying that it was restored."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import pytest

from bobcat import FileStore, SQLiteStore
from bobcat.stores.urls import open_store
from unit.cli_runner import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


@pytest.mark.parametrize("url", ["sqlite:///runs.db", "file:journals"])
def test_a_store_is_marked_as_restored(run: Run, url: str) -> None:
    async def fill() -> None:
        async with aclosing(open_store(url)) as store:
            await store.set_status("open", "queued", detail={"job": {"name": "pay", "version": "2"}})
            await store.set_status("over", "succeeded")

    asyncio.run(fill())
    assert run("store", "show", "--store", url).out == "epoch 1\n"
    assert run("runs", "list", "--store", url, "--status", "queued").out.endswith("  0 records  job pay@2\n")
    assert "restored" not in run("runs", "show", "open", "--store", url).out
    done = run("store", "mark-restored", "--store", url)
    assert done.code == 0
    epoch, older = done.out.splitlines()
    assert epoch.startswith("epoch 2, restored 20")
    assert older == "1 open runs are older: their unsafe actions wait for approvals"
    shown = json.loads(run("store", "show", "--store", url, "--format", "json").out)
    assert (shown["epoch"], shown["open_runs"]) == (2, 1)
    assert "restored   the store was restored since" in run("runs", "show", "open", "--store", url).out
    assert json.loads(run("runs", "list", "--store", url, "--format", "json").out)[0]["restored"] is True


def test_a_store_that_is_not_there_is_not_made(run: Run, tmp_path: Path) -> None:
    done = run("store", "mark-restored", "--store", "sqlite:///missing.db")
    assert (done.code, "there is no store at `missing.db`" in done.err) == (3, True)
    assert not (tmp_path / "missing.db").exists()


def test_the_stores_of_one_machine_have_epochs() -> None:
    assert all(hasattr(store, "mark_restored") for store in (SQLiteStore, FileStore))
