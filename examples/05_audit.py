"""The audit stream: every decision as one line of JSON, effective arguments included."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Sequence

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, jsonl_sink, run_agent, tool

POLICY = """
rules:
  - id: limited
    match: {tool: search}
    decision: transform
    transform: {jsonpath: $.args.limit, set: 10}
"""

SHOWN = ("task", "tool", "verdict", "matched_rules", "judged_args", "args", "final_answer")


@tool()
async def search(text: str, limit: int = 1000) -> str:
    """Search for a text."""
    return f"{limit} hits for {text}"


class Agent:
    """Searches once."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        return ToolCall("search", {"text": "lynx"}) if len(conversation) == 1 else FinalAnswer("found")


async def main() -> None:
    file = io.StringIO()
    tools = ToolSet.from_functions(search)
    await run_agent(Agent(), "search", tools=tools, policy=Policy.compile(POLICY), sinks=[jsonl_sink(file)])
    for line in file.getvalue().splitlines():
        event = json.loads(line)
        body = {key: value for key, value in event["body"].items() if key in SHOWN}
        print(event["seq"], event["kind"], json.dumps(body, sort_keys=True))


if __name__ == "__main__":
    asyncio.run(main())
