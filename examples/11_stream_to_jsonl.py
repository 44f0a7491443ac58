"""Events stream to a JSON Lines file while the run goes on. The sink is required: without its audit, nothing runs."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path

from bobcat import AuditEvent, FinalAnswer, Message, Policy, ToolCall, ToolSet, jsonl_sink, run_agent, tool
from bobcat import callback_sink as sink_of

DIRECTORY = tempfile.TemporaryDirectory()
AUDIT = Path(DIRECTORY.name) / "audit.jsonl"
POLICY = Policy.compile("rules: [{id: ok, match: {tool: peek}, decision: allow}]")


@tool()
async def peek() -> str:
    """Read the audit file in the middle of the run."""
    kinds = [json.loads(line)["kind"] for line in AUDIT.read_text().splitlines()]
    return f"written so far: {', '.join(kinds)}"


class Agent:
    """Looks once."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        return ToolCall("peek", {}) if len(conversation) == 1 else FinalAnswer(conversation[-1].content)


def full_disk(event: AuditEvent) -> None:
    """Plays a collector that fails when it matters."""
    if event.kind == "policy.evaluated":
        raise OSError("no space left on device")


async def main() -> None:
    tools = ToolSet.from_functions(peek)
    with AUDIT.open("w") as file:
        result = await run_agent(Agent(), "look", tools=tools, policy=POLICY, sinks=[jsonl_sink(file, required=True)])
    print(result.final_answer)
    print(f"{len(AUDIT.read_text().splitlines())} events in the end")

    with redirect_stderr(sys.stdout):  # where the failure of a sink is reported
        result = await run_agent(Agent(), "look", tools=tools, policy=POLICY, sinks=[sink_of(full_disk, required=True)])
    print(f"answer: {result.final_answer}\n{result.error}")


if __name__ == "__main__":
    with DIRECTORY:
        asyncio.run(main())
