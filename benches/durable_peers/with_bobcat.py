"""Durable runs of three steps by Bobcat: an agent calls a tool three times, and a policy decides each call.

`with_bobcat.py URL CONCURRENT SECONDS LABEL`
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing

from bobcat import FinalAnswer, Message, Policy, PostgresStore, ToolCall, ToolSet, run_agent, tool
from durable_peers.clock import STEPS, count

POLICY = Policy.compile("rules: [{id: pay, match: {tool: pay, args.amount.le: 100}, decision: allow}]")


@tool
async def pay(amount: int) -> str:
    """The step."""
    return f"paid {amount}"


class Payer:
    """Calls the tool, and answers."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        """The next call."""
        done = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"amount": done}) if done < STEPS else FinalAnswer("done")


async def main(url: str, concurrent: str, seconds: str, label: str) -> None:
    """Count."""
    tools = ToolSet.from_functions(pay)
    async with aclosing(PostgresStore(url)) as store:

        async def run(run_id: str) -> None:
            result = await run_agent(Payer(), "pay", tools=tools, policy=POLICY, store=store, run_id=run_id)
            if result.final_answer != "done":
                raise RuntimeError(result.error)

        await count(run, label, concurrent=int(concurrent), seconds=float(seconds))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
