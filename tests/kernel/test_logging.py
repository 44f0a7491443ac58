"""Logging: quiet unless asked for, one logger for each part, and nothing raw in a message."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import (
    Approvals,
    FinalAnswer,
    MemoryStore,
    ToolCall,
    ToolSet,
    compile_policy,
    durable_approvals,
    run_agent,
    tool,
)
from bobcat.errors import StoreError
from bobcat.logs import log_to, logger, stop_logging, traceback_of
from bobcat.stores.errors import unavailable
from bobcat.workers import Jobs, Runner, Workers
from kernel.scripted import Scripted, call, run, seen

EVIL = "\x1b[2J\r\nforged: line\u202e"


def _raises(_: object) -> object:
    raise ValueError(f"model down {EVIL}")


def messages(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == name]


def test_nothing_is_printed_without_configured_logging() -> None:
    code = (
        "import asyncio, bobcat\n"
        "class Agent:\n"
        "    async def step(self, conversation): raise ValueError('no')\n"
        "policy = bobcat.compile_policy('rules: []')\n"
        "print(asyncio.run(bobcat.run_agent(Agent(), 't', tools=bobcat.ToolSet(), policy=policy)).status)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("failed\n", "")


def test_a_service_that_only_decides_loads_no_logging() -> None:
    code = (
        "import sys, bobcat\n"
        "bobcat.evaluate, bobcat.load_bundle, bobcat.request_from_json, bobcat.Decision\n"
        "print('logging' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_end_of_a_run_is_logged_with_what_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bobcat"):
        run = seen(correlation_id="c")
        failed = seen(_raises, correlation_id="d")
    assert run.result.status == "succeeded"
    ended = [record for record in caplog.records if record.name == "bobcat.runtime"]
    fields = [(r.levelname, r.__dict__["correlation_id"], r.__dict__["status"]) for r in ended]
    assert fields == [("INFO", "c", "succeeded"), ("WARNING", "d", "failed")]
    assert failed.result.error is not None


def test_decisions_are_logged_for_those_who_debug(caplog: pytest.LogCaptureFixture) -> None:
    @tool()
    async def echo(text: str) -> str:
        return text

    policy = compile_policy("rules: [{id: e, match: {tool: echo}, decision: allow}]")
    agent = Scripted(call("echo", text="a"), call("echo", text="b"))
    with caplog.at_level(logging.DEBUG, "bobcat.runtime"):
        asyncio.run(
            run_agent(agent, "t", tools=ToolSet.from_functions(echo), policy=policy, run_id="r", store=MemoryStore())
        )
    decided = [record.__dict__ for record in caplog.records if record.levelname == "DEBUG"]
    assert [(r["run_id"], r["step"], r["tool"], r["verdict"], r["matched_rules"]) for r in decided] == [
        ("r", 0, "echo", "allow", ["e"]),
        ("r", 1, "echo", "allow", ["e"]),
    ]


def test_text_of_others_is_escaped_in_messages_and_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    stream = io.StringIO()
    handler = log_to(stream, "debug")
    try:
        seen(_raises, correlation_id=EVIL)
        try:
            raise ValueError(EVIL)
        except ValueError as error:
            logger("kernel").error("it failed: %s", error, exc_info=error)
    finally:
        stop_logging(handler)
    assert "\x1b" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()
    assert "\r" not in stream.getvalue()
    assert not any(line.startswith("forged") for line in stream.getvalue().splitlines())
    assert "Traceback (most recent call last)" in stream.getvalue()
    assert all("\x1b" not in record.getMessage() for record in caplog.records)


def test_the_result_of_a_run_whose_agent_raised_has_the_traceback() -> None:
    run = seen(_raises)
    assert run.result.traceback is not None
    assert "in _raises" in run.result.traceback
    assert seen().result.traceback is None
    assert "traceback" not in repr(run.result)


def test_a_long_traceback_says_how_much_of_it_is_left_out() -> None:
    def deep(left: int) -> None:
        if left:
            deep(left - 1)
        else:
            raise ValueError("x" * 100_000)

    try:
        deep(100)
    except ValueError as error:
        text = traceback_of(error)
    assert len(text) < 17_000
    assert "characters left out]" in text


def test_a_sink_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(_: bobcat.AuditEvent) -> None:
        raise OSError("disk full")

    seen(sinks=[fails])
    (first, *_) = [record for record in caplog.records if record.name == "bobcat.sinks"]
    assert (first.levelname, first.__dict__["kind"]) == ("WARNING", "run.started")
    assert first.getMessage().endswith("OSError: disk full")


def test_a_provider_of_facts_that_fails_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(_: object) -> dict[str, Any]:
        raise OSError("no database")

    seen(call("echo", text="a"), extra=fails)
    (record,) = [record for record in caplog.records if "extra failed" in record.getMessage()]
    assert record.exc_text is not None
    assert "no database" in record.exc_text


def test_an_approval_handler_that_raises_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(_: object) -> bobcat.ApprovalDecision:
        raise OSError("no desk")

    seen(call("deploy", version="1"), on_approval=fails)
    (record,) = [record for record in caplog.records if record.name == "bobcat.approvals"]
    assert "no desk" in (record.exc_text or "")


def test_an_answer_to_an_approval_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()

    async def main() -> None:
        result = (
            await run(call("deploy", version="1"), on_approval=durable_approvals(store), store=store, run_id="r")
        ).result
        await Approvals(store).deny(result.approvals[0], approver="alice")

    with caplog.at_level(logging.INFO, "bobcat.approvals"):
        asyncio.run(main())
    (record,) = [record for record in caplog.records if record.name == "bobcat.approvals"]
    assert (record.__dict__["run_id"], record.__dict__["tool"], record.__dict__["status"]) == ("r", "deploy", "denied")
    assert record.getMessage().endswith("denied, answered by alice")


def test_a_store_that_cannot_be_reached_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bobcat.stores"):
        error = unavailable("`runs.db` cannot be used: disk I/O error")
    assert isinstance(error, StoreError)
    assert messages(caplog, "bobcat.stores") == ["`runs.db` cannot be used: disk I/O error"]


class Agent:
    def __init__(self, fails: bool) -> None:
        self._fails = fails

    async def step(self, _: object) -> ToolCall | FinalAnswer:
        if self._fails:
            raise ValueError(f"model down {EVIL}")
        return FinalAnswer("done")


def _worked(what: str, attempts: int = 1) -> tuple[MemoryStore, str]:
    """A run of a worker that succeeds, or fails in its agent or its app."""
    workers = Workers(max_attempts=attempts)

    @workers.run("job")
    def make(_: Any) -> dict[str, Any]:
        if what == "app":
            raise KeyError("no such customer")
        return {"agent": Agent(what == "agent"), "task": "t", "tools": ToolSet(), "policy": compile_policy("rules: []")}

    store = MemoryStore()

    async def main() -> str:
        job = await Jobs(store).enqueue("job", {})
        return (await Runner(workers, store).execute(job.run_id)).outcome + " " + job.run_id

    outcome, _, run_id = asyncio.run(main()).partition(" ")
    assert outcome == ("succeeded" if what == "nothing" else "failed" if attempts == 1 else "queued")
    return store, run_id


@pytest.mark.parametrize(("what", "frame"), [("agent", "in step"), ("app", "in make")])
def test_a_run_that_fails_on_a_worker_is_logged_and_its_traceback_stays_with_it(
    what: str, frame: str, caplog: pytest.LogCaptureFixture
) -> None:
    store, run_id = _worked(what)
    (record,) = [r for r in caplog.records if r.name == "bobcat.workers" and r.levelname == "ERROR"]
    assert record.__dict__["run_id"] == run_id
    assert record.exc_text is not None
    assert frame in record.exc_text
    assert "\x1b" not in record.exc_text + record.getMessage()
    run = asyncio.run(store.run(run_id))
    assert run is not None
    assert frame in run.detail["traceback"]


def test_a_run_that_is_tried_again_is_logged_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    _worked("agent", attempts=3)
    levels = [record.levelname for record in caplog.records if record.name == "bobcat.workers"]
    assert levels == ["WARNING"]


def test_a_worker_logs_the_life_of_a_run(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bobcat.workers"):
        _, run_id = _worked("nothing")
    assert messages(caplog, "bobcat.workers") == [f"run {run_id}: job begins, attempt 1", f"run {run_id}: succeeded"]


FAILING_APP = """
from bobcat import ToolSet, compile_policy
from bobcat.workers import Workers

workers = Workers(max_attempts=1)

class Agent:
    async def step(self, conversation):
        raise ValueError("model down\\x1b[2J\\nforged")

@workers.run("job")
def make(job):
    return {"agent": Agent(), "task": "t", "tools": ToolSet(), "policy": compile_policy("rules: []")}
"""


def test_a_worker_of_the_command_line_logs_failed_runs_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(FAILING_APP)

    def bobcat_command(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from bobcat.cli.main import main; main()", *args]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "BOBCAT_STORE": "sqlite:///runs.db"},
            capture_output=True,
            text=True,
        )

    assert bobcat_command("runs", "queue", "job", "--run-id", "r").returncode == 0
    done = bobcat_command("worker", "app.py", "--until-idle")
    assert done.returncode == 0
    assert (
        " ERROR bobcat.workers: run r: failed: agent.step raised: ValueError: model down\\x1b[2J\\nforged"
        in done.stderr
    )
    assert "  | Traceback (most recent call last):" in done.stderr
    assert "\x1b" not in done.stderr
    shown = bobcat_command("runs", "show", "r").stdout
    assert "in step" in shown
    assert not any(line.startswith("forged") for line in shown.splitlines())
    assert " INFO " not in done.stderr
    bobcat_command("runs", "queue", "job", "--run-id", "s")
    reported = bobcat_command("worker", "app.py", "--until-idle", "--log-level", "info").stderr
    assert " INFO bobcat.workers: run s: job begins, attempt 1" in reported
