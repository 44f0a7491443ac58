"""A process that pays for one principal, in runs or through a guard. For `test_shared_counts`.

scope_payer.py SPEC KIND NAME COUNT EFFECTS
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bobcat import FinalAnswer, Guard, Message, Policy, Principal, ToolCall, ToolSet, run_agent, tool
from stores.appender import make_store

CAP = 10
POLICY = Policy.compile(
    f"rules: [{{id: pay, match: {{tool: pay, run.count.pay: {{lt: {CAP}, by: principal}}}}, decision: allow}}]"
)
ANN = Principal("user", "ann")


class Payer:
    """Wants to pay again and again."""

    def __init__(self, count: int) -> None:
        self.count = count

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        made = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"number": made}) if made < self.count else FinalAnswer("done")


def tools(name: str, effects: str, *, dies: bool) -> ToolSet:
    @tool(effect="idempotent")
    async def pay(number: int) -> str:
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        append(effects, f"{name} {number}\n")
        return "paid"

    return ToolSet.from_functions(pay)


def append(path: str, line: str) -> None:
    with Path(path).open("a") as file:
        file.write(line)


async def main(spec: str, kind: str, name: str, count: int, effects: str) -> None:
    store: Any = make_store(spec)
    pay = tools(name, effects, dies=kind == "dying")
    try:
        if kind == "guard":
            async with Guard(POLICY, pay, store=store, principal=ANN, session=name) as guard:
                await asyncio.gather(*(guard.submit("pay", {"number": number}) for number in range(count)))
            return
        result = await run_agent(
            Payer(count), "pay", tools=pay, policy=POLICY, store=store, run_id=name, principal=ANN, owner=name
        )
        assert result.error is None, result.error
    finally:
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]))
