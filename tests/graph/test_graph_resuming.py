"""Graphs that go on where their journal ends: after a crash at any write, beside other workers, over old journals."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import CancelToken, DuplicateRecord, MemoryStore, NodeOutcome, StepRecord, run_graph
from bobcat.graph.journal import LOST_ERROR
from bobcat.graph.run import GraphCompat, GraphRun
from graph_nodes import FORBIDDEN, WORK, Died, DyingStore, Nodes, Seen, records, run

NEXT = {"a": "b", "b": "c"}


def router(outcome: NodeOutcome) -> str | None:
    """a, then b, which fails, then c."""
    return NEXT.get(outcome.node)


def three(**options: Any) -> Nodes:
    nodes = Nodes().add("a", WORK, FORBIDDEN, "one")
    return nodes.add("b", WORK, RuntimeError("model is down"), **options).add("c", WORK, "three")


def resume(nodes: Nodes, store: MemoryStore, route: Any = router, **options: Any) -> Seen:
    return run(nodes, route, start="a", store=store, run_id="g", **options)


def finished(store: MemoryStore) -> set[str]:
    return {record.body["node"] for record in records(store) if record.kind == "node.finished"}


WHOLE = resume(three(), MemoryStore())


def same_end(seen: Seen) -> None:
    assert [(item.node, item.denials, item.result.final_answer, item.result.error) for item in seen.result.path] == [
        (item.node, item.denials, item.result.final_answer, item.result.error) for item in WHOLE.result.path
    ]
    assert (seen.result.error, seen.result.transitions) == (None, 2)
    assert seen.bodies("graph.handoff") == WHOLE.bodies("graph.handoff")


def test_the_journal_of_a_graph_says_what_happened() -> None:
    store = MemoryStore()
    resume(three(), store)
    found = records(store)
    assert [record.seq for record in found] == list(range(7))
    assert [record.kind for record in found] == ["graph.started", *["node.finished", "handoff"] * 3]
    assert dict(found[0].body) == {"task": "the task", "start": "a"}
    assert dict(found[2].body) == {"hop": 0, "node": "a", "next": "b", "denials": 1, "status": "succeeded"}
    assert dict(found[4].body) == {"hop": 1, "node": "b", "next": "c", "denials": 0, "status": "failed"}
    assert found[3].body["result"]["error"] == "agent.step raised: RuntimeError: model is down"
    assert {record.run_id for key in ("g::0:a", "g::1:b", "g::2:c") for record in records(store, key)} == {
        "g::0:a", "g::1:b", "g::2:c",
    }  # fmt: skip


# lynx-agent defect 70
def test_a_finished_graph_runs_no_node_again_failed_ones_included() -> None:
    store, nodes = MemoryStore(), three()
    first = resume(nodes, store)
    written, asked = len(records(store)), {name: agent.asked for name, agent in nodes.agents.items()}
    again = resume(nodes, store)
    assert again.result == first.result
    same_end(again)
    assert nodes.ran == ["a:a", "b:a", "c:a"]
    assert {name: agent.asked for name, agent in nodes.agents.items()} == asked
    assert len(records(store)) == written
    assert again.bodies("graph.started") == [{"task": "the task", "start": "a", "resumed": True}]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
# lynx-agent defect 70
def test_after_a_crash_at_any_write_no_finished_node_runs_again(after: bool) -> None:
    at = 0
    while True:
        at += 1
        store, nodes = DyingStore(at, after=after), three()
        try:
            seen = resume(nodes, store)
        except Died:
            done = finished(store)
        else:
            assert at > 20
            same_end(seen)
            return
        ran, asked = list(nodes.ran), {name: agent.asked for name, agent in nodes.agents.items()}
        seen = resume(nodes, store)
        same_end(seen)
        for name in done:
            assert nodes.agents[name].asked == asked[name], f"{name} was asked again after a crash at write {at}"
            assert nodes.ran.count(f"{name}:a") == ran.count(f"{name}:a") == 1
        assert [record.seq for record in records(store)] == list(range(len(records(store))))


def test_a_node_that_was_interrupted_goes_on_where_it_was() -> None:
    """Writes 1 to 5: the graph's claim, then the node's start, reply, intent and result."""
    store, nodes = DyingStore(5, after=True), three()
    with pytest.raises(Died):
        resume(nodes, store)
    same_end(resume(nodes, store))
    assert nodes.ran == ["a:a", "b:a", "c:a"]


def test_denials_are_counted_alike_in_a_replay() -> None:
    store, nodes = DyingStore(10, after=True), three()
    with pytest.raises(Died):
        resume(nodes, store)
    assert finished(store) == set()  # the node is done, but for its record
    same_end(resume(nodes, store))


def test_a_router_that_failed_is_asked_again_and_the_node_is_not_run_again() -> None:
    def broken(outcome: NodeOutcome) -> str | None:
        raise LookupError("no route")

    store, nodes = MemoryStore(), three()
    assert resume(nodes, store, broken).result.error == "router raised LookupError: no route"
    assert resume(nodes, store, lambda _: "nowhere").result.error is not None
    same_end(resume(nodes, store))
    assert nodes.ran == ["a:a", "b:a", "c:a"]


def test_a_cancelled_node_is_no_finished_one() -> None:
    store, nodes, switch = MemoryStore(), three(), CancelToken()

    def throws(outcome: NodeOutcome) -> str | None:
        switch.cancel("stop")
        return router(outcome)

    assert resume(nodes, store, throws, cancel=switch).result.error == "cancelled: stop"
    same_end(resume(nodes, store))


class Racing(MemoryStore):
    """Another worker writes first: at the record of `kind` of the run `run_id`."""

    def __init__(self, run_id: str, kind: str) -> None:
        super().__init__()
        self._target = run_id, kind

    async def append(self, record: StepRecord) -> None:
        if (record.run_id, record.kind) == self._target:
            raise DuplicateRecord("taken")
        await super().append(record)


@pytest.mark.parametrize(
    ("run_id", "kind", "error", "ran"),
    [
        ("g", "graph.started", "superseded: another worker is executing graph 'g'", []),
        ("g", "node.finished", "superseded: another worker is executing graph 'g'", ["a:a"]),
        ("g", "handoff", "superseded: another worker is executing graph 'g'", ["a:a"]),
        ("g::0:a", "action.result", "superseded: node 'a' was overtaken by another worker", ["a:a"]),
    ],
)
def test_a_worker_that_lost_the_graph_stops(run_id: str, kind: str, error: str, ran: list[str]) -> None:
    nodes = three()
    seen = resume(nodes, Racing(run_id, kind))
    assert (seen.result.error, nodes.ran) == (error, ran)
    assert seen.bodies("graph.superseded") == [{"hop": 0}]


# lynx-agent defect 71
def test_two_workers_of_one_graph_run_each_node_once() -> None:
    """The lease decides: the first worker is alive, and the second one does nothing."""
    store, nodes = MemoryStore(), three()

    async def main() -> list[Any]:
        calls = (run_graph(nodes.nodes, "t", router=router, start="a", store=store, run_id="g") for _ in range(2))
        return await asyncio.gather(*calls)

    errors = sorted(str(result.error) for result in asyncio.run(main()))
    assert errors[0] == "None"
    assert errors[1].startswith("superseded: run 'g' is being worked on by ")
    assert nodes.ran == ["a:a", "b:a", "c:a"]


# lynx-agent defect 71
def test_a_journal_of_another_graph_is_named_as_what_it_is() -> None:
    store, nodes = MemoryStore(), three()
    resume(nodes, store)
    seen = run(nodes, router, start="b", store=store, run_id="g")
    assert seen.result.error == "the journal of graph 'g' does not fit this graph: at hop 0 it has node 'a', not 'b'"
    del nodes.nodes["c"]
    seen = resume(nodes, store)
    assert seen.result.error == "router returned unknown node 'c'; nodes: ['a', 'b']"
    assert nodes.ran == ["a:a", "b:a", "c:a"]


class Refusing(MemoryStore):
    def __init__(self, *, load: bool, run_id: str = "g") -> None:
        super().__init__()
        self._load = load
        self._run_id = run_id

    async def append(self, record: StepRecord) -> None:
        if not self._load and record.run_id == self._run_id:
            raise OSError("read-only")
        await super().append(record)

    async def load(self, run_id: str) -> Any:
        if self._load and run_id == self._run_id:
            raise OSError("unreachable")
        return await super().load(run_id)


@pytest.mark.parametrize(
    ("store", "error"),
    [
        (Refusing(load=True), "store.load failed: OSError: unreachable"),
        (Refusing(load=False), "store.append failed: OSError: read-only"),
        (Refusing(load=True, run_id="g::0:a"), "store.load failed: OSError: unreachable"),
        (Refusing(load=False, run_id="g::0:a"), "store.append failed: OSError: read-only"),
    ],
)
def test_a_store_that_fails_ends_the_graph(store: MemoryStore, error: str) -> None:
    nodes = three()
    assert resume(nodes, store).result.error == error
    assert nodes.ran == []


class Waiting(MemoryStore):
    """Hangs in one call, or raises an unrequested cancellation."""

    def __init__(self, at: int, *, raises: bool) -> None:
        super().__init__()
        self._at = at
        self._raises = raises
        self.reached = asyncio.Event()

    async def _pass(self) -> None:
        self._at -= 1
        if self._at:
            return
        self.reached.set()
        if self._raises:
            raise asyncio.CancelledError("by my own hand")
        await asyncio.Event().wait()

    async def append(self, record: StepRecord) -> None:
        await self._pass()
        await super().append(record)

    async def load(self, run_id: str) -> Any:
        await self._pass()
        return await super().load(run_id)


@pytest.mark.parametrize("at", range(1, 20))
def test_a_graph_can_be_cancelled_at_every_wait_for_its_store(at: int) -> None:
    async def main(store: Waiting) -> None:
        nodes = three().nodes
        task = asyncio.create_task(run_graph(nodes, "t", router=router, start="a", store=store, run_id="g"))
        async with asyncio.timeout(5):
            await store.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a lease is still being renewed"

    asyncio.run(main(Waiting(at, raises=False)))


def test_a_graph_that_is_cancelled_while_it_notes_its_end_is_given_back_all_the_same() -> None:
    class Slow(MemoryStore):
        async def set_status(self, run_id: str, status: Any, **options: Any) -> None:
            if run_id == "g" and status == "succeeded":
                noting.set()
                await asyncio.Event().wait()
            await super().set_status(run_id, status, **options)

    async def main() -> None:
        store = Slow()
        task = asyncio.create_task(run_graph(three().nodes, "t", router=router, start="a", store=store, run_id="g"))
        async with asyncio.timeout(5):
            await noting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}, "the lease is still being renewed"
        assert (await store.acquire("g", owner="another", seconds=1)).fence == 2

    noting = asyncio.Event()
    asyncio.run(main())


@pytest.mark.parametrize("at", range(1, 20))
def test_a_cancellation_that_a_store_raises_is_a_failure_of_the_store(at: int) -> None:
    error = str(resume(three(), Waiting(at, raises=True)).result.error)
    assert error.startswith(("store.append failed: CancelledError", "store.load failed: CancelledError"))


@pytest.mark.parametrize("body", [{}, {"hop": "x", "node": "a"}, {"hop": 0, "node": 3}, {"hop": 0, "node": "a"}])
def test_invalid_records_end_the_graph(body: dict[str, Any]) -> None:
    store, nodes = MemoryStore(), three()
    asyncio.run(store.append(StepRecord("g", 0, "node.finished", "", body, datetime.now(UTC))))
    assert str(resume(nodes, store).result.error).startswith("store.load failed: ")
    assert nodes.ran == []


# lynx-agent defect 69
def test_only_the_store_s_own_failure_ends_a_graph() -> None:
    store = MemoryStore()
    nodes = Nodes().add("a", RuntimeError("datastore.connect refused")).add("b", RuntimeError("store.append failed: x"))
    seen = run(nodes.add("c", "three"), router, start="a", store=store, run_id="g")
    assert (seen.path, seen.result.error) == (["a", "b", "c"], None)


def plain_run(nodes: Nodes, store: MemoryStore) -> Any:
    """Journal as lynx-agent 2.5 does."""
    rest = {"start": "a", "max_transitions": None, "compose_task": None, "sinks": (), "run_id": "g", "cancel": None}
    return asyncio.run(
        GraphRun(GraphCompat(plain=True), nodes.nodes, "the task", router=router, store=store, **rest).run()
    )


def test_a_plain_journal_holds_handoffs_at_their_hop() -> None:
    store = MemoryStore()
    plain_run(three(), store)
    assert [(record.kind, record.seq, record.body["hop"]) for record in records(store)] == [
        ("handoff", 0, 0), ("handoff", 1, 1), ("handoff", 2, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("plain", [False, True])
def test_a_plain_journal_is_resumed_and_its_failed_nodes_are_not_run_again(plain: bool) -> None:
    store, nodes = DyingStore(16, after=True), three()
    with pytest.raises(Died):
        plain_run(nodes, store)
    assert [record.body["node"] for record in records(store)] == ["a", "b"]
    asked = nodes.agents["b"].asked
    result = plain_run(nodes, store) if plain else resume(nodes, store).result
    assert (result.error, [item.node for item in result.path]) == (None, ["a", "b", "c"])
    assert (result.path[1].result.error, result.path[1].result.steps_taken) == (LOST_ERROR, 1)
    assert [item.denials for item in result.path] == [1, 0, 0]
    assert (nodes.ran, nodes.agents["b"].asked) == (["a:a", "b:a", "c:a"], asked)


@given(crashes=st.lists(st.tuples(st.integers(1, 25), st.booleans()), max_size=5))
# lynx-agent defect 70
def test_after_any_number_of_crashes_a_graph_comes_to_the_same_end(crashes: list[tuple[int, bool]]) -> None:
    store, nodes = DyingStore(0), three()
    for at, after in crashes:
        store.at, store.after, store.count = at, after, 0
        done = {name: nodes.agents[name].asked for name in finished(store)}
        with contextlib.suppress(Died):
            resume(nodes, store)
        assert {name: nodes.agents[name].asked for name in done} == done
    store.at = 0
    same_end(resume(nodes, store))


def test_a_graph_has_a_status_and_gives_its_lease_back() -> None:
    store = MemoryStore()
    resume(three(), store)

    async def look() -> tuple[Any, Any, int]:
        return await store.run("g"), await store.run("g::0:a"), (await store.acquire("g", owner="b", seconds=1)).fence

    graph, node, fence = asyncio.run(look())
    assert (graph.status, node.status, fence) == ("succeeded", "succeeded", 2)


def test_a_graph_that_another_worker_executes_is_left_alone() -> None:
    store, nodes = MemoryStore(), three()
    asyncio.run(store.acquire("g", owner="somebody", seconds=60))
    seen = resume(nodes, store)
    assert str(seen.result.error).startswith("superseded: run 'g' is being worked on by 'somebody'")
    assert (nodes.ran, seen.graph_kinds) == ([], ["graph.superseded"])
    assert resume(nodes, store, owner="somebody").result.error is None


def test_a_graph_whose_worker_lost_it_begins_no_other_node() -> None:
    class Taken(MemoryStore):
        async def append(self, record: StepRecord) -> None:
            await super().append(record)
            if record.run_id == "g::0:a" and record.kind == "final":
                await self.acquire("g", owner="worker", seconds=60)  # under the same name, after its memory was lost

    nodes = three()
    seen = resume(nodes, Taken(), owner="worker")
    assert seen.result.error == "superseded: another worker is executing graph 'g'"
    assert nodes.ran == ["a:a"]


def test_a_node_is_resumed_with_other_tools_only_when_that_is_allowed() -> None:
    store = DyingStore(4, after=True)
    with pytest.raises(Died):
        resume(three(), store)
    changed = three()
    changed.nodes["a"] = replace(changed.nodes["a"], tools=changed.nodes["a"].tools.without_tool("work"))
    refused = str(resume(changed, store).result.error)
    assert refused.startswith("journal refused: the run was begun with other tools: `work`")
    assert changed.ran == []
    assert resume(changed, store, allow_changed=("tools",)).result.error is None


@pytest.mark.parametrize("whole", [True, False])
def test_a_graph_is_resumed_with_another_task_only_when_that_is_allowed(whole: bool) -> None:
    store = MemoryStore() if whole else DyingStore(9, after=True)
    with contextlib.nullcontext() if whole else pytest.raises(Died):
        resume(three(), store)
    before = asyncio.run(store.run("g"))
    nodes = three()
    refused = resume(nodes, store, task="another one").result
    assert refused.error == (
        "journal refused: the graph was begun with another task; if that is meant, pass allow_changed=('task',)"
    )
    after = asyncio.run(store.run("g"))
    assert before is not None
    assert after is not None
    assert (refused.path, nodes.ran, after.records, after.status) == ((), [], before.records, before.status)
    assert resume(nodes, store, task="another one", allow_changed=("task",)).result.error is None
    with pytest.raises(TypeError, match="allow_changed must be a collection of names"):
        resume(nodes, store, allow_changed="task")
