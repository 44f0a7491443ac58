"""A session with more records than its memory holds, and with guards of different tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import ApprovalDecision, Guard, MemoryStore, Policy, tool
from bobcat.runtime import session_memory
from guard.session_policies import SOURCED

COUNTED = Policy.compile("""
rules:
  - {id: asked, match: {tool: pay, args.asks: true, run.sum.pay.amount.lt: 100}, decision: approve_required}
  - id: pay
    match: {tool: pay, run.sum.pay.amount.lt: 100, not: {run.last: {tool: pay, args.amount: 7}}}
    decision: allow
""")


@tool()
async def pay(amount: int, asks: bool = False) -> str:
    return "paid"


@tool(effect="none")
async def search(name: str) -> dict[str, str]:
    return {"email": f"{name.lower()}@corp.example"}


@tool()
async def mail(to: str) -> str:
    return "sent"


@pytest.mark.parametrize("kept", [1, 2, 5, 256])
@pytest.mark.parametrize("waiting", [0, 3, 12])
def test_a_call_that_is_refused_late_is_as_if_it_never_was(
    kept: int, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_memory, "KEPT_RECORDS", kept)

    async def main() -> None:
        answer = asyncio.Event()

        async def refuse(_: object) -> ApprovalDecision:
            await answer.wait()
            return ApprovalDecision(False, "alice", "no")

        store = MemoryStore()
        async with Guard(COUNTED, [pay], store=store, session="s", on_approval=refuse) as guard:
            asked = asyncio.create_task(guard.submit("pay", {"amount": 90, "asks": True}))
            await asyncio.sleep(0.01)
            for _ in range(waiting):
                assert (await guard.submit("pay", {"amount": 0})).ok
            assert (await guard.submit("pay", {"amount": 10})).ok
            assert (await guard.submit("pay", {"amount": 1})).status == "denied"
            answer.set()
            assert (await asked).status == "denied"
            for amount in (80, 7):
                assert (await guard.submit("pay", {"amount": amount})).ok
            assert (await guard.submit("pay", {"amount": 1})).status == "denied"
        async with Guard(COUNTED, [pay], store=store, session="s") as again:
            assert (await again.check("pay", {"amount": 1})).status == "denied"

    asyncio.run(main())


@pytest.mark.parametrize("kept", [1, 256])
def test_each_call_of_a_session_is_remembered_with_its_own_task(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_memory, "KEPT_RECORDS", kept)

    async def main() -> list[str]:
        store = MemoryStore()
        steps: list[tuple[str, str, dict[str, Any]]] = [
            ("ask Ann", "search", {"name": "Ann"}),
            ("write to her", "mail", {"to": "ann@corp.example"}),
            ("write to her", "search", {"name": "Bob"}),
            ("write to her", "mail", {"to": "bob@corp.example"}),
            ("and to boss@corp.example", "mail", {"to": "boss@corp.example"}),
            ("ask Bob", "mail", {"to": "bob@corp.example"}),
            ("ask Bob", "search", {"name": "Bob"}),
            ("ask nobody", "mail", {"to": "bob@corp.example"}),
        ]
        found = []
        for task, name, args in steps:
            async with Guard(SOURCED, [search, mail], store=store, session="s", task=task) as guard:
                found.append((await guard.submit(name, args)).status)
        return found

    assert asyncio.run(main()) == ["ok", "ok", "ok", "denied", "ok", "denied", "ok", "ok"]
