"""Queued runs and a worker, on a file: priorities, a retry, and an approval that frees the worker.

This file is an app, too: `bobcat worker examples/25_workers.py --store sqlite:///runs.db`.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bobcat
from bobcat import Approvals, FinalAnswer, ToolCall, ToolSet, tool
from bobcat.stores import SQLiteStore
from bobcat.workers import Job, Jobs, Runner, StoreDispatcher, Workers

POLICY = bobcat.Policy.compile("""
rules:
  - {id: small, match: {tool: refund, args.amount.between: [1, 50]}, decision: allow, priority: 1}
  - {id: large, match: {tool: refund, args.amount.between: [51, 5000]}, decision: approve_required, approvers: [alice]}
""")
workers = Workers(max_attempts=3, backoff_seconds=0.01)


@tool(reversible=False)
async def refund(order: str, amount: int) -> str:
    """Refund an order."""
    print(f"  refunding {amount} for {order}")
    return "refunded"


class Agent:
    """Refunds one order. Its model is not there the first time it is asked about order 3."""

    outage = True

    def __init__(self, job: Job) -> None:
        self.job = job

    async def step(self, conversation: Sequence[bobcat.Message]) -> ToolCall | FinalAnswer:
        if self.job.payload["order"] == "o-3" and Agent.outage:
            Agent.outage = False
            raise ConnectionError("the model is not there")
        if len(conversation) == 1:
            return ToolCall("refund", dict(self.job.payload))
        return FinalAnswer("done")


@workers.run("refund")
def refund_order(job: Job) -> dict[str, Any]:
    tools = ToolSet.from_functions(refund)
    return {"agent": Agent(job), "task": f"refund {job.payload['order']}", "tools": tools, "policy": POLICY}


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = SQLiteStore(Path(directory) / "runs.db")
        jobs, runner = Jobs(store), Runner(workers, store)

        async def work() -> None:
            for _ in range(3):  # the retry is due a moment later
                worker = StoreDispatcher(until_idle=True)
                await worker.work(runner, concurrency=1, stop=asyncio.Event(), grace_seconds=5)
                await asyncio.sleep(0.05)
            states = [(run.run_id, run.status) for run in await store.runs()]
            print(", ".join(f"{run_id} {status}" for run_id, status in sorted(states)))

        for order, amount, priority in (("o-1", 20, 0), ("o-2", 900, 0), ("o-3", 5, 0), ("o-4", 10, 9)):
            await jobs.enqueue("refund", {"order": order, "amount": amount}, run_id=order, priority=priority)
        await work()
        print("attempts that failed for o-3:", (await jobs.get("o-3")).attempts)
        (asked,) = await Approvals(store).list()
        await Approvals(store).grant(asked.id, approver="alice")
        await work()
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
