"""Counts over runs of one principal, session or tenant, in runs, graphs and guards."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    ApprovalDecision,
    CancelToken,
    FinalAnswer,
    GraphNode,
    Guard,
    MemoryStore,
    Policy,
    Principal,
    RunResult,
    SQLiteStore,
    ToolCall,
    ToolSet,
    durable_approvals,
    run_agent,
    run_graph,
    tool,
)
from bobcat.approvals import Approvals
from bobcat.runtime.recorded_step import recorded_step
from kernel.scripted import Scripted
from unit.cli_runner import runner

ANN, BOB = Principal("user", "ann"), Principal("user", "bob")
START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


def counted(by: str, *, cap: int = 2, **options: Any) -> Policy:
    test = {"lt": cap, "by": by, **options}
    return Policy.compile(
        {"rules": [{"id": "pay", "match": {"tool": "pay", "run.count.pay": test}, "decision": "allow"}]}
    )


def pay(amount: int = 1, **more: Any) -> ToolCall:
    return ToolCall("pay", {"amount": amount, **more})


class World:
    """The tools, and what they did."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def tools(self) -> ToolSet:
        paid = self.paid

        @tool(effect="idempotent")
        async def pay(amount: int, to: str = "") -> str:
            paid.append(amount)
            return "paid"

        @pay.shadow
        async def preview(amount: int, to: str = "") -> str:
            return "would pay"

        return ToolSet.from_functions(pay)


async def run(world: World, policy: Policy, *replies: Any, **options: Any) -> tuple[RunResult, list[bool]]:
    """Run the scripted calls; which of them were executed."""
    agent = Scripted(*replies, FinalAnswer("done"))
    result = await run_agent(agent, "go", tools=world.tools(), policy=policy, **options)
    told = [each.content for each in agent.seen[-1] if each.role == "tool"]
    return result, [each.startswith("[ok]") for each in told]


def test_runs_of_a_principal_count_together_and_those_of_others_do_not() -> None:
    async def main() -> list[list[bool]]:
        store, world, policy = MemoryStore(), World(), counted("principal")
        callers = [ANN, BOB, ANN, Principal("service", "ann")]
        return [
            (await run(world, policy, (pay(), pay()) if at == 1 else pay(), pay(), store=store, run_id=f"r{at}",
                       principal=caller))[1]
            for at, caller in enumerate(callers)
        ]  # fmt: skip

    assert asyncio.run(main()) == [[True, True], [True, True, False], [False, False], [True, True]]


@pytest.mark.parametrize("by", ["session", "tenant"])
def test_a_session_or_tenant_is_a_keyword_or_a_fact(by: str) -> None:
    async def main() -> list[list[bool]]:
        store, world, policy = MemoryStore(), World(), counted(by)

        async def facts() -> dict[str, str]:
            return {by: "a"}

        options: list[dict[str, Any]] = [
            {by: "a"},
            {"extra": {by: "a"}},
            {"extra": facts},
            {by: "b"},
            {"extra": {by: 5}},
            {},
        ]
        return [
            (await run(world, policy, pay(), store=store, run_id=f"r{at}", **each))[1]
            for at, each in enumerate(options)
        ]

    assert asyncio.run(main()) == [[True], [True], [False], [True], [False], [False]]


def test_without_a_store_or_a_name_nothing_is_permitted() -> None:
    async def main() -> None:
        world = World()
        for by in ("principal", "session", "tenant"):
            assert (await run(world, counted(by), pay(), principal=ANN, session="s", tenant="t"))[1] == [False]
            async with Guard(counted(by), world.tools(), principal=ANN, session="s", tenant="t") as guard:
                outcome = await guard.submit("pay", {"amount": 1})
                assert outcome.status == "denied"
                assert outcome.matched_rules == ("<rule_error:pay:no_state>",) or "no_state" in str(
                    outcome.matched_rules
                )
        nobody = Principal("user", "")
        assert (await run(world, counted("principal"), pay(), principal=nobody, store=MemoryStore(), run_id="r"))[
            1
        ] == [False]
        assert world.paid == []

    asyncio.run(main())


def test_a_guard_counts_for_the_principal_and_the_facts_of_each_submission() -> None:
    async def main() -> list[str]:
        store, world = MemoryStore(), World()
        policy = Policy.compile("""
rules:
  - id: pay
    match: {tool: pay, run.count.pay: {lt: 2, by: principal}, run.sum.pay.amount: {by: tenant, with_this: {le: 10}}}
    decision: allow
""")
        async with Guard(policy, world.tools(), store=store) as guard:
            calls: list[tuple[int, Principal, str]] = [
                (4, ANN, "a"), (4, ANN, "a"), (1, ANN, "b"), (4, BOB, "a"), (2, BOB, "a"), (9, BOB, "b"), (1, BOB, "b")
            ]  # fmt: skip
            return [
                (await guard.submit("pay", {"amount": amount}, principal=who, extra={"tenant": tenant})).status
                for amount, who, tenant in calls
            ]

    assert asyncio.run(main()) == ["ok", "ok", "denied", "denied", "ok", "ok", "denied"]


def test_runs_and_guards_count_together_at_the_same_time() -> None:
    async def main() -> int:
        store, world, policy = MemoryStore(), World(), counted("principal", cap=7)
        async with Guard(policy, world.tools(), store=store, principal=ANN) as guard:
            await asyncio.gather(
                *(guard.submit("pay", {"amount": at}) for at in range(6)),
                *(
                    run(world, policy, (pay(), pay()), pay(), store=store, run_id=f"r{at}", principal=ANN)
                    for at in range(6)
                ),
            )
        return len(world.paid)

    assert asyncio.run(main()) == 7


def test_what_is_denied_refused_previewed_or_cancelled_does_not_count() -> None:
    policy = Policy.compile("""
rules:
  - {id: ask, match: {tool: pay, args.to: ask, run.count.pay: {lt: 1, by: principal}}, decision: approve_required}
  - {id: no, match: {tool: pay, args.to: nowhere}, decision: deny}
  - {id: dry, match: {tool: pay, args.to: dry}, decision: dry_run}
  - {id: pay, match: {tool: pay, run.count.pay: {lt: 1, by: principal}}, decision: allow}
""")

    async def refuse(_: object) -> ApprovalDecision:
        return ApprovalDecision(False, "alice", "no")

    async def main() -> tuple[list[list[bool]], list[int]]:
        store, world = MemoryStore(), World()
        found = []
        scripts: list[tuple[Any, dict[str, Any]]] = [
            (pay(1, to="ask"), {"on_approval": refuse}), (pay(2, to="nowhere"), {}), (pay(3, to="dry"), {}),
            (pay(4), {}), (pay(5), {}),
        ]  # fmt: skip
        token = CancelToken()

        async def cancel(_: object) -> ApprovalDecision:
            token.cancel("enough")
            await asyncio.sleep(60)
            raise AssertionError

        agent = Scripted(pay(9, to="ask"))
        ended = await run_agent(agent, "go", tools=world.tools(), policy=policy, store=store, run_id="c",
                                principal=ANN, on_approval=cancel, cancel=token)  # fmt: skip
        assert ended.outcome == "cancelled"
        for at, (call, options) in enumerate(scripts):
            found.append((await run(world, policy, call, store=store, run_id=f"r{at}", principal=ANN, **options))[1])
        return found, world.paid

    found, paid = asyncio.run(main())
    assert found == [[False], [False], [False], [True], [False]]
    assert paid == [4]


def test_a_call_that_waits_for_an_approval_counts_and_is_decided_again_without_itself() -> None:
    policy = Policy.compile(
        "rules: [{id: ask, match: {tool: pay, run.count.pay: {lt: 1, by: principal}}, decision: approve_required}]"
    )

    async def main() -> None:
        store, world = MemoryStore(), World()
        options: Any = {"store": store, "principal": ANN, "on_approval": durable_approvals(store), "owner": "w"}
        first = await run_agent(Scripted(pay(1)), "go", tools=world.tools(), policy=policy, run_id="a", **options)
        assert first.outcome == "suspended"
        second = await run_agent(Scripted(pay(2)), "go", tools=world.tools(), policy=policy, run_id="b", **options)
        assert second.outcome == "succeeded", "the second is denied, as one waits"
        await Approvals(store).grant(first.approvals[0], approver="alice")
        agent = Scripted(FinalAnswer("done"))
        again = await run_agent(agent, "go", tools=world.tools(), policy=policy, run_id="a", **options)
        assert again.error is None
        assert world.paid == [1]

    asyncio.run(main())


def test_a_window_ends() -> None:
    now = START

    async def main() -> list[list[bool]]:
        nonlocal now
        store, world, found = MemoryStore(), World(), []
        for at, minutes in enumerate([0, 10, 50, 15, 30]):
            now += timedelta(minutes=minutes)
            options: dict[str, Any] = {"store": store, "run_id": f"r{at}", "tenant": "t"}
            options["clock"] = partial(START.replace, hour=now.hour, minute=now.minute)
            found.append((await run(world, counted("tenant", within="1h"), pay(), **options))[1])
        return found

    assert asyncio.run(main()) == [[True], [True], [False], [True], [True]]


def test_a_call_that_cannot_be_counted_is_an_error_while_it_is_in_the_window() -> None:
    policy = Policy.compile("""
rules:
  - {id: free, match: {tool: pay, args.to: free}, decision: allow}
  - {id: pay, match: {tool: pay, run.sum.pay.fee: {lt: 5, by: principal, within: 1h}}, decision: allow}
""")
    now = START

    @tool(name="pay")
    async def charge(to: str = "", fee: Any = 0.1) -> str:
        return "paid"

    async def main() -> list[str]:
        nonlocal now
        found = []
        async with Guard(policy, [charge], store=MemoryStore(), principal=ANN, clock=lambda: now) as guard:
            calls: list[tuple[int, dict[str, Any]]] = [
                (0, {"fee": 0.2}),
                (1, {"to": "free", "fee": "x"}),
                (1, {}),
                (61, {}),
            ]
            for minutes, args in calls:
                now += timedelta(minutes=minutes)
                outcome = await guard.submit("pay", args)
                found.append(outcome.status if outcome.ok else outcome.matched_rules[0])
        return found

    assert asyncio.run(main()) == ["ok", "ok", "<rule_error:pay:bad_state>", "ok"]


def test_nodes_of_a_graph_count_together() -> None:
    async def main() -> list[int]:
        world, policy = World(), counted("session")
        nodes = {
            name: GraphNode(Scripted(pay(at), pay(at + 10), FinalAnswer("x")), world.tools(), policy)
            for at, name in enumerate(("first", "second"))
        }
        await run_graph(
            nodes, "go", start="first", store=MemoryStore(), run_id="g", session="s",
            router=lambda outcome: "second" if outcome.node == "first" else None,
        )  # fmt: skip
        return world.paid

    assert asyncio.run(main()) == [0, 10]


def test_a_store_that_fails_permits_nothing() -> None:
    class Broken(MemoryStore):
        broken = True

        async def append(self, record: Any) -> None:
            if self.broken and record.run_id.startswith("scope:"):
                raise OSError("no space left")
            await super().append(record)

    async def main() -> None:
        store, world = Broken(), World()
        _, found = await run(world, counted("principal"), pay(), store=store, run_id="r", principal=ANN)
        assert found == [False]
        assert world.paid == []

    asyncio.run(main())


def test_a_step_is_explained_with_the_counts_that_it_was_decided_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bobcat = runner(capsys, monkeypatch)
    url, text = f"sqlite:///{tmp_path / 'runs.db'}", tmp_path / "policy.yaml"
    text.write_text(
        "rules:\n"
        "  - {id: p, match: {tool: pay, run.sum.pay.amount: {by: principal, with_this: {le: 100}}}, decision: allow}\n"
    )

    async def main() -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        try:
            for name in ("a", "b"):
                await run(World(), Policy.compile(text), pay(60), pay(40), store=store, run_id=name, principal=ANN)
            records = await store.load("b")
            step = recorded_step(records, Policy.compile(text), 0)
            assert step.state is not None
            assert 160 in step.state.values(step.request).values()
            other = recorded_step(records, counted("principal"), 0)
            assert other.state is not None
            assert {"error": "no_state"} in other.state.values(other.request).values()
        finally:
            await store.aclose()

    asyncio.run(main())
    found = {}
    for name in ("a", "b"):
        for step in ("0", "1"):
            shown = bobcat("explain", str(text), "--store", url, "--run", name, "--step", step, "--format", "json")
            assert shown.code == 0, shown
            found[name, step] = shown.json()["decision"]["verdict"]
    assert found == {("a", "0"): "allow", ("a", "1"): "allow", ("b", "0"): "deny", ("b", "1"): "deny"}


def test_an_approver_sees_the_counts_of_the_scope() -> None:
    policy = Policy.compile("""
rules:
  - {id: pay, match: {tool: pay, run.count.pay: {lt: 1, by: principal}}, decision: allow}
  - {id: ask, match: {tool: pay}, decision: approve_required}
""")
    notes: list[tuple[str, ...]] = []

    async def answer(question: Any) -> ApprovalDecision:
        notes.append(question.notes)
        return ApprovalDecision(True, "alice")

    async def main() -> None:
        store = MemoryStore()
        for at in range(2):
            await run(World(), policy, pay(), store=store, run_id=f"r{at}", principal=ANN, on_approval=answer)

    asyncio.run(main())
    assert notes == [("run.count.pay by principal: 1",)]
