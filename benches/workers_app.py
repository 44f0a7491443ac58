"""The app that `benches/workers.py` has made: short runs, one that stops to think, and those that start at a time."""

# ruff: noqa: ASYNC110, ASYNC240 - the processes of the bench communicate by files
from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, Message, ToolCall, ToolSet, compile_policy, tool
from bobcat.workers import Job, Retry, Workers

POLICY = compile_policy("rules: [{id: note, match: {tool: note}, decision: allow}]")
workers = Workers()


@tool(effect="none")
async def note(text: str) -> str:
    """Does nothing."""
    return text


def say(text: str) -> None:
    """Note the time of something."""
    with Path(os.environ["BENCH_NOTES"]).open("a", encoding="utf-8") as file:
        file.write(f"{text} {os.getpid()} {time.time()}\n")


@tool(effect="unsafe", name="note")
async def noted(text: str) -> str:
    """Says when it was called."""
    say(text)
    return text


class Short:
    """One call, one answer. `pause` is a file that is waited for after the call."""

    def __init__(self, calls: int, pause: Path | None = None) -> None:
        self._calls, self._pause = calls, pause

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: a reply
        done = sum(message.role == "tool" for message in conversation)
        if done and self._pause is not None:
            while not self._pause.exists():
                await asyncio.sleep(0.01)
        return ToolCall("note", {"text": f"call-{done}"}) if done < self._calls else FinalAnswer("done")


@workers.run("short")
async def short(job: Job) -> dict[str, Any]:
    """A run of one call. It waits until all workers are there."""
    gate = os.environ.get("BENCH_GATE")
    while gate and not Path(gate).exists():
        await asyncio.sleep(0.01)
    return {"agent": Short(1), "task": "note", "tools": ToolSet.from_functions(note), "policy": POLICY}


@workers.run("long")
def long(job: Job) -> dict[str, Any]:
    """A run that waits between its two calls."""
    agent = Short(2, Path(job.payload["pause"]))
    return {"agent": agent, "task": "note", "tools": ToolSet.from_functions(noted), "policy": POLICY}


class Flaky:
    """Fails until the run's third attempt."""

    identity = "flaky"

    def __init__(self, attempt: int) -> None:
        self._attempt = attempt

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: a reply
        if self._attempt < 3:
            raise RuntimeError("not yet")
        return FinalAnswer("done")


@workers.run("flaky", retry=Retry(3, backoff_seconds=0.4, jitter=0.0))
def flaky(job: Job) -> dict[str, Any]:
    """A run that is tried three times."""
    say(f"{job.run_id}-{job.attempts}")
    return {"agent": Flaky(job.attempts), "task": "try", "tools": ToolSet.from_functions(note), "policy": POLICY}


@workers.run("ticking", cron=os.environ.get("BENCH_CRON"))
def ticking(job: Job) -> dict[str, Any]:
    """A run of every minute, where the bench asks for it."""
    say(job.run_id)
    return {"agent": Short(0), "task": "tick", "tools": ToolSet.from_functions(note), "policy": POLICY}
