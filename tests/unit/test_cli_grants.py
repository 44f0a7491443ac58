"""`bobcat grants`: what is listed, and what a revoked grant no longer permits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bobcat import SQLiteStore, StoredConfirmationGate
from unit.cli_runner import Run, runner

URL = ("--store", "sqlite:///grants.db")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def in_store(work: Callable[[SQLiteStore], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with aclosing(SQLiteStore("grants.db")) as store:
            return await work(store)

    return asyncio.run(main())


def given(*, target: str = "refund", **options: Any) -> None:
    in_store(lambda store: StoredConfirmationGate(store).grant(target, **options))


def consumed(target: str) -> Any:
    return in_store(lambda store: StoredConfirmationGate(store).consume(target))


def test_unused_grants_are_listed_and_used_ones_are_not(run: Run) -> None:
    given(approver="alice", args={"amount": 40}, scope="run-7")
    given(target="pay", approver="bob", seconds=3600)
    given(target="gone")
    consumed("gone")
    done = run("grants", "list", *URL)
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    assert "refund  scope run-7  arguments" in done.out
    assert "pay  by bob  60 min left" in done.out or "pay  by bob  59 min left" in done.out
    (only,) = run("grants", "list", "--target", "refund", *URL, "--format", "json").json()
    assert (only["scope"], only["approvers"], only["expires"]) == ("run-7", ["alice"], None)


def test_a_revoked_grant_permits_nothing(run: Run) -> None:
    given(target="pay", approver="bob")
    given(target="pay", approver="alice")
    (held,) = run("grants", "list", *URL, "--format", "json").json()
    assert held["approvers"] == ["bob", "alice"]
    done = run("grants", "revoke", held["id"][:6], *URL)
    assert (done.code, done.out.startswith("revoked  ")) == (0, True)
    assert consumed("pay") is None
    again = run("grants", "revoke", held["id"], *URL)
    assert (again.code, again.out) == (3, "")
    assert "no unused grant" in again.err


def test_an_id_of_several_grants_is_refused(run: Run) -> None:
    for number in range(17):  # ids are hexadecimal: two of seventeen begin alike
        given(target=f"t{number}")
    found = [held["id"] for held in run("grants", "list", *URL, "--format", "json").json()]
    shared = next(first for first in "0123456789abcdef" if sum(each.startswith(first) for each in found) > 1)
    done = run("grants", "revoke", shared, *URL)
    assert (done.code, "names" in done.err) == (4, True)
    assert len(run("grants", "list", *URL).out.splitlines()) == 17


def test_damaged_grants_are_reported(run: Run) -> None:
    in_store(lambda store: store.put("grant", "default/x", {"grants": 3}, expected=0))
    given(target="pay")
    done = run("grants", "list", *URL)
    assert done.code == 3
    assert "default/x" in done.err
    assert len(done.out.splitlines()) == 1


def test_an_empty_store_has_no_grants(run: Run) -> None:
    in_store(lambda store: store.put("other", "key", {}, expected=0))
    done = run("grants", "list", *URL)
    assert (done.code, done.out, done.err) == (0, "", "no grants\n")
