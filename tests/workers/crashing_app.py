"""An app whose tool ends the process of its worker."""

from __future__ import annotations

import os
from typing import Any

from bobcat import FinalAnswer, ToolCall, ToolSet, compile_policy, tool
from bobcat.workers import Job, Workers

POLICY = compile_policy("rules: [{id: any, match: {tool: crash}, decision: allow}]")
workers = Workers(max_attempts=3, backoff_seconds=0.05)


def count_crash() -> int:
    """Note one more; how many there are."""
    with open(os.environ["EFFECTS"], "a+", encoding="utf-8") as file:
        file.write("crash\n")
        file.seek(0)
        return file.read().count("crash")


@tool(effect="idempotent")
async def crash(times: int) -> str:
    """Ends its process as often as that."""
    if count_crash() <= times:
        os._exit(9)
    return "alive"


class Once:
    def __init__(self, times: int) -> None:
        self.times = times

    async def step(self, conversation: Any) -> Any:
        if len(conversation) == 1:
            return ToolCall("crash", {"times": self.times})
        return FinalAnswer(conversation[-1].content)


@workers.run("deadly")
def deadly(job: Job) -> dict[str, Any]:
    tools = ToolSet.from_functions(crash)
    return {"agent": Once(job.payload["times"]), "task": "crash", "tools": tools, "policy": POLICY}
