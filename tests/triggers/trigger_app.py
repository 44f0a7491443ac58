"""An app with triggers: its runs append to the file that `EFFECTS` names, and count the calls of their agent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, ToolCall, ToolSet, compile_policy, tool
from bobcat.triggers import WorkerTriggers
from bobcat.workers import Job, Workers

RULES = "rules: [{id: any, match: {tool: note}, decision: allow}]"
workers = Workers(max_attempts=5, backoff_seconds=0.05)
triggers = WorkerTriggers(workers)
state: dict[str, Any] = {"policy": compile_policy(RULES), "value": 1, "steps": 0}


def crash(point: str) -> None:
    """Die at a point, once for the directory of the effects."""
    marker = Path(os.environ["EFFECTS"]).with_name("died")
    if os.environ.get("CRASH") == point and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), 9)


@tool(effect="idempotent")
async def note(text: str) -> str:
    """Note a text."""
    crash("before the effect")
    with open(os.environ["EFFECTS"], "a", encoding="utf-8") as file:  # noqa: ASYNC230
        file.write(f"{text}\n")
    return "noted"


state["tools"] = ToolSet.from_functions(note)


class Once:
    async def step(self, conversation: Any) -> Any:
        state["steps"] += 1
        crash("in a step")
        if len(conversation) == 1:
            return ToolCall("note", {"text": "fired"})
        crash("after the effect")
        return FinalAnswer("done")


@workers.run("note")
def one_note(job: Job) -> dict[str, Any]:
    return {"agent": Once(), "task": "note", "tools": state["tools"], "policy": state["policy"]}


class Speaker:
    """Notes what the last user's message says, and answers with the number of messages that it saw."""

    async def step(self, conversation: Any) -> Any:
        state["steps"] += 1
        crash("in a step")
        if conversation[-1].role == "user":
            return ToolCall("note", {"text": conversation[-1].content})
        crash("after the effect")
        return FinalAnswer(f"{len(conversation)} messages")


@workers.run("talk")
def talk(job: Job) -> dict[str, Any]:
    return {"agent": Speaker(), "task": job.payload["text"], "tools": state["tools"], "policy": state["policy"]}


@triggers.probe("value")
def value() -> Any:
    return state["value"]


class CrashingEngine(WorkerTriggers):
    """Dies between the queueing of a firing and the record of the next time."""

    async def _queue(self, *args: Any) -> None:
        await super()._queue(*args)
        crash("after queueing")


triggers.__class__ = CrashingEngine
