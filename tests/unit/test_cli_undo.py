"""`bobcat undo`: list, show, apply with and without a policy, recover."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Policy, Undo
from bobcat.providers import files
from unit.cli_runner import Run, runner

STORE = ("--store", "undo.db")
ROOT = ("--root", "ws")
POLICY = Policy.compile("rules: [{id: all, match: {declared.scope.contains: undo}, decision: allow}]")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/a.txt").write_text("one\ntwo\n")
    return runner(capsys, monkeypatch)


def change(tool: str, key: bytes | None = None, **args: Any) -> str:
    """Call a tool of the files provider, and return the id of its entry."""

    async def main() -> str:
        async with Undo("undo.db", key=key) as undo, Guard(POLICY, undo.protect(files("ws"))) as guard:
            outcome = await guard.submit(tool, args)
            assert outcome.ok, outcome
            return str(outcome.opened["undo"])

    return asyncio.run(main())


def test_a_change_is_listed_shown_and_undone(run: Run, tmp_path: Path) -> None:
    id = change("fs.write", path="ws/a.txt", content="one\nthree\n")
    (listed,) = run("undo", "list", *STORE).out.splitlines()
    assert listed.startswith(f"{id}  done  ")
    assert listed.endswith(f"fs.write {tmp_path}/ws/a.txt  8 B")
    (entry,) = run("undo", "list", *STORE, "--tool", "fs.write", "--format", "json").json()
    assert (entry["id"], entry["state"], entry["size"]) == (id, "done", 8)
    shown = run("undo", "show", id, *STORE, *ROOT)
    assert "-three\n+two\n" in shown.out
    texts = run("undo", "show", id, *STORE, *ROOT, "--format", "json").json()["texts"]
    assert texts == {f"{tmp_path}/ws/a.txt": {"snapshot": "one\ntwo\n", "present": "one\nthree\n"}}
    done = run("undo", "apply", id, *STORE, *ROOT, "--log", "log.jsonl")
    assert (done.code, (tmp_path / "ws/a.txt").read_text()) == (0, "one\ntwo\n")
    assert "undo.apply" in (tmp_path / "log.jsonl").read_text()
    again = run("undo", "apply", id, *STORE, *ROOT)
    assert (again.code, "undone already" in again.out) == (1, True)
    newest = run("undo", "list", *STORE).out.splitlines()[0]
    assert f"undoes {id}" in newest
    assert run("undo", "apply", newest.split()[0], *STORE, *ROOT).code == 0
    assert (tmp_path / "ws/a.txt").read_text() == "one\nthree\n"


def test_a_policy_decides_and_its_refusal_is_exit_code_4(run: Run, tmp_path: Path) -> None:
    id = change("fs.write", path="ws/a.txt", content="new")
    (tmp_path / "policy.yaml").write_text(
        "rules: [{id: moves, match: {tool: undo.apply, args.tool: fs.move}, decision: allow}]"
    )
    refused = run("undo", "apply", id, *STORE, *ROOT, "--policy", "policy.yaml", "--format", "json")
    assert (refused.code, refused.json()["status"]) == (4, "denied")
    assert (tmp_path / "ws/a.txt").read_text() == "new"
    moved = change("fs.move", path="ws/a.txt", to="ws/b.txt")
    assert run("undo", "apply", moved, *STORE, *ROOT, "--policy", "policy.yaml").code == 0
    assert (tmp_path / "ws/a.txt").exists()


def test_a_conflict_fails_and_force_overwrites(run: Run, tmp_path: Path) -> None:
    id = change("fs.write", path="ws/a.txt", content="new")
    (tmp_path / "ws/a.txt").write_text("another's")
    refused = run("undo", "apply", id, *STORE, *ROOT)
    assert (refused.code, "changed since" in refused.out) == (1, True)
    assert run("undo", "apply", id, *STORE, *ROOT, "--force").code == 0
    assert (tmp_path / "ws/a.txt").read_text() == "one\ntwo\n"


def test_an_encrypted_store_needs_its_key(run: Run, tmp_path: Path) -> None:
    key = bytes(range(32))
    id = change("fs.write", key, path="ws/a.txt", content="new")
    (tmp_path / "key").write_text(key.hex())
    refused = run("undo", "show", id, *STORE, *ROOT)
    assert (refused.code, "give its key" in refused.err) == (3, True)
    assert run("undo", "apply", id, *STORE, *ROOT, "--key", "key").code == 0
    assert (tmp_path / "ws/a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    "args, code, text",
    [
        (("list", "--store", "missing.db"), 3, "no undo store at `missing.db`"),
        (("list", "--store", "redis://localhost"), 3, "names no undo store"),
        (("show", "x", *STORE), 2, "--root DIRECTORY"),
        (("show", "x", *STORE, *ROOT), 3, "no undo entry `x`"),
        (("apply", "x", *STORE, *ROOT), 3, "no undo entry `x`"),
        (("apply", "x", *STORE, "--root", "missing"), 3, "cannot be opened"),
        (("apply", "x", *STORE, *ROOT, "--policy", "missing.yaml"), 3, "cannot read"),
        (("apply", "x", *STORE, *ROOT, "--key", "missing"), 3, "cannot read"),
    ],
)
def test_mistakes_are_errors_with_a_reason(run: Run, args: tuple[str, ...], code: int, text: str) -> None:
    change("fs.write", path="ws/a.txt", content="new")
    done = run("undo", *args)
    assert (done.code, text in done.err) == (code, True), done
    assert "Traceback" not in done.err


def test_an_entry_outside_of_the_given_roots_is_refused(run: Run, tmp_path: Path) -> None:
    id = change("fs.write", path="ws/a.txt", content="new")
    (tmp_path / "other").mkdir()
    done = run("undo", "apply", id, *STORE, "--root", "other")
    assert (done.code, "is not within" in done.out) == (1, True), done
    assert (tmp_path / "ws/a.txt").read_text() == "new"


def test_recover_reports_what_it_settled(run: Run, tmp_path: Path) -> None:
    id = change("fs.write", path="ws/a.txt", content="new")
    assert "nothing to recover" in run("undo", "recover", *STORE, *ROOT).err
    import sqlite3

    with sqlite3.connect("undo.db") as connection:  # as a process leaves it that ends after the effect
        connection.execute("UPDATE bobcat_undo_entries SET state = 'prepared', outcome = x'', owner = 'a/b/1/1'")
        connection.execute("UPDATE bobcat_undo_entries SET updated = 0")
    connection.close()
    done = run("undo", "recover", *STORE, *ROOT)
    assert done.out == f"{id}  fs.write {tmp_path}/ws/a.txt  done\n"
    assert run("undo", "apply", id, *STORE, *ROOT).code == 0
