"""One payment, in a run or of its principal: the cap holds at kill points and pairs, and with two workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

import campaign
from bobcat import FinalAnswer, MemoryStore, Message, Policy, ToolCall, ToolSet, tool
from bobcat.testing import crashsim

LIMIT = campaign.limit(250)
pytestmark = pytest.mark.campaign
POLICY = Policy.compile("rules: [{id: one, match: {tool: pay, run.count.pay.lt: 1}, decision: allow}]")
SHARED = Policy.compile(
    "rules: [{id: one, match: {tool: pay, run.count.pay: {lt: 1, by: principal}}, decision: allow}]"
)


class Greedy:
    """Wants to pay three times."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        made = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"amount": made}) if made < 3 else FinalAnswer("done")


def paying(stage: crashsim.Stage, *, effect: Any, policy: Policy = POLICY) -> crashsim.Scenario:
    @tool(effect="unsafe", name="pay")
    async def plain(amount: int) -> str:
        stage.world.happen("pay", "once")
        return "paid"

    @tool(effect="keyed", name="pay")
    async def keyed(amount: int, idempotency_key: str) -> str:
        stage.world.happen("pay", "once", once=idempotency_key)
        return "paid"

    return crashsim.Scenario(
        task="pay",
        agent=Greedy,
        tools=ToolSet.from_functions(keyed if effect == "keyed" else plain),
        policy=policy,
        store=MemoryStore(clock=stage.clock),
    )


@pytest.mark.parametrize("effect", ["keyed", "unsafe"])
@pytest.mark.parametrize("faults", [{"kills": 1}, {"kills": 2}, {"workers": 2}], ids=["kill", "two kills", "workers"])
def test_a_run_pays_at_most_once(effect: str, faults: dict[str, int]) -> None:
    report = crashsim.campaign(partial(paying, effect=effect), limit=LIMIT, **faults)
    total = report.total
    assert total.runs > 20
    assert (total.double, total.lost, total.not_ended) == (0, 0, 0)


@pytest.mark.parametrize("effect", ["keyed", "unsafe"])
@pytest.mark.parametrize("faults", [{"kills": 1}, {"workers": 2}], ids=["kill", "workers"])
def test_a_principal_pays_at_most_once(effect: str, faults: dict[str, int]) -> None:
    report = crashsim.campaign(partial(paying, effect=effect, policy=SHARED), limit=LIMIT, **faults)
    total = report.total
    assert total.runs > 20
    assert (total.double, total.lost, total.not_ended) == (0, 0, 0)
