"""`bobcat threads`: list, show, rename, archive, export and import the threads of a SQLite file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from thread_conversations import Ledger, collect, thread
from unit.cli_runner import Run, runner

STORE = ("--store", "sqlite:///t.db")
OTHER = ("--store", "sqlite:///other.db")
JSON = ("--format", "json")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    async def talk() -> None:
        async with thread("t.db", Ledger()) as found:
            await collect(found.send("10"))

    asyncio.run(talk())
    return runner(capsys, monkeypatch)


def test_a_thread_is_listed_renamed_and_archived(run: Run) -> None:
    (line,) = run("threads", "list", *STORE).out.splitlines()
    assert line.startswith("acme/42  1 turn  ")
    assert line.endswith("  10")
    assert "title" in run("threads", "rename", "acme/42", "Payments", *STORE).out
    assert run("threads", "archive", "acme/42", *STORE, *JSON).json()["archived"] is True
    assert run("threads", "list", *STORE).err == "no threads\n"
    for option in ("--archived", "--all"):
        (shown,) = run("threads", "list", *STORE, *JSON, option).json()
        assert (shown["id"], shown["title"], shown["turns"]) == ("acme/42", "Payments", 1)
    assert run("threads", "unarchive", "acme/42", *STORE).code == 0
    assert run("threads", "list", *STORE, "--after", "acme/42").out == ""


def test_a_thread_moves_to_another_store(run: Run) -> None:
    assert run("threads", "export", "acme/42", "t.jsonl", *STORE).code == 0
    assert run("threads", "export", "acme/42", "t.jsonl", *STORE).code == 4
    before = run("threads", "show", "acme/42", *STORE, *JSON).json()
    assert run("threads", "import", "t.jsonl", *OTHER, *JSON).json() == before
    again = run("threads", "import", "t.jsonl", *OTHER)
    assert (again.code, again.err.endswith("(exists)\n")) == (4, True)


def test_errors_are_readable(run: Run) -> None:
    Path("bad").write_text("{}\n")
    for arguments in (("show", "x"), ("rename", "acme/42", ""), ("import", "bad"), ("import", "none"), ("import", ".")):
        failed = run("threads", *arguments, *STORE)
        assert (failed.code, failed.out) == (3, "")
        assert failed.err.startswith("error: ")
    assert run("threads", "export", "acme/42", "no/such/file", *STORE).code == 3
    assert run("threads", "list", *STORE, "--all", "--archived").code == 2
    assert run("threads", "list", "--store", "sqlite:///none.db").code == 3
