"""A journaled run that dies in the middle, and goes on where it was: nothing is paid for or done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bobcat import FinalAnswer, MemoryStore, Message, Policy, ToolCall, ToolSet, run_agent, tool

SENT: list[str] = []
ASKED = 0


@tool()
async def send(to: str) -> str:
    """Send an invoice."""
    SENT.append(to)
    return f"sent to {to}"


class Agent:
    """Sends two invoices; the first time its provider fails in between."""

    def __init__(self, fails: bool) -> None:
        self.fails = fails

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        global ASKED
        ASKED += 1
        done = sum(message.role == "tool" for message in conversation)
        if done == 1 and self.fails:
            raise ConnectionError("the provider is down")
        return ToolCall("send", {"to": ["ann", "bob"][done]}) if done < 2 else FinalAnswer("both sent")


async def main() -> None:
    store = MemoryStore()
    tools = ToolSet.from_functions(send)
    policy = Policy.compile("rules: [{id: send, match: {tool: send, args.to.in: [ann, bob]}, decision: allow}]")
    for fails in (True, False):
        agent = Agent(fails)
        result = await run_agent(agent, "invoices", tools=tools, policy=policy, store=store, run_id="march")
        print(f"answer: {result.final_answer}, error: {result.error}")
    print(f"sent: {SENT}, model calls: {ASKED}")
    for record in await store.load("march"):
        print(record.seq, record.kind, record.idempotency_key[:8])


if __name__ == "__main__":
    asyncio.run(main())
