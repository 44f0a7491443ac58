"""Values that a run supplies to a tool beside its arguments, and the store that the tool's effect requires."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import bobcat
from bobcat import ActionResult, MemoryStore, ToolCall, ToolSet, inline_executor, tool
from bobcat.runtime.mediator import mediate
from kernel.scripted import Scripted
from lynx_defects import call, decide

ALLOW = "rules: [{id: r, match: {}, decision: allow}]"


def run(tools: ToolSet, *replies: object, policy: str = ALLOW, **options: Any) -> bobcat.RunResult:
    """A run of these replies under a policy that allows everything."""
    bundle = bobcat.compile_policy(policy)
    return asyncio.run(bobcat.run_agent(Scripted(*replies), "task", tools=tools, policy=bundle, **options))


class Bank:
    """A keyed tool, and what it was called with."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str]] = []

        @tool(effect="keyed")
        async def pay(amount: int, idempotency_key: str) -> str:
            self.paid.append((amount, idempotency_key))
            return "paid"

        self.tools = ToolSet.from_functions(pay)


@pytest.mark.parametrize("executor", [None, inline_executor()])
def test_a_keyed_tool_gets_the_key_of_its_action(executor: Any) -> None:
    bank, store = Bank(), MemoryStore()
    run(bank.tools, ToolCall("pay", {"amount": 3}), store=store, run_id="r", executor=executor)
    records = asyncio.run(store.load("r"))
    intent = next(record for record in records if record.kind == "action.intent")
    assert bank.paid == [(3, intent.idempotency_key)]


def test_without_a_journal_every_action_has_a_key_of_its_own() -> None:
    bank = Bank()
    for _ in range(2):
        run(bank.tools, ToolCall("pay", {"amount": 3}), ToolCall("pay", {"amount": 3}))
    assert len({key for _, key in bank.paid}) == 4
    assert all(len(key) == 32 for _, key in bank.paid)


def test_neither_the_model_nor_an_approver_nor_the_policy_sets_the_key() -> None:
    bank = Bank()
    call_with_key = ToolCall("pay", {"amount": 3, "idempotency_key": "mine"})
    run(bank.tools, call_with_key)

    async def editing(request: Any) -> bobcat.ApprovalDecision:
        return bobcat.ApprovalDecision(True, "a", args={"amount": 3, "idempotency_key": "mine"})

    asking = "rules: [{id: r, match: {}, decision: approve_required}]"
    run(bank.tools, ToolCall("pay", {"amount": 3}), policy=asking, on_approval=editing)
    to_mine = "{jsonpath: $.args.idempotency_key, set: mine}"
    setting = f"rules: [{{id: r, match: {{tool: pay}}, decision: transform, transform: {to_mine}}}]"
    run(bank.tools, ToolCall("pay", {"amount": 3}), policy=setting)
    assert bank.paid == []


@pytest.mark.parametrize("effect, offer", [("fenced", "leases"), ("transactional", "transactions")])
@pytest.mark.parametrize("journaled", [True, False])
def test_an_effect_that_the_store_cannot_give_is_refused_before_anything_runs(
    effect: Any, offer: str, journaled: bool
) -> None:
    @tool(effect=effect)
    async def act(fence: int, transaction: object) -> None:
        raise AssertionError("it must not run")

    class Plain:
        """A store of two methods."""

        append = MemoryStore.append
        load = MemoryStore.load

    options: dict[str, Any] = {"store": Plain(), "run_id": "r"} if journaled else {}
    with pytest.raises(ValueError, match=f"tool 'act' is {effect}: it needs a store with {offer}"):
        run(ToolSet.from_functions(act), ToolCall("act", {}), **options)


def test_a_keyed_tool_does_not_run_outside_a_run() -> None:
    bank = Bank()
    request = call("pay", {"amount": 1})

    async def never_called(request: Any) -> Any:
        raise AssertionError("an approver was asked")

    result: ActionResult = asyncio.run(mediate(request, decide(ALLOW, request), bank.tools, never_called))
    assert (result.ok, result.error) == (False, "tool 'pay' is keyed: it runs in `run_agent` only")


def test_a_policy_sees_the_effect() -> None:
    bank = Bank()
    policy = "rules: [{id: r, match: {declared.effect: keyed}, decision: deny}, {id: s, match: {}, decision: allow}]"
    run(bank.tools, ToolCall("pay", {"amount": 3}), policy=policy)
    assert bank.paid == []


def test_a_shadow_takes_what_it_names() -> None:
    seen: list[Mapping[str, Any]] = []

    @tool(effect="keyed")
    async def pay(amount: int, idempotency_key: str) -> None:
        raise AssertionError("it must not run")

    @pay.shadow  # type: ignore[attr-defined]
    async def preview(amount: int) -> str:
        seen.append({"amount": amount})
        return "would pay"

    result = run(
        ToolSet.from_functions(pay),
        ToolCall("pay", {"amount": 1}),
        policy="rules: [{id: r, match: {}, decision: dry_run}]",
    )
    assert (result.error, seen) == (None, [{"amount": 1}])
