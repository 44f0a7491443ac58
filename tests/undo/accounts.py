"""Accounts in a JSON file, and a tool that moves money, with its undo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bobcat import ToolSet, tool


class Accounts:
    """Balances in a file; `fail` is raised by the next payment, before it or after it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fail: Exception | None = None
        self.fail_after: Exception | None = None
        self.calls: list[str] = []

    def balance(self, account: str) -> int:
        found: dict[str, int] = json.loads(self.path.read_text()) if self.path.exists() else {}
        return found.get(account, 0)

    def set(self, account: str, balance: int) -> None:
        found = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.path.write_text(json.dumps({**found, account: balance}))

    def tools(self) -> ToolSet:
        @tool
        async def pay(account: str, amount: int) -> str:
            """Pay."""
            self.calls.append("pay")
            if self.fail is not None:
                raise self.fail
            self.set(account, self.balance(account) - amount)
            if self.fail_after is not None:
                raise self.fail_after
            return f"paid {amount}"

        @pay.snapshot(target="account")
        async def before(args: Mapping[str, Any]) -> Any:
            self.calls.append("snapshot")
            return {"balance": self.balance(args["account"])}

        @pay.undo
        async def undo_pay(snapshot: Any, args: Mapping[str, Any]) -> None:
            self.calls.append("undo")
            self.set(args["account"], snapshot["balance"])

        @tool
        async def other(text: str) -> str:
            """Do something that cannot be undone."""
            return text

        return ToolSet.from_functions(pay, other)
