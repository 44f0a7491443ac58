"""`durable=Durable(...)` of a graph is its `store=`, `run_id=` and lease, in one value, as for a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import Durable, FinalAnswer, GraphNode, GraphResult, MemoryStore, ToolSet, compile_policy, run_graph

POLICY = compile_policy("rules: []")


class Agent:
    """Answers at once, and counts how often."""

    asked = 0

    async def step(self, _: object) -> FinalAnswer:
        self.asked += 1
        return FinalAnswer("done")


class Watched(MemoryStore):
    """Notes the leases taken."""

    def __init__(self) -> None:
        super().__init__()
        self.leases: list[tuple[str, str, float]] = []

    async def acquire(self, run_id: str, *, owner: Any, seconds: float) -> Any:
        self.leases.append((run_id, owner, seconds))
        return await super().acquire(run_id, owner=owner, seconds=seconds)


def run(agent: Agent, task: str = "task", **options: Any) -> GraphResult:
    nodes = {"a": GraphNode(agent, ToolSet(), POLICY)}
    return asyncio.run(run_graph(nodes, task, router=lambda _: None, start="a", **options))


def test_a_durable_graph_is_journaled_leased_and_resumed() -> None:
    store, agent = Watched(), Agent()
    durable = Durable(store, "g", owner="worker-1", lease_seconds=7)
    assert [run(agent, durable=durable).outcome for _ in range(2)] == ["succeeded", "succeeded"]
    assert agent.asked == 1
    assert store.leases == [("g", "worker-1", 7), ("g::0:a", "worker-1", 7), ("g", "worker-1", 7)]


def test_the_single_keywords_name_the_same_graph() -> None:
    store, agent = MemoryStore(), Agent()
    run(agent, store=store, run_id="g")
    assert run(agent, durable=Durable(store, "g")).outcome == "succeeded"
    assert agent.asked == 1


def test_the_changes_that_are_allowed_are_part_of_it() -> None:
    store, agent = MemoryStore(), Agent()
    run(agent, durable=Durable(store, "g"))
    assert run(agent, "another task", durable=Durable(store, "g")).outcome == "failed"
    assert run(agent, "another task", durable=Durable(store, "g", allow_changed=("task",))).outcome == "succeeded"


@pytest.mark.parametrize(
    ("single", "name"),
    [
        ({"store": MemoryStore()}, "store"),
        ({"run_id": "g"}, "run_id"),
        ({"owner": "o"}, "owner"),
        ({"lease_seconds": 7}, "lease_seconds"),
        ({"allow_changed": ("task",)}, "allow_changed"),
    ],
)
def test_one_journal_is_not_given_twice(single: dict[str, Any], name: str) -> None:
    with pytest.raises(TypeError, match=f"durable has the journal of the run already; leave out {name}"):
        run(Agent(), durable=Durable(MemoryStore(), "g"), **single)


def test_a_store_in_place_of_durable_is_refused() -> None:
    with pytest.raises(TypeError, match="durable must be a Durable, got MemoryStore"):
        run(Agent(), durable=MemoryStore())


def test_durable_without_a_run_id_is_refused() -> None:
    with pytest.raises(ValueError, match="a non-empty run_id is required"):
        run(Agent(), durable=Durable(MemoryStore(), ""))
