"""`bobcat runs` and `bobcat worker`: what they say to what cannot be."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bobcat.stores import FileStore
from bobcat.stores.urls import open_store
from unit.cli_runner import Run, runner

APP = """
from bobcat import FinalAnswer, ToolSet, compile_policy
from bobcat.workers import Workers

workers = Workers()

class Agent:
    async def step(self, conversation):
        return FinalAnswer("done")

@workers.run("hello")
def hello(job):
    return {"agent": Agent(), "task": "t", "tools": ToolSet.from_functions(), "policy": compile_policy("rules: []")}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOBCAT_STORE", "sqlite:///runs.db")
    (tmp_path / "app.py").write_text(APP)
    return runner(capsys, monkeypatch)


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (["--payload", "{"], "'--payload': not JSON: "),
        (["--payload", "[1]"], "'--payload': a JSON object is needed"),
        (["--payload", '{"a": NaN}'], "`NaN` is not a JSON number"),
        (["--payload", '{"a": 1e999}'], "`1e999` is too large a number"),
        (["--payload", '{"a": 1, "a": 2}'], "the key `a` is written twice"),
        (["--payload", '{"a": ' + "[" * 200 + "]" * 200 + "}"], "nested more than 100 levels deep"),
        (["--payload", '{"a": ' + "[" * 9000 + "]" * 9000 + "}"], "nested more than 100 levels deep"),
        (["--at", "tomorrow"], "'--at': not a time in ISO 8601"),
        (["--at", "9999-12-31T23:59:59-14:00"], "'--at': not a time in ISO 8601"),
    ],
)
def test_options_that_say_nothing_are_usage_errors(run: Run, options: list[str], reported: str) -> None:
    done = run("runs", "queue", "hello", *options)
    assert (done.code, done.out) == (2, "")
    assert reported in done.err
    assert not Path("runs.db").exists()


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["hello", "--run-id", ""], "the run id of a job must be a non-empty string, got `''` (bad_job)"),
        (["hello", "--run-id", "x" * 600], "the key has 600 bytes in UTF-8; at most 512 are kept"),
        (["", "--run-id", "r"], "the name of a job must be a non-empty string, got `''` (bad_job)"),
        (["hello", "--priority", "99999999999"], "a priority must be an integer between -32767 and 32767"),
    ],
)
def test_an_invalid_job_is_not_queued(run: Run, arguments: list[str], reported: str) -> None:
    done = run("runs", "queue", *arguments)
    assert (done.code, done.out) == (3, "")
    assert reported in done.err

    async def runs() -> Any:
        async with aclosing(open_store("sqlite:///runs.db")) as store:
            return await store.runs()

    assert asyncio.run(runs()) == ()


@pytest.mark.parametrize("command", ["cancel", "resume"])
def test_a_run_that_was_never_queued_is_resumed_by_its_program(run: Run, command: str) -> None:
    async def begun() -> None:
        async with aclosing(open_store("sqlite:///runs.db")) as store:
            await store.set_status("r", "suspended")

    asyncio.run(begun())
    done = run("runs", command, "r")
    assert done.code == 3
    assert done.err == ("error: the run `r` was not queued: only the program that began it can resume it (unknown)\n")


@pytest.mark.parametrize("seconds", ["0", "nan", "inf", "x"])
def test_a_lease_is_some_seconds(run: Run, seconds: str) -> None:
    done = run("worker", "app.py", "--until-idle", "--lease-seconds", seconds)
    assert done.code == 2
    assert "'--lease-seconds'" in done.err


def test_a_worker_says_at_once_that_its_store_cannot_be_reached(run: Run) -> None:
    for url in ("postgres://nobody@127.0.0.1:1/x", "redis://127.0.0.1:1"):
        done = run("worker", "app.py", "--store", url)
        assert done.code == 3
        assert done.err.startswith("error: the store cannot be used (unavailable): ")


def test_a_redis_url_with_an_option_that_there_is_not_is_refused(run: Run) -> None:
    done = run("runs", "list", "--store", "redis://127.0.0.1:6379/0?patience=3")
    assert (done.code, done.err) == (
        3,
        "error: the store cannot be used (bad_url): Redis: got an unexpected keyword argument 'patience'\n",
    )


def test_the_same_commands_work_on_a_directory_of_journals(run: Run) -> None:
    assert run("runs", "queue", "hello", "--run-id", "r", "--store", "file:journals").out == "r\n"
    made = run("worker", "app.py", "--until-idle", "--store", "file:journals")
    assert made.code == 0, made.err
    shown = run("runs", "show", "r", "--format", "json", "--store", "journals")
    assert json.loads(shown.out)["status"] == "succeeded"

    async def kinds() -> list[Any]:
        async with aclosing(FileStore("journals")) as store:
            return [record.kind for record in await store.load("r")]

    assert asyncio.run(kinds()) == ["run.started", "model.output", "final"]


def test_a_job_that_cannot_be_read_is_reported_and_stops_no_other(run: Run) -> None:
    async def damaged() -> None:
        async with aclosing(open_store("sqlite:///runs.db")) as store:
            due = {"priority": 0, "run_at": "2020-01-01T00:00:00+00:00"}
            await store.put("job", "bad", {"run_id": "bad"}, expected=0)
            await store.set_status("bad", "queued", detail={"job": due})
            await store.set_status("odd", "queued", detail={"job": {**due, "priority": "high"}})
            await store.set_status("none", "queued")

    asyncio.run(damaged())
    run("runs", "queue", "hello", "--run-id", "good")
    made = run("worker", "app.py", "--until-idle")
    assert made.code == 0, made.err
    assert (
        "run bad was not delivered: JobError: a job of this store cannot be read: Object missing required field `name`"
        in made.err
    )
    listed = {each["run_id"]: each["status"] for each in json.loads(run("runs", "list", "--format", "json").out)}
    assert listed == {"good": "succeeded", "bad": "queued", "odd": "queued", "none": "queued"}
    assert run("runs", "show", "bad").out.startswith("run        bad, queued\n")
    for command in ("cancel", "resume"):
        done = run("runs", command, "bad")
        assert (done.code, done.err) == (
            3,
            "error: a job of this store cannot be read: Object missing required field `name` (damaged)\n",
        )
