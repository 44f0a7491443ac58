"""A process of a thread: `python thread_process.py STORE DIRECTORY MODE TEXT...` sends each text.

Payments are files in the directory. With the mode `die`, the process kills itself when the payment has happened; with
`reply`, in the middle of a reply; with `refuse`, a busy thread makes it try again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, Happened, Message, NotHappened, Policy, Thread, ThreadBusy, ToolCall, ToolSet, tool
from bobcat.model.deltas import TextDelta

STORE, DIRECTORY, MODE, *TEXTS = sys.argv[1:]


@tool(effect="unsafe")
async def pay(amount: str) -> str:
    """Pay."""
    (Path(DIRECTORY) / amount).open("x").close()
    if MODE == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return "paid"


@pay.reconcile  # type: ignore[untyped-decorator]
async def did_pay(key: str, args: Any) -> Happened | NotHappened:
    return Happened("paid") if (Path(DIRECTORY) / args["amount"]).exists() else NotHappened()


class Payer:
    """Pays what the user says."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        last = conversation[-1]
        return ToolCall("pay", {"amount": last.content}) if last.role == "user" else FinalAnswer("done")

    async def stream(self, conversation: Sequence[Message]) -> AsyncIterator[Any]:
        yield TextDelta("Let me ")
        await asyncio.sleep(0.05)
        if MODE == "reply":
            os.kill(os.getpid(), signal.SIGKILL)
        yield TextDelta("see.")
        yield await self.step(conversation)


async def main() -> None:
    policy = Policy.compile("rules: [{id: pay, match: {tool: pay}, decision: allow}]")
    options: dict[str, Any] = {"busy": "refuse"} if MODE == "refuse" else {}
    tools = ToolSet.from_functions(pay)
    async with Thread(STORE, "t", agent=Payer(), tools=tools, policy=policy, lease_seconds=0.5, **options) as thread:
        for text in TEXTS:
            while True:
                try:
                    print([event.seq async for event in thread.send(text, key=text)][-1], flush=True)
                    break
                except ThreadBusy:
                    await asyncio.sleep(0.02)


asyncio.run(main())
