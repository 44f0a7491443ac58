"""An app in several versions, for the tests of deploys: `APP_VERSION` and `ON_VERSION` in the environment choose.

Version 2 adds a tool, removes one, gives `pay` an optional parameter and renames the class of its agent.
"""

from __future__ import annotations

import os
from typing import Any

from bobcat import FinalAnswer, Message, ToolCall, ToolSet, compile_policy, tool
from bobcat.workers import Job, Workers

VERSION = os.environ["APP_VERSION"]
POLICY = compile_policy("""
rules:
  - {id: asks, match: {tool: pay}, decision: approve_required, approvers: [alice], timeout_seconds: 600}
  - {id: rest, match: {tool.in: [look, mail]}, decision: allow}
""")
workers = Workers(version=VERSION, on_version=os.environ.get("ON_VERSION", "move"))  # type: ignore[arg-type]


def effect(text: str) -> None:
    with open(os.environ["EFFECTS"], "a", encoding="utf-8") as file:
        file.write(f"{text} by {VERSION}\n")


if VERSION == "1":

    @tool
    async def pay(order: str) -> str:
        effect(f"paid {order}")
        return "paid"

    @tool
    async def look(order: str) -> str:
        return order

    TOOLS = ToolSet.from_functions(pay, look)
else:

    @tool
    async def pay(order: str, urgent: bool = False) -> str:
        effect(f"paid {order}")
        return "paid"

    @tool
    async def mail(to: str) -> str:
        return to

    TOOLS = ToolSet.from_functions(pay, mail)


class Clerk:
    identity = "clerk"

    def __init__(self, order: str) -> None:
        self.order = order

    async def step(self, conversation: list[Message]) -> Any:
        return ToolCall("pay", {"order": self.order}) if len(conversation) == 1 else FinalAnswer(VERSION)


class Bookkeeper(Clerk):
    """The same agent, under the name that version 2 gives it."""


@workers.run("order")
async def order(job: Job) -> dict[str, Any]:
    agent = (Clerk if VERSION == "1" else Bookkeeper)(job.run_id)
    return {"agent": agent, "task": f"pay {job.run_id}", "tools": TOOLS, "policy": POLICY}
