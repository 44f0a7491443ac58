"""Tiers: small refunds at once, large ones with a named approver, invalid amounts never."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bobcat import ApprovalDecision, ApprovalRequest, FinalAnswer, Message, Policy, ToolCall, ToolSet, run_agent, tool

POLICY = Path(__file__).parent / "policies" / "refunds.yaml"
# Any: the last of these are what a confused model might send.
WANTED: list[dict[str, Any]] = [
    {"customer": "C-1", "cents": 4900},
    {"customer": "C-1", "cents": 25000},
    {"customer": "C-2", "cents": 90000},
    {"customer": "C-789", "cents": 100},
    {"customer": " c-789", "cents": 100},
    {"customer": "C-1", "cents": -1000000},
    {"customer": "C-1", "cents": "4900"},
    {"customer": "C-1"},
]


@tool(reversible=False, cost="high", scope=("payments",))
async def refund(customer: str, cents: int) -> str:
    """Pay money back."""
    return f"paid {cents} to {customer}"


async def finance(request: ApprovalRequest) -> ApprovalDecision:
    """Plays the finance team: pays at most 300, and less instead of no."""
    args = request.request.args
    if args["cents"] > 30000:
        return ApprovalDecision(True, "finance", args={**args, "cents": 30000})
    return ApprovalDecision(True, "finance")


class Agent:
    """Asks for one refund after the other."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        done = sum(message.role == "tool" for message in conversation)
        if done:
            print(f"   {conversation[-1].content}")
        if done == len(WANTED):
            return FinalAnswer("that was all")
        print(WANTED[done])
        return ToolCall("refund", WANTED[done])


async def main() -> None:
    tools = ToolSet.from_functions(refund)
    policy = Policy.compile(POLICY)
    await run_agent(Agent(), "refunds", tools=tools, policy=policy, on_approval=finance)


if __name__ == "__main__":
    asyncio.run(main())
