"""`bobcat triggers`: the whole life of a trigger, exit codes, and JSON."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click
import pytest

from bobcat import Principal, SQLiteStore
from bobcat.cli.triggers import triggers
from bobcat.triggers import Triggers
from unit.cli_runner import Run, runner

APP = str(Path(__file__).parents[1] / "triggers" / "trigger_app.py")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOBCAT_STORE", "sqlite:///runs.db")
    return runner(capsys, monkeypatch)


def proposed() -> str:
    client = Triggers(SQLiteStore("runs.db"))
    return asyncio.run(client.propose("note", every=3600, by=Principal("agent", "bot"), payload={"x": "\x1b[31m"}))


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


def digest_of(run: Run, id: str) -> str:
    return str(run("triggers", "show", id, "--app", APP, "--format", "json").json()["digest"])


def test_confirm_what_show_has_printed(run: Run) -> None:
    id = proposed()
    shown = run("triggers", "show", id)
    assert "unknown until a worker has seen the trigger" in shown.out
    assert run("triggers", "confirm", id, "--by", "alice").code == 2
    refused = run("triggers", "confirm", id, "--by", "alice", "--digest", "0" * 64)
    assert (refused.code, "no_app" in refused.err) == (4, True)
    digest = digest_of(run, id)
    assert f"digest     {digest}" in run("triggers", "show", id, "--app", APP).out
    refused = run("triggers", "confirm", id, "--by", "alice", "--app", APP, "--digest", "0" * 64)
    assert (refused.code, "changed" in refused.err) == (4, True)
    asyncio.run(Triggers(SQLiteStore("runs.db")).change(id, payload={"x": 2}))
    refused = run("triggers", "confirm", id, "--by", "alice", "--app", APP, "--digest", digest)
    assert (refused.code, "changed" in refused.err) == (4, True)
    confirmed = run("triggers", "confirm", id, "--by", "alice", "--app", APP, "--digest", digest_of(run, id))
    assert (confirmed.code, "active" in confirmed.out) == (0, True)
    covers = next(line for line in run("triggers", "show", id).out.splitlines() if line.startswith("covers"))
    assert [part.split()[0] for part in covers.removeprefix("covers").split(",")] == [
        "payload", "schedule", "tools", "policy",
    ]  # fmt: skip


def test_withdraw_and_the_events(run: Run) -> None:
    id = proposed()
    digest = digest_of(run, id)
    assert run("triggers", "confirm", id, "--by", "alice", "--app", APP, "--digest", digest).code == 0
    assert "(not now)" in run("triggers", "withdraw", id, "--reason", "not now").out
    assert run("triggers", "withdraw", id).code == 4
    assert run("triggers", "withdraw", "unknown").code == 3
    lines = [json.loads(line) for line in run("triggers", "events", id).out.splitlines()]
    assert [(line["seq"], line["kind"], line["body"]["by"]) for line in lines] == [
        (0, "trigger.proposed", "agent:bot"),
        (1, "trigger.confirmed", "user:alice"),
        (2, "trigger.withdrawn", ""),
    ]
    Path("events.jsonl").write_text(run("triggers", "events", id).out)
    assert "trigger.withdrawn" in run("log", "events.jsonl", "--kind", "trigger.*").out


def test_ids_are_completed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    id = proposed()
    command = triggers.commands["pause"]
    argument = next(each for each in command.params if each.name == "id")
    context = click.Context(command)
    assert [each.value for each in argument.shell_complete(context, id[:4])] == [id]
    assert argument.shell_complete(context, "zz") == []
    monkeypatch.setenv("BOBCAT_STORE", "sqlite:///missing.db")
    assert argument.shell_complete(context, "") == []
    monkeypatch.delenv("BOBCAT_STORE")
    assert argument.shell_complete(context, "") == []
