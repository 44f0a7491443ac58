"""A payment that waits for an approval, by workers that die at every write: it is asked for, paid and answered once.

The approver is another process: her answers are written by a store that does not die.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import Approvals, FinalAnswer, MemoryStore, Message, RunResult, SQLiteStore, ToolCall, durable_approvals
from bobcat.approvals import Approval
from kernel.crashing_process import Bank, CrashingStore, Death, Died, all_of, tools

POLICY = bobcat.compile_policy("""
rules:
  - {id: ask, match: {tool: pay}, decision: approve_required, approvers: [alice, bob], approvals_needed: 2}
""")
ATTEMPTS = 8


class Payer:
    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        return ToolCall("pay", {"amount": 10}) if len(conversation) == 1 else FinalAnswer("done")


async def attempt(store: Any, run_id: str, bank: Bank, *, reconciled: bool) -> RunResult:
    found = tools(bank, "unsafe", reconciled=reconciled)
    given = {"store": store, "run_id": run_id, "on_approval": durable_approvals(store), "owner": "worker"}
    return await bobcat.run_agent(Payer(), "pay", tools=found, policy=POLICY, **given)


async def survive(
    inner: Any, run_id: str, deaths: Sequence[Death | None], *, reconciled: bool, deny_uncertain: bool = False
) -> tuple[RunResult, Bank, list[Approval]]:
    """A run whose attempts die as said, with an approver who answers whenever she is asked something."""
    bank, desk = Bank(), Approvals(inner)
    result: RunResult | None = None
    asked: list[str] = []
    for number in range(ATTEMPTS):
        death = deaths[number] if number < len(deaths) else None
        try:
            store = CrashingStore(inner) if death is None else CrashingStore(inner, death.at, after=death.after)
            result = await attempt(store, run_id, bank, reconciled=reconciled)
        except Died:
            continue
        if result.status != "suspended":
            break
        (id,) = result.approvals
        asked += [] if id in asked else [id]
        approval = await desk.show(id)
        if approval.status == "pending" and deny_uncertain and approval.round:
            await desk.deny(id, approver="bob", reason="look first")
        elif approval.status == "pending":
            await desk.grant(id, approver="alice")
            await desk.grant(id, approver="bob")
    assert result is not None
    return result, bank, [await desk.show(id) for id in asked]


async def deaths_of(inner: Any) -> list[tuple[Death | None, ...]]:
    """No death; one death at every write of the attempt that asks, or of the one that pays; and one in both."""
    bank = Bank()
    asks = CrashingStore(inner)
    await attempt(asks, "whole", bank, reconciled=False)
    for approver in ("alice", "bob"):
        (asked,) = await Approvals(inner).list(run_id="whole")
        await Approvals(inner).grant(asked.id, approver=approver)
    pays = CrashingStore(inner)
    await attempt(pays, "whole", bank, reconciled=False)
    first = [Death(at, after) for at in range(1, asks.writes + 1) for after in (False, True)]
    second = [Death(at, after) for at in range(1, pays.writes + 3) for after in (False, True)]
    assert len(first) >= 10
    assert len(second) >= 14
    if isinstance(inner, SQLiteStore):  # it must wait for the disk: the deaths in one attempt, and those in no pair
        return [(), *((one,) for one in first), *((None, one) for one in second)]
    both = [(one, other) for one in first for other in second]
    twice = [(None, one, other) for one in second for other in second]
    return [(), *((one,) for one in first), *((None, one) for one in second), *both, *twice]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "runs.db")


def test_with_a_reconciler_one_question_is_answered_and_paid_once(store: Any) -> None:
    async def main() -> None:
        deaths = await deaths_of(store)
        found = await all_of([survive(store, f"r{n}", each, reconciled=True) for n, each in enumerate(deaths)])
        for each, (result, bank, asked) in zip(deaths, found, strict=True):
            assert result.status == "succeeded", (each, result)
            assert bank.paid == [("10", 10)], each
            assert [approval.status for approval in asked if approval.round == 0] == ["granted"], each

    asyncio.run(main())


def test_without_one_an_uncertain_outcome_is_another_question_and_nothing_is_paid_twice(store: Any) -> None:
    async def main() -> None:
        deaths = await deaths_of(store)
        found = await all_of(
            [survive(store, f"r{n}", each, reconciled=False, deny_uncertain=True) for n, each in enumerate(deaths)]
        )
        uncertain = 0
        for each, (result, bank, asked) in zip(deaths, found, strict=True):
            assert result.status == "succeeded", (each, result)
            assert len(bank.paid) <= 1, each
            denied = [approval for approval in asked if approval.status == "denied"]
            assert bank.paid or denied, f"{each}: the payment is lost without a question"
            uncertain += bool(denied)
        assert 0 < uncertain < len(deaths)

    asyncio.run(main())
