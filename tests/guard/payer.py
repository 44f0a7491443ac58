"""A process that submits one payment under a key, and is killed somewhere in between. For `test_killed_submissions`.

    payer.py STORE LOG PAYMENTS KEY

The payment is one line of PAYMENTS, so that a double one is seen.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bobcat import Guard, Policy, Reconciled, ToolSet, tool

POLICY = {"rules": [{"match": {"tool": "pay"}, "decision": "allow"}]}


def tools(payments: Path) -> ToolSet:
    @tool
    async def pay(amount: int, order: str) -> str:
        with payments.open("a") as file:
            file.write(f"{order}\n")
            file.flush()
            os.fsync(file.fileno())
        return f"paid {amount}"

    @pay.reconcile
    async def did_pay(key: str, args: Mapping[str, Any]) -> Reconciled:
        paid = args["order"] in _lines(payments)
        return Reconciled.happened(f"paid {args['amount']}") if paid else Reconciled.not_happened()

    return ToolSet.from_functions(pay)


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


async def main(store: str, log: str, payments: str, key: str) -> None:
    async with Guard(Policy.compile(POLICY), tools(Path(payments)), store=store, log=log, lease_seconds=1) as guard:
        print("ready", flush=True)
        sys.stdin.readline()
        outcome = await guard.submit("pay", {"amount": 40, "order": key}, key=key)
        print(outcome.status, outcome.value, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
