"""A payment that two of three people must approve, while no process waits for them."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import bobcat
from bobcat import Approvals, FinalAnswer, RunResult, ToolCall, ToolSet, durable_approvals, run_agent, tool
from bobcat.stores import SQLiteStore

POLICY = bobcat.Policy.compile("""
rules:
  - id: large-payment
    match: {tool: pay, args.to.in: [acme, globex], args.amount.between: [1001, 100000]}
    decision: approve_required
    approvers: [alice, bob, carol]
    approvals_needed: 2
    timeout_seconds: 86400
""")


@tool(reversible=False)
async def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    print(f"  paying {amount} to {to}")
    return f"paid {amount} to {to}"


class Agent:
    """Pays, then says so."""

    async def step(self, conversation: Sequence[bobcat.Message]) -> ToolCall | FinalAnswer:
        if len(conversation) == 1:
            return ToolCall("pay", {"to": "acme", "amount": 5000})
        return FinalAnswer(conversation[-1].content)


async def work(path: Path) -> RunResult:
    """One attempt, as a process would make it: it knows the store and the run's name, and nothing else."""
    store = SQLiteStore(path)
    return await run_agent(
        Agent(),
        "pay the invoice",
        tools=ToolSet.from_functions(pay),
        policy=POLICY,
        store=store,
        run_id="invoice-12",
        on_approval=durable_approvals(store),
    )


async def answer(path: Path, approver: str) -> None:
    """One approver, on another machine for all the run knows."""
    approvals = Approvals(SQLiteStore(path))
    (asked,) = await approvals.list()
    answered = await approvals.grant(asked.id, approver=approver)
    given = ", ".join(answered.approval.granted_by)
    print(f"{approver} grants {asked.tool} {dict(asked.args)}: {answered.approval.status}, by {given}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "runs.db"
        print("first attempt:", (await work(path)).status)
        await answer(path, "alice")
        print("resumed too early:", (await work(path)).status)
        await answer(path, "carol")
        result = await work(path)
        print("resumed:", result.status, "-", result.final_answer)
        print("once more:", (await work(path)).final_answer)


if __name__ == "__main__":
    asyncio.run(main())
