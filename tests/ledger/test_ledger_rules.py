"""Rules that read the caps of a run: `ledger.daily.remaining.lt: 5`."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat import Budget, Cap, Ledger, MemoryStore, Policy, PolicyCompileError, Request, RunResult, run_agent
from ledger.awaited import awaited
from ledger.test_cost_budget import COST, PRICES, TOOLS, Model

LOW = Policy.compile("""
rules:
  - {id: low, match: {ledger.daily.remaining.lt: 0.997}, decision: deny, priority: 5}
  - {id: all, match: {tool: echo}, decision: allow}
""")


class Watched(Model):
    """Keeps the answers that the model saw."""

    def __init__(self, calls: int) -> None:
        super().__init__(calls)
        self.answers: list[str] = []

    async def step(self, conversation: Any) -> Any:
        self.answers = [message.content for message in conversation if message.role == "tool"]
        return await super().step(conversation)


async def run(agent: Any, policy: Policy, ledger: Any, **more: Any) -> RunResult:
    return await run_agent(agent, "go", tools=TOOLS, policy=policy, ledger=ledger, **more)


@awaited
async def test_a_rule_reads_what_is_left_of_a_day(place: str) -> None:
    async with Ledger(place, [Cap("day", usd=1)], prices=PRICES) as ledger:
        agent = Watched(4)
        result = await run(agent, LOW, ledger)
        assert result.error is None
        # Each reply takes 0.0011: the third one leaves 0.9967.
        assert [text.split()[0] for text in agent.answers] == ["[ok]", "[ok]", "[denied]", "[denied]"]


@awaited
async def test_without_a_cap_of_the_scope_the_path_is_absent(place: str) -> None:
    permits = Policy.compile(
        "rules: [{id: rich, match: {tool: echo, ledger.monthly.remaining.gt: 0}, decision: allow}]"
    )
    async with Ledger(place, [Cap("day", usd=1)], prices=PRICES) as ledger:
        agent = Watched(1)
        await run(agent, permits, ledger)
        assert agent.answers[0].startswith("[denied]")


@awaited
async def test_the_tightest_cap_of_a_scope_counts_and_tokens_are_apart(place: str) -> None:
    seen: list[Any] = []

    def sink(event: Any) -> None:
        if event.kind == "policy.evaluated":
            seen.append(event.body["context"]["extra"])

    policy = Policy.compile("""
rules:
  - {id: ok, match: {tool: echo, ledger.daily.remaining_tokens.ge: 700, context.extra.name: x}, decision: allow}
""")
    caps = [Cap("day", usd=1, tokens=1000), Cap("day", usd="0.5", by="tenant"), Cap("run", tokens=5000)]
    async with Ledger(place, caps, prices=PRICES) as ledger:
        agent = Watched(2)
        await run(agent, policy, ledger.account(tenant="acme"), sinks=[sink], extra={"name": "x"})
        # 1,100 tokens are the worst case of a call: it is above the cap of 1,000.
        assert seen == []
        assert agent.asked == 0
    caps[0] = Cap("day", usd=1, tokens=2000)
    async with Ledger(place, caps, prices=PRICES) as ledger:
        await run(agent, policy, ledger.account(tenant="acme"), sinks=[sink], extra={"name": "x"})
    assert seen[0]["name"] == "x"
    assert seen[0]["ledger"]["day"]["remaining"] == 0.5 - COST / 1_000_000
    assert seen[0]["ledger"]["day"]["remaining_tokens"] == 1800
    assert seen[0]["ledger"]["run"] == {"remaining_tokens": 4800, "spent_tokens": 200, "reserved_tokens": 0}


@awaited
async def test_a_resumed_step_reads_the_same_state(place: str) -> None:
    store = MemoryStore()
    async with Ledger(place, [Cap("day", usd=1)], prices=PRICES) as ledger:
        await run(Watched(2), LOW, ledger, store=store, run_id="r", budget=Budget(steps=1))
        await run(Watched(9), LOW, ledger)
        agent = Watched(1)
        result = await run(agent, LOW, ledger, store=store, run_id="r", allow_changed=("task",))
    assert result.error is None or "step" in result.error
    records = [record.body for record in await store.load("r") if record.kind == "step.extra"]
    assert records[0]["extra"]["ledger"]["day"]["remaining"] == 1 - COST / 1_000_000


@awaited
async def test_facts_of_the_same_name_are_refused(place: str) -> None:
    async with Ledger(place, [Cap("day", usd=1)], prices=PRICES) as ledger:
        with pytest.raises(ValueError, match="extra may not hold `ledger` in a run with a ledger"):
            await run(Model(), LOW, ledger, extra={"ledger": {"day": {"remaining": 9}}})
    # A run without a ledger has no such facts, and a policy without such rules takes any.
    assert LOW.evaluate(Request("echo", extra={"ledger": {"day": {"remaining": 0.5}}})).verdict == "deny"


@pytest.mark.parametrize(
    ("key", "code", "help"),
    [
        ("ledger.daily.remaining.lt", "", ""),
        ("ledger.day.spent", "", ""),
        ("ledger.weekly.remaining.lt", "E0302", "`day`"),
        ("ledger.daily.remainning.lt", "E0302", "did you mean `ledger.daily.remaining`?"),
        ("ledger.daily", "E0309", "ledger.daily.remaining"),
        ("ledger", "E0309", "ledger.run"),
        ("ledger.daily.remaining.contains", "E0", "contains"),
    ],
)
def test_keys_are_checked(key: str, code: str, help: str) -> None:
    source = {"rules": [{"match": {key: 5}, "decision": "deny"}]}
    if not code:
        path = Policy.compile(source).ir.rules[0].match.path  # type: ignore[union-attr]
        assert path[:3] == ("extra", "ledger", "day")
        return
    with pytest.raises(PolicyCompileError) as failed:
        Policy.compile(source)
    assert code in str(failed.value)
    assert help in str(failed.value)
