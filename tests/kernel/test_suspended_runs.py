"""A handler that leaves an approval open suspends the run; resuming asks it again, and nothing else happens twice."""

from __future__ import annotations

import asyncio
from typing import Any

import bobcat
from bobcat import ApprovalDecision, ApprovalRequest, MemoryStore, run_graph
from bobcat.approvals import Pending
from bobcat.graph import GraphNode
from kernel.scripted import POLICY, Scripted, Tools, call, run, seen

ASKS = """
rules:
  - {id: ask, match: {tool: deploy}, decision: approve_required, approvers: [alice, oncall], reason: RULE}
  - {id: ask-anyone, match: {tool: restart}, decision: approve_required}
"""


class Later:
    """Has no answer until it is given one."""

    def __init__(self) -> None:
        self.answer: object = None
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, req: ApprovalRequest) -> Any:
        self.asked.append(req)
        return Pending("a-1") if self.answer is None else self.answer


def test_an_open_approval_suspends_the_run() -> None:
    store = MemoryStore()
    finished = seen(call("restart", targets=["a"]), on_approval=Later(), store=store, run_id="r")
    assert finished.ran == []
    assert finished.result.status == "suspended"
    assert finished.result.approvals == ("a-1",)
    assert finished.result.error == "suspended: waiting for approval a-1"
    assert finished.result.final_answer is None
    assert finished.kinds[-2:] == ["approval.requested", "run.suspended"]
    assert finished.bodies("run.suspended") == [{"seq": 0, "approvals": ["a-1"]}]
    last = asyncio.run(store.load("r"))[-1]
    assert (last.kind, last.body["step"], list(last.body["approvals"])) == ("run.suspended", 0, ["a-1"])


def _resumed(answer: object, **options: Any) -> tuple[Any, Later, Tools, MemoryStore]:
    store, later, tools = MemoryStore(), Later(), Tools()
    every: dict[str, Any] = {"on_approval": later, "store": store, "run_id": "r", "tools": tools}
    seen(call("restart", targets=["a"]), **every)
    later.answer = answer
    return seen(**{**every, **options}), later, tools, store


def test_a_resumed_run_executes_once_what_was_granted() -> None:
    finished, _, tools, store = _resumed(ApprovalDecision(True, "bob"))
    assert finished.tool_messages == ["[ok] restarted"]
    assert finished.result.status == "succeeded"
    again = seen(on_approval=Later(), store=store, run_id="r", tools=tools)
    assert again.result.final_answer == "done"
    assert tools.ran == [("restart", {"targets": ["a"]})]


def test_a_resumed_run_shows_the_model_what_was_refused() -> None:
    finished, _, tools, _ = _resumed(ApprovalDecision(False, "bob", "not today"))
    assert finished.tool_messages == ["[denied] approval refused by bob — not today"]
    assert tools.ran == []


def test_a_run_that_is_resumed_too_early_is_suspended_again() -> None:
    finished, later, tools, _ = _resumed(None)
    assert finished.result.status == "suspended"
    assert finished.agent.seen == [], "the model has said its part"
    assert tools.ran == []
    first, second = later.asked
    assert (first.run_id, first.round, first.bundle_id) == (second.run_id, second.round, second.bundle_id)


def test_arguments_edited_in_a_late_answer_are_evaluated_again() -> None:
    finished, _, tools, _ = _resumed(ApprovalDecision(True, "bob", args={"targets": ["b"]}))
    assert finished.tool_messages == ["[ok] restarted"]
    assert tools.ran == [("restart", {"targets": ["b"]})]
    finished, _, tools, _ = _resumed(ApprovalDecision(True, "bob", args={"text": "force"}))
    assert tools.ran == []


def test_a_run_without_a_store_cannot_be_suspended() -> None:
    finished = seen(call("restart", targets=["a"]), on_approval=Later())
    assert finished.ran == []
    assert finished.tool_messages == [
        "[denied] the approval is still pending, and a run without a store cannot wait for it"
    ]


def test_a_grant_on_record_does_not_count_under_another_policy() -> None:
    class Breaks(MemoryStore):
        broken = True

        async def append(self, record: Any) -> None:
            if self.broken and record.kind == "action.intent":
                raise OSError("no space left")
            await super().append(record)

    async def main() -> None:
        store, later, tools = Breaks(), Later(), Tools()
        later.answer = ApprovalDecision(True, "alice")
        every: dict[str, Any] = {"on_approval": later, "store": store, "run_id": "r", "tools": tools}
        await run(call("deploy", version="1"), policy=ASKS.replace("RULE", "one"), **every)
        store.broken, later.answer = False, None
        changed = await run(policy=ASKS.replace("RULE", "two"), **every)
        assert changed.result.status == "suspended"
        assert tools.ran == []
        same = await run(policy=ASKS.replace("RULE", "one"), **every)
        assert same.tool_messages == ["[ok] deployed 1"]
        assert len(later.asked) == 2

    asyncio.run(main())


def test_a_step_that_may_have_run_is_a_new_question() -> None:
    """The grant was for one execution; whether that happened is unknown, so the approver is asked again."""

    class Dies(MemoryStore):
        broken = True

        async def append(self, record: Any) -> None:
            if self.broken and record.kind == "action.result":
                raise OSError("no space left")
            await super().append(record)

    async def main() -> None:
        store, later, tools = Dies(), Later(), Tools()
        later.answer = ApprovalDecision(True, "bob")
        every: dict[str, Any] = {"on_approval": later, "store": store, "run_id": "r", "tools": tools}
        await run(call("restart", targets=["a"]), **every)
        assert len(tools.ran) == 1
        store.broken, later.answer = False, None
        assert (await run(**every)).result.status == "suspended"
        assert [request.round for request in later.asked] == [0, 1]
        assert len(tools.ran) == 1

    asyncio.run(main())


def test_a_graph_stops_at_a_suspended_node_and_goes_on_with_it() -> None:
    async def main() -> None:
        store, later, tools, policy = MemoryStore(), Later(), Tools(), bobcat.compile_policy(POLICY)
        agent = Scripted(call("restart", targets=["a"]))
        nodes = {"one": GraphNode(agent, tools.toolset(), policy, on_approval=later)}
        first = await run_graph(nodes, "task", router=lambda _: None, start="one", store=store, run_id="g")
        assert first.error == "suspended: waiting for approval a-1"
        assert first.final is not None
        assert first.final.status == "suspended"
        later.answer = ApprovalDecision(True, "bob")
        second = await run_graph(nodes, "task", router=lambda _: None, start="one", store=store, run_id="g")
        assert second.error is None
        assert second.final is not None
        assert second.final.final_answer == "done"
        assert tools.ran == [("restart", {"targets": ["a"]})]

    asyncio.run(main())
