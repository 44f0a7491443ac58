"""A policy, tools that count what really happened, and guards over them. For the tests of `Guard`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bobcat import Policy, Reconciled, ToolSet, tool

POLICY = """
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: no-force, match: {args.text: force}, decision: deny, reason: not like this, priority: 9}
  - {id: echo, match: {tool: echo}, decision: allow, reason: harmless}
  - {id: add, match: {tool: add}, decision: allow}
  - {id: preview, match: {tool: delete}, decision: dry_run}
  - {id: ask, match: {tool: deploy}, decision: approve_required, approvers: [alice, oncall], reason: prod}
  - {id: limit, match: {tool: query}, decision: transform, transform: {jsonpath: $.args.text, append: " LIMIT 1"}}
  - {id: slow, match: {tool: slow}, decision: allow}
  - {id: broken, match: {tool: broken}, decision: allow}
  - {id: pay, match: {tool: pay}, decision: allow}
"""


def policy() -> Policy:
    return Policy.compile(POLICY)


@dataclass
class Tools:
    """The tools of `POLICY`. `ran` lists what really happened; `paid` the keys of payments."""

    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    paid: list[str] = field(default_factory=list)
    started: threading.Event = field(default_factory=threading.Event)
    seconds: float = 30.0

    def toolset(self) -> ToolSet:
        ran = self.ran

        @tool()
        async def echo(text: str, times: int = 1) -> str:
            ran.append(("echo", {"text": text, "times": times}))
            return text * times

        @tool(effect="idempotent")
        async def delete(path: str) -> str:
            ran.append(("delete", {"path": path}))
            return "deleted"

        @delete.shadow
        async def would_delete(path: str) -> str:
            return f"would delete {path}"

        @tool()
        async def deploy(target: str) -> str:
            ran.append(("deploy", {"target": target}))
            return f"deployed {target}"

        @tool()
        async def query(text: str) -> str:
            ran.append(("query", {"text": text}))
            return text

        @tool()
        async def slow(text: str = "") -> str:
            ran.append(("slow", {"text": text}))
            self.started.set()
            await asyncio.sleep(self.seconds)
            return "late"

        @tool()
        async def broken() -> str:
            ran.append(("broken", {}))
            raise ValueError("broken pipe")

        @tool(effect="keyed")
        async def pay(amount: int, idempotency_key: str) -> str:
            self.started.set()
            if idempotency_key not in self.paid:
                self.paid.append(idempotency_key)
            await asyncio.sleep(self.seconds if amount > 100 else 0)
            return f"paid {amount}"

        @pay.reconcile
        async def did_pay(key: str, args: Mapping[str, Any]) -> Reconciled:
            return Reconciled.happened(f"paid {args['amount']}") if key in self.paid else Reconciled.not_happened()

        return ToolSet.from_functions(echo, delete, deploy, query, slow, broken, pay)
