"""A thread with a ledger: a cap ends the turn with a code, and a later message works when the cap allows it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from bobcat import Cap, Ended, FinalAnswer, Ledger, MemoryStore, Message, Prices, Threads, ThreadUsage, Usage
from thread_conversations import Ledger as Payments
from thread_conversations import awaited, collect, thread

PRICES = Prices.from_mapping({"small": {"input": 1, "output": 5}}, date="2026-11-01")


class Model:
    model = "small"
    max_output_tokens = 1_000

    def count_tokens(self, conversation: Sequence[Message]) -> int:
        return 1_000

    async def step(self, conversation: Sequence[Message]) -> FinalAnswer:
        return FinalAnswer("hello", Usage(1_000, 200, model="small"))


@awaited
async def test_a_cap_of_the_thread_ends_a_turn_and_a_higher_one_lets_the_next_run(tmp_path: Path) -> None:
    store, place = MemoryStore(), tmp_path / "spending.db"
    outcomes = []
    for usd, messages in (("0.0061", 2), ("0.02", 1)):
        async with Ledger(str(place), [Cap("thread", usd=Decimal(usd))], prices=PRICES) as ledger:
            async with thread(store, Payments(), agent=Model(), ledger=ledger, tenant="acme") as talk:
                for _ in range(messages):
                    events = await collect(talk.send("hello"))
                    assert isinstance(events[-1], Ended)
                    outcomes.append((events[-1].outcome, events[-1].code))
                    costs = [each.cost_micros for each in events if isinstance(each, ThreadUsage)]
                    assert costs == ([2_000] if events[-1].outcome == "succeeded" else [])
            (balance,) = await ledger.balances(thread="acme/42")
            assert balance.reserved == 0
    assert outcomes == [("succeeded", None), ("failed", "budget_exhausted"), ("succeeded", None)]


@awaited
async def test_a_thread_whose_calls_cannot_be_priced_is_refused_before_a_message_is_kept(tmp_path: Path) -> None:
    class Unbounded(Model):
        max_output_tokens = None  # type: ignore[assignment] # an agent without a bound

    store = MemoryStore()
    async with Ledger(str(tmp_path / "spending.db"), [], prices=PRICES) as ledger:
        with pytest.raises(ValueError, match="give max_tokens to the agent"):
            thread(store, Payments(), agent=Unbounded(), ledger=ledger)
    assert await Threads(store).list() == []
