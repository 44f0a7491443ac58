"""A payment made once, though its worker dies right after it: a key, a journal on disk, and a bank that is asked."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, Message, Policy, Reconciled, SQLiteStore, ToolCall, ToolSet, run_agent, tool

POLICY = Policy.compile("rules: [{id: pay, match: {tool: pay, args.cents.between: [1, 5000]}, decision: allow}]")
BANK: dict[str, int] = {}  # what was paid, by idempotency key


class PowerCut(BaseException):
    """Plays the end of the process."""


@tool(effect="keyed", reversible=False, scope=["payments"])
async def pay(cents: int, idempotency_key: str) -> str:
    """Pay. The key comes from the run; neither the model nor a rule can set it."""
    BANK[idempotency_key] = cents
    if len(BANK) == 1:
        raise PowerCut
    return f"paid {cents}"


@pay.reconcile
async def did_pay(key: str, args: Mapping[str, Any]) -> Reconciled:
    """Ask the bank whether the payment of this key was made."""
    print(f"the bank is asked about {dict(args)}")
    return Reconciled.happened(f"paid {BANK[key]}, says the bank") if key in BANK else Reconciled.not_happened()


class Agent:
    """Pays two invoices."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        results = [message.content for message in conversation if message.role == "tool"]
        return (
            ToolCall("pay", {"cents": [1200, 340][len(results)]})
            if len(results) < 2
            else FinalAnswer(" / ".join(results))
        )


async def attempt(path: Path) -> None:
    """The same call in every worker. It continues where the journal ends."""
    async with aclosing(SQLiteStore(path)) as store:
        tools = ToolSet.from_functions(pay)
        # The name lets a worker that starts again take its own lease, instead of waiting for it to end.
        result = await run_agent(
            Agent(), "pay", tools=tools, policy=POLICY, store=store, run_id="june", owner="worker-1"
        )
        print(result.final_answer)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(3):
            try:
                asyncio.run(attempt(Path(directory) / "runs.db"))
            except PowerCut:
                print("power cut")
    print(f"payments: {list(BANK.values())}")


if __name__ == "__main__":
    main()
