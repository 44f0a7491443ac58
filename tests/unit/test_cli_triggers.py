"""`bobcat triggers`: the whole life of a trigger, exit codes, and JSON."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bobcat import Principal, SQLiteStore
from bobcat.triggers import Triggers
from unit.cli_runner import Run, runner

APP = str(Path(__file__).parents[1] / "triggers" / "trigger_app.py")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOBCAT_STORE", "sqlite:///runs.db")
    return runner(capsys, monkeypatch)


def proposed() -> str:
    triggers = Triggers(SQLiteStore("runs.db"))
    return asyncio.run(triggers.propose("note", every=3600, by=Principal("agent", "bot"), payload={"x": "\x1b[31m"}))


def test_the_life_of_a_trigger(run: Run) -> None:
    id = proposed()
    assert run("triggers", "list").out == f"{id}  proposed  note  every 3600 s  by agent bot\n"
    shown = run("triggers", "show", id).out
    assert '"x"' in shown
    assert "\x1b" not in shown
    refused = run("triggers", "confirm", id, "--app", APP, "--by", "bot")
    assert (refused.code, "self_approval" in refused.err) == (4, True)
    assert "active" in run("triggers", "confirm", id, "--app", APP, "--by", "alice").out
    assert "paused" in run("triggers", "pause", id).out
    assert run("triggers", "pause", id).code == 4
    assert "active" in run("triggers", "resume", id).out
    assert run("triggers", "list", "--format", "json").json()[0]["consent"]["by"]["id"] == "alice"
    assert run("triggers", "history", id, "--format", "json").json() == []
    assert "deleted" in run("triggers", "delete", id).out
    assert run("triggers", "list").out == ""
    assert run("triggers", "show", "unknown").code == 3
