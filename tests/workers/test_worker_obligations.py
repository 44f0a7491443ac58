"""A worker's run has the handlers that its factory gives, and the policy that narrows it."""

from __future__ import annotations

import asyncio
from typing import Any

from bobcat import FinalAnswer, Policy, ToolCall, ToolSet, tool
from bobcat.workers import Job, Workers
from workers.conftest import House

POLICY = Policy.compile("rules: [{id: pay, match: {tool: pay}, decision: allow, obligations: [{reserve: 1}]}]")
SMALL = Policy.compile("rules: [{id: small, match: {args.amount.lt: 3}, decision: allow}]")


class Payer:
    identity = "Payer"

    def __init__(self, amount: int) -> None:
        self.amount = amount

    async def step(self, conversation: Any) -> Any:
        paid = any(message.role == "tool" for message in conversation)
        return FinalAnswer("over") if paid else ToolCall("pay", {"amount": self.amount})


def test_the_arguments_of_a_job_have_handlers_and_a_narrower_policy(house: House) -> None:
    done: list[Any] = []
    app = Workers()

    @tool
    async def pay(amount: int) -> int:
        """Pay."""
        done.append(("paid", amount))
        return amount

    @app.run("pay")
    def paying(job: Job) -> dict[str, Any]:
        amount = int(job.run_id)
        found = {"agent": Payer(amount), "task": "pay", "tools": ToolSet.from_functions(pay), "policy": POLICY}
        if amount == 7:
            return found
        handler = {"reserve": lambda obligation, call: done.append(("reserved", call.run_id))}
        return {**found, "narrow_with": SMALL, "obligations": handler}

    async def main() -> None:
        for run_id in ("2", "5", "7"):
            await house.jobs.enqueue("pay", run_id=run_id)
            await house.work(app)

    asyncio.run(main())
    assert done == [("reserved", "2"), ("paid", 2)]
