"""An app whose runs succeed, fail, wait for an approval, or wait for a file."""

# ruff: noqa: ASYNC110, ASYNC240 - processes communicate by files here
from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, Message, ToolCall, ToolSet, compile_policy, tool
from bobcat.workers import Job, Workers

POLICY = compile_policy("""
rules:
  - {id: asks, match: {tool: pay}, decision: approve_required, approvers: [alice]}
  - {id: waits, match: {tool.in: [wait_for, begin_and_wait]}, decision: allow}
""")
workers = Workers(max_attempts=2, backoff_seconds=0.0)


@tool()
async def pay(amount: int) -> str:
    return f"paid {amount}"


@tool(effect="none")
async def wait_for(path: str) -> str:
    Path(f"{path}.waiting").touch()
    while not Path(path).exists():
        await asyncio.sleep(0.02)
    return "there"


@tool(effect="unsafe")
async def begin_and_wait(path: str) -> str:
    Path(f"{path}.waiting").touch()
    while not Path(path).exists():
        await asyncio.sleep(0.02)
    return "there"


class Script:
    """Makes a call, if it has one, and answers."""

    def __init__(self, call: ToolCall | None = None) -> None:
        self.call = call

    async def step(self, conversation: Sequence[Message]) -> Any:
        return self.call if self.call is not None and len(conversation) == 1 else FinalAnswer("done")


class Failing(Script):
    async def step(self, conversation: Sequence[Message]) -> Any:
        raise ConnectionError("the model is away")


def made(agent: Script, task: str) -> dict[str, Any]:
    return {
        "agent": agent,
        "task": task,
        "tools": ToolSet.from_functions(pay, wait_for, begin_and_wait),
        "policy": POLICY,
    }


@workers.run("answer")
@workers.run("answer", version="2")
def answer(job: Job) -> dict[str, Any]:
    return made(Script(), f"answer {job.payload.get('question', 'nothing')}")


@workers.run("fail")
def fail(job: Job) -> dict[str, Any]:
    return made(Failing(), "fail at once")


@workers.run("ask")
def ask(job: Job) -> dict[str, Any]:
    return made(Script(ToolCall("pay", {"amount": 900})), "pay a lot")


@workers.run("wait")
def wait(job: Job) -> dict[str, Any]:
    return made(Script(ToolCall("wait_for", {"path": job.payload["file"]})), "wait for a file")


@workers.run("unsafe")
def unsafe(job: Job) -> dict[str, Any]:
    return made(Script(ToolCall("begin_and_wait", {"path": job.payload["file"]})), "wait, with an effect")
