"""The tables of escapes and look-alikes of `proc.run`, through a guard and with real programs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from bobcat import Guard, compile_policy
from bobcat.guard import Outcome
from providers.escapes_processes import ESCAPES, LOOK_ALIKES, SECRET, Row
from providers.process_site import WORKING, Site, site

OTHERWISE_IN_BWRAP = {
    "SIGTERM ignored", "stopped", "computing", "many files", "the parent's environment", "the system",
    "a long list", "a signal of its own", "its name",
}  # fmt: skip
"""Rows with another code, signal or name: bwrap is the program's parent, and has a root and processes of its own."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("processes")
    planted = root / "planted"
    planted.mkdir()
    with site(root) as made, pytest.MonkeyPatch.context() as patch:
        (planted / "git").write_text(f"#!/bin/sh\ntouch {made.out}/owned\n")
        (planted / "git").chmod(0o755)
        patch.setenv("PATH", f"{planted}:{os.environ['PATH']}")
        patch.setenv("API_KEY", SECRET)
        patch.setenv("BASH_ENV", str(planted / "git"))
        patch.setenv("ENV", str(planted / "git"))
        patch.setenv("BOBCAT_PUBLIC", "public")
        yield made


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("victim")) as made:
        yield made


@pytest.fixture(scope="module")
def open_secret(place: Site) -> Iterator[None]:
    """An inheritable descriptor of the parent."""
    with open(place.out / "secret") as file:
        os.set_inheritable(file.fileno(), True)
        yield


def _submit(place: Site, row: Row, isolation: str) -> Outcome:
    args = {"program": row.program, "argv": row.argv, "stdin": row.stdin, **row.args}

    async def submit() -> Outcome:
        tools = place.tools(**{"isolation": isolation, **row.options})
        async with Guard(compile_policy(row.policy), tools) as guard:
            return await guard.submit("proc.run", place.placed(args))

    return asyncio.run(submit())


def _check(place: Site, row: Row, outcome: Outcome, isolation: str) -> None:
    if isolation == "bwrap" and row.name in OTHERWISE_IN_BWRAP:
        return
    assert outcome.status == row.status, outcome
    if outcome.status != "ok":
        assert row.says in str(outcome.error)
        return
    value = outcome.value
    if row.signal is not None:
        late = {"SIGKILL"} if row.signal == "SIGTERM" else set()  # a busy machine: the grace period was too short
        assert value["signal"] in {row.signal, *late}, value
    else:
        assert (value["signal"], value["exit_code"]) == (None, row.code or 0), value
    assert place.placed(row.says) in f"{value['stdout']}{value['stderr']}{value['error']}"


def _rows(rows: list[Row]) -> list[object]:
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    found: list[object] = []
    for row in rows:
        for isolation in WORKING:
            fixed = row.options.get("isolation", isolation)
            if isolation == fixed and not (row.contained and isolation == "none"):
                found.append(pytest.param(row, isolation, id=f"{row.name}-{isolation}"))
    return found


@pytest.mark.parametrize(("row", "isolation"), _rows(ESCAPES))
def test_an_escape_has_no_effect_outside(row: Row, isolation: str, place: Site, open_secret: None) -> None:
    outcome = _submit(place, row, isolation)
    assert place.traces((outcome.value, outcome.error)) == []
    _check(place, row, outcome, isolation)


@pytest.mark.parametrize(("row", "isolation"), _rows(LOOK_ALIKES))
def test_a_look_alike_runs(row: Row, isolation: str, place: Site) -> None:
    outcome = _submit(place, row, isolation)
    _check(place, row, outcome, isolation)
    assert place.left() == []


def test_the_tables_have_enough_rows() -> None:
    assert len(ESCAPES) >= 60
    assert len(LOOK_ALIKES) >= 40


@pytest.mark.parametrize("row", [row for row in ESCAPES if row.contained], ids=lambda row: row.name)
def test_escapes_of_containment_succeed_without_it(row: Row, victim: Site) -> None:
    """Otherwise the rows would prove nothing."""
    if row.name in ("a device", "the system"):
        pytest.skip("changes this machine")
    (victim.ws / "link").unlink(missing_ok=True)
    outcome = _submit(victim, Row(row.name, row.program, row.argv), "none")
    value = outcome.value or {}
    assert outcome.status == "failed" or value["exit_code"] == 0, value
