"""`durable=Durable(...)` is `store=`, `run_id=` and the lease of a run, or of a graph, in one value."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from bobcat import (
    Durable,
    FinalAnswer,
    GraphNode,
    GraphResult,
    MemoryStore,
    RunResult,
    ToolSet,
    compile_policy,
    run_agent,
    run_graph,
)

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
        self.leases: list[tuple[str, str, float]] = []

    async def acquire(self, run_id: str, *, owner: Any, seconds: float) -> Any:
        self.leases.append((run_id, owner, seconds))
        return await super().acquire(run_id, owner=owner, seconds=seconds)


def run(agent: Agent, task: str = "task", **options: Any) -> RunResult:
    return asyncio.run(run_agent(agent, task, tools=ToolSet(), policy=POLICY, **options))


def graph(agent: Agent, task: str = "task", **options: Any) -> GraphResult:
    nodes = {"a": GraphNode(agent, ToolSet(), POLICY)}
    return asyncio.run(run_graph(nodes, task, router=lambda _: None, start="a", **options))


Call: TypeAlias = Callable[..., RunResult | GraphResult]
of_both = pytest.mark.parametrize("call", [run, graph])


def answer_of(result: RunResult | GraphResult) -> str | None:
    assert result.outcome == "succeeded"
    last = result.final if isinstance(result, GraphResult) else result
    return None if last is None else last.final_answer


@of_both
def test_it_is_journaled_leased_and_resumed(call: Call) -> None:
    store, agent = Watched(), Agent()
    durable = Durable(store, "r", owner="worker-1", lease_seconds=7)
    assert [answer_of(call(agent, durable=durable)) for _ in range(2)] == ["done", "done"]
    assert agent.asked == 1
    leased = ["r", "r"] if call is run else ["r", "r::0:a", "r"]
    assert store.leases == [(run_id, "worker-1", 7) for run_id in leased]


@of_both
def test_the_single_keywords_name_the_same_journal(call: Call) -> None:
    store, agent = MemoryStore(), Agent()
    call(agent, store=store, run_id="r", owner="worker-1", lease_seconds=7)
    assert answer_of(call(agent, durable=Durable(store, "r"))) == "done"
    assert agent.asked == 1


@of_both
def test_what_may_have_changed_is_part_of_it(call: Call) -> None:
    store, agent = MemoryStore(), Agent()
    call(agent, durable=Durable(store, "r"))
    refused = call(agent, "another task", durable=Durable(store, "r"))
    assert refused.outcome == "failed"
    assert not isinstance(refused, RunResult) or refused.code == "journal_refused"
    assert answer_of(call(agent, "another task", durable=Durable(store, "r", allow_changed=("task",)))) == "done"


@of_both
def test_the_version_of_the_app_is_recorded_with_each_attempt(call: Call) -> None:
    store = MemoryStore()
    assert answer_of(call(Agent(), durable=Durable(store, "r", app_version="7"))) == "done"
    records = asyncio.run(store.load("r" if call is run else "r::0:a"))
    assert records[0].body["binding"]["app"] == "7"


@of_both
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
def test_one_journal_is_not_given_twice(call: Call, single: dict[str, Any], name: str) -> None:
    with pytest.raises(TypeError, match=f"durable has the journal of the run already; leave out {name}"):
        call(Agent(), durable=Durable(MemoryStore(), "r"), **single)


@of_both
def test_a_store_in_place_of_durable_is_refused(call: Call) -> None:
    with pytest.raises(TypeError, match="durable must be a Durable, got MemoryStore"):
        call(Agent(), durable=MemoryStore())


@of_both
def test_durable_without_a_run_id_is_refused(call: Call) -> None:
    with pytest.raises(ValueError, match="a non-empty run_id is required"):
        call(Agent(), durable=Durable(MemoryStore(), ""))


def test_compatibility_is_no_keyword_of_a_run() -> None:
    assert "compat" not in inspect.signature(run_agent).parameters
