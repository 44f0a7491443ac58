"""Obligations and kills: no effect without its obligation before, and at most one record of those after it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from bobcat import FinalAnswer, MemoryStore, Message, ObligationCall, Policy, ToolCall, ToolSet, tool
from bobcat.testing import crashsim

POLICY = Policy.compile(
    "rules: [{match: {tool: pay}, decision: allow, obligations: [{reserve: 1}, {audit: 2}, {notify: treasury}]}]"
)


class Payer:
    """Pays once."""

    async def step(self, conversation: Sequence[Message], /) -> ToolCall | FinalAnswer:
        made = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"amount": made}) if made < 1 else FinalAnswer("done")


class Notes:
    """What happened in one simulated run, over its workers."""

    def __init__(self, stage: crashsim.Stage) -> None:
        self.store = MemoryStore(clock=stage.clock)
        self.steps: list[tuple[str, int]] = []
        self.unguarded: list[int] = []


def paying(stage: crashsim.Stage, kept: list[Notes], *, effect: Any) -> crashsim.Scenario:
    notes = Notes(stage)
    kept.append(notes)

    def pay(amount: int, key: str) -> str:
        # Each attempt at the effect has its own performance of both obligations, in whatever worker.
        done = Counter(notes.steps)
        if min(done["reserve", amount], done["audit", amount]) <= done["pay", amount]:
            notes.unguarded.append(amount)
        notes.steps.append(("pay", amount))
        stage.world.happen("pay", amount, once=key) if key else stage.world.happen("pay", amount)
        return "paid"

    @tool(effect="unsafe", name="pay")
    async def plain(amount: int) -> str:
        return pay(amount, "")

    @tool(effect="keyed", name="pay")
    async def keyed(amount: int, idempotency_key: str) -> str:
        return pay(amount, idempotency_key)

    async def note(obligation: Any, call: ObligationCall) -> None:
        await asyncio.sleep(0)
        notes.steps.append((obligation.name, call.request.args["amount"]))

    return crashsim.Scenario(
        task="pay",
        agent=Payer,
        tools=ToolSet.from_functions(keyed if effect == "keyed" else plain),
        policy=POLICY,
        store=notes.store,
        options={"obligations": {"reserve": note, "audit": note, "notify": note}},
    )


@pytest.mark.parametrize(
    ("effect", "faults"), [("keyed", {"kills": 1}), ("unsafe", {"kills": 1}), ("keyed", {"workers": 2})]
)
def test_no_effect_lacks_its_obligation(effect: str, faults: dict[str, int]) -> None:
    kept: list[Notes] = []
    report = crashsim.campaign(partial(paying, kept=kept, effect=effect), **faults)
    total = report.total
    assert total.runs > 20
    assert (total.double, total.lost, total.not_ended) == (0, 0, 0)
    assert [notes.unguarded for notes in kept if notes.unguarded] == []
    for notes in kept:
        records = asyncio.run(notes.store.load("simulated"))
        after = Counter(
            record.body["step"]
            for record in records
            if record.kind == "step.obligations" and record.body["outcomes"][0]["phase"] == "after"
        )
        assert max(after.values(), default=0) <= 1
        performed = Counter(step for name, step in notes.steps if name == "notify")
        assert max(performed.values(), default=0) <= 1
        assert all(performed[step] for step in after)
