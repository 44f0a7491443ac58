"""`bobcat threads`: list, show, rename, archive, delete, export and import the threads of a SQLite file."""

from __future__ import annotations

import asyncio
from datetime import datetime
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


def test_a_thread_is_deleted_restored_and_purged(run: Run) -> None:
    before = run("threads", "show", "acme/42", *STORE, *JSON).json()
    assert (before["deleted"], before["kept_until"]) == (None, None)
    deleted = run("threads", "delete", "acme/42", *STORE, *JSON).json()
    kept = datetime.fromisoformat(deleted["kept_until"]) - datetime.fromisoformat(deleted["deleted"])
    assert kept.days == 30
    assert run("threads", "list", *STORE, "--all").err == "no threads\n"
    assert run("threads", "list", *STORE, "--deleted", *JSON).json() == [deleted]
    (line,) = run("threads", "list", *STORE, "--deleted").out.splitlines()
    assert line.endswith(f"  kept until {deleted['kept_until'][:10]} {deleted['kept_until'][11:16]}")
    shown = run("threads", "show", "acme/42", *STORE).out
    assert f"kept until {deleted['kept_until'][:19]}" in shown
    refused = run("threads", "rename", "acme/42", "t", *STORE)
    assert (refused.code, refused.err.endswith("(deleted)\n")) == (4, True)
    assert run("threads", "purge", *STORE).err == "no threads to erase\n"
    assert run("threads", "restore", "acme/42", *STORE, *JSON).json() == before
    assert run("threads", "delete", "acme/42", "--keep-days", "0", *STORE).code == 0
    refused = run("threads", "restore", "acme/42", *STORE)
    assert (refused.code, refused.err.endswith("(expired)\n")) == (4, True)
    assert run("threads", "purge", "--dry-run", *STORE).out == "acme/42  would be erased\n"
    assert run("threads", "purge", "--dry-run", *STORE, *JSON).json() == {
        "erased": ["acme/42"], "busy": [], "attachments": 0
    }  # fmt: skip
    assert run("threads", "purge", *STORE).out == "acme/42  erased\n"
    assert run("threads", "purge", *STORE, *JSON).json() == {"erased": [], "busy": [], "attachments": 0}
    assert run("threads", "show", "acme/42", *STORE).code == 3
    assert run("runs", "list", *STORE, *JSON).json() == []


def test_errors_are_readable(run: Run) -> None:
    Path("bad").write_text("{}\n")
    for arguments in (("show", "x"), ("rename", "acme/42", ""), ("import", "bad"), ("import", "none"), ("import", ".")):
        failed = run("threads", *arguments, *STORE)
        assert (failed.code, failed.out) == (3, "")
        assert failed.err.startswith("error: ")
    assert run("threads", "export", "acme/42", "no/such/file", *STORE).code == 3
    assert run("threads", "list", *STORE, "--all", "--archived").code == 2
    assert run("threads", "list", *STORE, "--all", "--deleted").code == 2
    for days in ("-1", "x", "nan", "99999"):
        assert run("threads", "delete", "acme/42", "--keep-days", days, *STORE).code in (2, 3)
    assert len(run("threads", "list", *STORE, *JSON).json()) == 1
    assert run("threads", "list", "--store", "sqlite:///none.db").code == 3
