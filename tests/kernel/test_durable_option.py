"""`durable=Durable(...)` is `store=`, `run_id=` and the lease of a run, in one value."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from bobcat import Durable, FinalAnswer, MemoryStore, RunResult, ToolSet, compile_policy, run_agent

POLICY = compile_policy("rules: []")


class Agent:
    """Answers at once, and counts how often."""

    asked = 0

    async def step(self, _: object) -> FinalAnswer:
        self.asked += 1
        return FinalAnswer("done")


class Watched(MemoryStore):
    """Notes who takes a lease, and for how long."""

    def __init__(self) -> None:
        super().__init__()
        self.leases: list[tuple[str | None, float]] = []

    async def acquire(self, run_id: str, *, owner: Any, seconds: float) -> Any:
        self.leases.append((owner, seconds))
        return await super().acquire(run_id, owner=owner, seconds=seconds)


def run(agent: Agent, task: str = "task", **options: Any) -> RunResult:
    return asyncio.run(run_agent(agent, task, tools=ToolSet(), policy=POLICY, **options))


def test_a_durable_run_is_journaled_leased_and_resumed() -> None:
    store, agent = Watched(), Agent()
    durable = Durable(store, "r", owner="worker-1", lease_seconds=7)
    assert [run(agent, durable=durable).final_answer for _ in range(2)] == ["done", "done"]
    assert agent.asked == 1
    assert store.leases == [("worker-1", 7)] * 2


def test_the_single_keywords_name_the_same_run() -> None:
    store, agent = MemoryStore(), Agent()
    run(agent, store=store, run_id="r", owner="worker-1", lease_seconds=7)
    assert run(agent, durable=Durable(store, "r")).final_answer == "done"
    assert agent.asked == 1


def test_what_may_have_changed_is_part_of_it() -> None:
    store, agent = MemoryStore(), Agent()
    run(agent, durable=Durable(store, "r"))
    assert run(agent, "another task", durable=Durable(store, "r")).code == "journal_refused"
    assert run(agent, "another task", durable=Durable(store, "r", allow_changed=("task",))).final_answer == "done"


@pytest.mark.parametrize(
    ("single", "name"),
    [
        ({"store": MemoryStore()}, "store"),
        ({"run_id": "r"}, "run_id"),
        ({"owner": "o"}, "owner"),
        ({"lease_seconds": 7}, "lease_seconds"),
        ({"allow_changed": ("task",)}, "allow_changed"),
    ],
)
def test_one_journal_is_not_given_twice(single: dict[str, Any], name: str) -> None:
    with pytest.raises(TypeError, match=f"durable has the journal of the run already; leave out {name}"):
        run(Agent(), durable=Durable(MemoryStore(), "r"), **single)


def test_a_store_in_place_of_durable_is_refused() -> None:
    with pytest.raises(TypeError, match="durable must be a Durable, got MemoryStore"):
        run(Agent(), durable=MemoryStore())


def test_durable_without_a_run_id_is_refused() -> None:
    with pytest.raises(ValueError, match="a non-empty run_id is required"):
        run(Agent(), durable=Durable(MemoryStore(), ""))


def test_compatibility_is_no_keyword_of_a_run() -> None:
    assert "compat" not in inspect.signature(run_agent).parameters
