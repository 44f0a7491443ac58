"""The app of `benches/idle.py`: runs that note when they start."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from bobcat import FinalAnswer, Message, ToolCall, ToolSet, compile_policy, tool
from bobcat.triggers import WorkerTriggers
from bobcat.workers import Job, Workers

POLICY = compile_policy("""
rules:
  - {id: asks, match: {tool: pay}, decision: approve_required, approvers: [alice], timeout_seconds: 3600}
""")
workers = Workers()
if os.environ.get("BENCH_TURNS"):  # they are looked at every two seconds
    WorkerTriggers(workers)


@tool()
async def pay(amount: int) -> str:
    """Pay nothing."""
    return "paid"


class Agent:
    """One call, or an answer at once."""

    def __init__(self, *, asks: bool) -> None:
        self._asks = asks

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: a reply
        return ToolCall("pay", {"amount": 1}) if self._asks and len(conversation) == 1 else FinalAnswer("done")


def made(job: Job, *, asks: bool) -> dict[str, Any]:
    """The arguments of a run, and a note of the time."""
    if path := os.environ.get("BENCH_NOTES"):
        with open(path, "a", encoding="utf-8") as notes:
            notes.write(f"{job.run_id} {time.time()}\n")
    return {"agent": Agent(asks=asks), "task": "work", "tools": ToolSet.from_functions(pay), "policy": POLICY}


@workers.run("short")
def short(job: Job) -> dict[str, Any]:
    """A run without a call."""
    return made(job, asks=False)


@workers.run("asks")
def asks(job: Job) -> dict[str, Any]:
    """A run that waits for an approval."""
    return made(job, asks=True)
