"""An app for workers: its runs append what they do to the file that `EFFECTS` names."""

# ruff: noqa: ASYNC110, ASYNC240 - processes communicate by files here
from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, Message, ToolCall, ToolSet, compile_policy, tool
from bobcat.workers import Job, Workers

POLICY = compile_policy("""
rules:
  - {id: asks, match: {tool: pay}, decision: approve_required, approvers: [alice], timeout_seconds: 600}
  - {id: rest, match: {tool.in: [note, wait_for]}, decision: allow}
""")
workers = Workers(max_attempts=3, backoff_seconds=0.05, tenant_limits={"small": 1})


def effect(text: str) -> None:
    with open(os.environ["EFFECTS"], "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


@tool()
async def note(text: str) -> str:
    effect(text)
    return "noted"


@tool()
async def pay(amount: int) -> str:
    effect(f"paid {amount}")
    return "paid"


@tool()
async def wait_for(path: str) -> str:
    effect("waiting")
    while not Path(path).exists():
        await asyncio.sleep(0.02)
    return "there"


class Script:
    """Makes one call for each step, then answers. A step that names a file waits for it, as if the model took long."""

    def __init__(self, *steps: ToolCall | str) -> None:
        self.steps = steps

    async def step(self, conversation: Sequence[Message]) -> Any:
        done = sum(message.role == "tool" for message in conversation)
        pause = [step for step in self.steps[: done + 1] if isinstance(step, str)]
        calls = [step for step in self.steps if not isinstance(step, str)]
        if pause:
            effect("thinking")
            while not Path(pause[-1]).exists():
                await asyncio.sleep(0.02)
        return calls[done] if done < len(calls) else FinalAnswer(conversation[-1].content)


def made(*steps: ToolCall | str) -> dict[str, Any]:
    return {
        "agent": Script(*steps),
        "task": "work",
        "tools": ToolSet.from_functions(note, pay, wait_for),
        "policy": POLICY,
    }


@workers.run("note")
def one_note(job: Job) -> dict[str, Any]:
    return made(ToolCall("note", {"text": job.payload["text"]}))


@workers.run("two")
async def two_notes(job: Job) -> dict[str, Any]:
    """Two notes, and between them the model takes its time."""
    return made(ToolCall("note", {"text": "one"}), job.payload["file"], ToolCall("note", {"text": "two"}))


@workers.run("waits")
def waits(job: Job) -> dict[str, Any]:
    return made(ToolCall("wait_for", {"path": job.payload["file"]}))


@workers.run("asks")
def asks(job: Job) -> dict[str, Any]:
    return made(ToolCall("pay", {"amount": 40}))


@workers.run("spans")
def spans(job: Job) -> dict[str, Any]:
    """Notes when it begins and when it ends, so that a test sees what ran at once."""

    class Timed(Script):
        async def step(self, conversation: Sequence[Message]) -> Any:
            done = sum(message.role == "tool" for message in conversation)
            if done == 0:
                effect(f"begin {job.run_id}")
                await asyncio.sleep(0.3)
                effect(f"end {job.run_id} {time.monotonic()}")
            return FinalAnswer("done")

    return {**made(), "agent": Timed()}


@workers.run("fails")
def fails(job: Job) -> dict[str, Any]:
    """Its agent raises as often as the payload says."""

    class Failing(Script):
        async def step(self, conversation: Sequence[Message]) -> Any:
            effect("tried")
            if Path(os.environ["EFFECTS"]).read_text().count("tried") <= job.payload["times"]:
                raise ConnectionError("the model is not there")
            return FinalAnswer("done")

    return {**made(), "agent": Failing()}


@workers.run("exhausted")
def exhausted(job: Job) -> dict[str, Any]:
    from bobcat import Budget

    return {**made(*(ToolCall("note", {"text": "again"}) for _ in range(5))), "budget": Budget(steps=2)}


@workers.run("odd")
def odd(job: Job) -> Any:
    return {**made(), "store": None}
