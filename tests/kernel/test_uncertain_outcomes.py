"""Actions that may have run: questions, repetitions, approvals, and messages to the model."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

import bobcat
from bobcat import (
    AuditEvent,
    CancelToken,
    FinalAnswer,
    Happened,
    MemoryStore,
    NotHappened,
    Reconciled,
    RunResult,
    ToolCall,
    ToolSet,
    Unknown,
    auto_approve,
    tool,
)
from kernel.scripted import Scripted

PLAIN = "rules: [{id: pay, match: {tool: pay}, decision: allow}]"
ABOUT = """
rules:
  - {id: again, match: {tool: pay, context.extra.uncertain_retry: true}, decision: DECISION, priority: 1}
  - {id: pay, match: {tool: pay}, decision: allow}
"""
MAY = "; an earlier attempt of this action may have taken effect"


NO_HANDLER = "approval refused by system — no on_approval handler configured"


class Power(BaseException):
    """The process is gone."""


class Shop:
    """Pays, and crashes in the middle as often as configured: the outcome is unknown afterwards."""

    def __init__(self, effect: Any = "unsafe", *, answer: Any = None, deaths: int = 1) -> None:
        self.store = MemoryStore()
        self.deaths = deaths
        self.began = 0
        self.asked: list[tuple[str, Any]] = []
        self.events: list[AuditEvent] = []

        async def body() -> str:
            self.began += 1
            if self.began <= self.deaths:
                raise Power
            return "paid"

        if effect == "keyed":

            @tool(effect="keyed", name="pay")
            async def pay(amount: int, idempotency_key: str) -> str:
                return await body()

        elif effect == "fenced":

            @tool(effect="fenced", name="pay")
            async def pay(amount: int, fence: int) -> str:
                return await body()

        else:

            @tool(effect=effect, name="pay")
            async def pay(amount: int) -> str:
                return await body()

        if answer is not None:

            @pay.reconcile  # type: ignore[attr-defined]
            async def did_pay(key: str, args: Any) -> Any:
                self.asked.append((key, dict(args)))
                if isinstance(answer, BaseException):
                    raise answer
                return answer

        self.tools = ToolSet.from_functions(pay)

    def run(self, *, policy: str = PLAIN, **options: Any) -> RunResult:
        self.agent = Scripted(ToolCall("pay", {"amount": 3}), FinalAnswer("over"))
        self.events = []

        async def sink(event: AuditEvent) -> None:
            self.events.append(event)

        if any(record.kind == "model.output" for record in asyncio.run(self.store.load("r"))):
            self.agent.replies.pop(0)
        return asyncio.run(
            bobcat.run_agent(
                self.agent, "task", tools=options.pop("tools", self.tools), policy=bobcat.compile_policy(policy),
                store=self.store, run_id="r", owner="worker", sinks=[sink], **options,
            )
        )  # fmt: skip

    def died(self, **options: Any) -> Shop:
        with pytest.raises(Power):
            self.run(**options)
        return self

    @property
    def reported(self) -> list[str]:
        return [message.content for message in self.agent.seen[-1] if message.role == "tool"]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.body) for event in self.events if event.kind == kind]

    def records(self, kind: str) -> list[dict[str, Any]]:
        found = asyncio.run(self.store.load("r"))
        return [{k: v for k, v in record.body.items() if k != "chain"} for record in found if record.kind == kind]


def test_an_uncertain_unsafe_action_is_not_run_again_by_a_rule_without_a_clause_on_uncertainty() -> None:
    shop = Shop().died()
    assert shop.run().final_answer == "over"
    assert shop.began == 1
    assert shop.reported == [f"[denied] {NO_HANDLER}{MAY}"]
    (decided,) = shop.bodies("policy.evaluated")
    assert (decided["verdict"], decided["matched_rules"]) == ("approve_required", ["pay", "<default:on_uncertain>"])
    assert decided["reason"] == "an earlier attempt may have taken effect, and running the tool again is not safe"
    assert shop.records("action.result")[0]["uncertain_retry"] is True


def test_an_informed_approver_may_have_it_run_again() -> None:
    shop = Shop().died()
    asked: list[Any] = []

    async def approve(request: Any) -> bobcat.ApprovalDecision:
        asked.append(dict(request.request.context.extra))
        return bobcat.ApprovalDecision(True, "alice")

    shop.run(on_approval=approve)
    assert (shop.began, shop.reported, asked) == (2, ["[ok] paid"], [{"uncertain_retry": True}])


@pytest.mark.parametrize(
    ("decision", "began", "reported"),
    [
        ("allow", 2, "[ok] paid"),
        ("deny", 1, f"[denied] Policy denied this action{MAY}"),
        (
            "approve_required",
            1,
            f"[denied] approval refused by system — no on_approval handler configured{MAY}",
        ),
    ],
)
def test_a_rule_about_uncertain_effects_decides_it(decision: str, began: int, reported: str) -> None:
    shop = Shop().died()
    shop.run(policy=ABOUT.replace("DECISION", decision))
    assert (shop.began, shop.reported) == (began, [reported])
    assert "<default:on_uncertain>" not in shop.bodies("policy.evaluated")[0]["matched_rules"]


def test_a_transform_without_a_clause_on_uncertainty_asks_as_well() -> None:
    policy = """
rules: [{id: pay, match: {tool: pay}, decision: transform, transform: {jsonpath: $.args.amount, set: 4}}]
"""
    shop = Shop().died(policy=policy)
    shop.run(policy=policy)
    assert shop.began == 1
    shop = Shop().died(policy=policy)
    shop.run(policy=policy, on_approval=auto_approve("alice", uncertain=True))
    assert shop.began == 2
    assert shop.records("action.intent")[-1]["args"] == {"amount": 4}


@pytest.mark.parametrize("effect", ["none", "idempotent", "keyed", "fenced"])
def test_an_effect_that_can_be_repeated_is(effect: Any) -> None:
    shop = Shop(effect).died()
    shop.run()
    assert (shop.began, shop.reported) == (2, ["[ok] paid"])
    keys = {record.idempotency_key for record in asyncio.run(shop.store.load("r")) if record.kind == "action.intent"}
    assert len(keys) == 1
    assert shop.bodies("action.uncertain")[0]["intent_key"] in keys


@pytest.mark.parametrize("effect", ["idempotent", "keyed"])
def test_a_rule_can_forbid_even_that(effect: Any) -> None:
    shop = Shop(effect).died()
    shop.run(policy=ABOUT.replace("DECISION", "deny"))
    assert shop.began == 1


def test_a_tool_whose_effect_changed_since_is_unsafe() -> None:
    shop = Shop("unsafe").died()
    later = Shop("idempotent")
    assert str(shop.run(tools=later.tools).error).startswith(
        "journal refused: the run was begun with other tools: `pay`"
    )
    shop.run(tools=later.tools, allow_changed=("tools",))
    assert (shop.began, later.began) == (1, 0)


@pytest.mark.parametrize(
    ("effect", "again"), [("idempotent", True), ("none", True), ("keyed", False), ("fenced", False)]
)
def test_of_an_intent_that_names_no_effect_only_what_is_harmless_by_itself_is_run_again(
    effect: Any, again: bool
) -> None:
    """As in a journal of an older release, whose tools got neither a key nor a fence."""
    shop = Shop(effect).died()
    records = shop.store._runs["r"]
    shop.store._runs["r"] = {
        seq: dataclasses.replace(
            record, body={name: value for name, value in record.body.items() if name not in ("chain", "effect")}
        )
        for seq, record in records.items()
    }
    asyncio.run(shop.store.set_status("r", "running"))
    shop.run()
    assert shop.began == (2 if again else 1)


@pytest.mark.parametrize("answer", [Happened("paid, says the bank"), Reconciled.happened("paid, says the bank")])
def test_what_happened_is_not_run_again_and_its_value_is_the_result(answer: Reconciled) -> None:
    shop = Shop(answer=answer).died()
    shop.run()
    assert (shop.began, shop.reported) == (1, ["[ok] paid, says the bank"])
    intent = next(record for record in asyncio.run(shop.store.load("r")) if record.kind == "action.intent")
    assert shop.asked == [(intent.idempotency_key, {"amount": 3})]
    (result,) = shop.records("action.result")
    assert (result["ok"], result["reconciled"], "uncertain_retry" in result) == (True, True, False)
    assert [body["outcome"] for body in shop.bodies("action.reconciled")] == ["happened"]
    assert shop.bodies("policy.evaluated") == []


@pytest.mark.parametrize("answer", [NotHappened(), Reconciled.not_happened()])
def test_what_did_not_happen_is_evaluated_and_run_as_if_for_the_first_time(answer: Reconciled) -> None:
    shop = Shop(answer=answer).died()
    shop.run()
    assert (shop.began, shop.reported) == (2, ["[ok] paid"])
    assert shop.bodies("policy.evaluated")[0]["matched_rules"] == ["pay"]
    (abandoned,) = shop.records("action.abandoned")
    assert (abandoned["intents"], abandoned["reason"]) == ([2], "the reconciler says that it did not happen")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Unknown("no route to the bank"), "no route to the bank"),
        (Reconciled.unknown("no route to the bank"), "no route to the bank"),
        (ValueError("no"), "reconcile raised ValueError: no"),
        (SystemExit(3), "reconcile raised SystemExit: 3"),
        (asyncio.CancelledError("by hand"), "reconcile raised CancelledError: by hand"),
        (True, "reconcile returned bool, not a Reconciled"),
    ],
)
def test_an_undecided_reconciler_leaves_the_outcome_to_the_effect(answer: Any, reason: str) -> None:
    shop = Shop(answer=answer).died()
    shop.run()
    assert shop.began == 1
    assert shop.reported[0].endswith(MAY)
    (body,) = shop.bodies("action.reconciled")
    assert (body["outcome"], body["reason"]) == ("unknown", reason)


@pytest.mark.parametrize("deaths", [1, 2, 3])
# lynx-agent defect 61
def test_an_uncertain_outcome_stays_over_any_number_of_crashes(deaths: int) -> None:
    """Every attempt but the last dies in the tool, or right behind the intent that its approval allowed."""
    shop = Shop(deaths=deaths)
    for _ in range(deaths):
        shop.died(on_approval=auto_approve("alice", uncertain=True))
    shop.run()
    assert shop.began == deaths
    assert shop.reported[0].endswith(MAY)
    assert len(shop.records("action.intent")) == deaths


@pytest.mark.parametrize("again", [1, 2])
# lynx-agent defect 61
def test_a_refusal_whose_attempt_dies_before_its_result_resolves_nothing(again: int) -> None:
    """The refusal has its intent on record, which must not stand for the one that may have run."""
    shop = Shop().died()
    deny = ABOUT.replace("DECISION", "deny")
    write = shop.store.append

    async def dying(record: Any) -> None:
        if record.kind == "action.result":
            raise Power
        await write(record)

    shop.store.append = dying  # type: ignore[method-assign]
    for _ in range(again):
        shop.died(policy=deny)
    shop.store.append = write  # type: ignore[method-assign]
    intents = [intent["verdict"] for intent in shop.records("action.intent")]
    assert intents == ["allow", *["deny"] * again]
    assert len(shop.records("run.resumed")) == again
    shop.run(policy=deny)
    assert shop.began == 1
    assert shop.reported[0].endswith(MAY)


# lynx-agent defect 49
def test_a_run_stopped_between_intent_and_action_leaves_no_uncertain_outcome() -> None:
    token = CancelToken()

    class Throwing(MemoryStore):
        async def append(self, record: Any) -> None:
            await super().append(record)
            if record.kind == "action.intent":
                token.cancel("stop")

    shop = Shop(deaths=0)
    shop.store = Throwing()
    assert shop.run(cancel=token).error == "cancelled: stop"
    assert shop.began == 0
    (abandoned,) = shop.records("action.abandoned")
    assert (abandoned["intents"], abandoned["reason"]) == ([2], "the run was stopped before the action began")
    shop.run()
    assert (shop.began, shop.reported, shop.bodies("action.uncertain")) == (1, ["[ok] paid"], [])


def test_an_attempt_stopped_in_time_resolves_no_earlier_uncertain_outcome() -> None:
    token = CancelToken()
    shop = Shop().died()
    write = shop.store.append

    async def throwing(record: Any) -> None:
        await write(record)
        if record.kind == "action.intent":
            token.cancel("stop")

    shop.store.append = throwing  # type: ignore[method-assign]
    assert shop.run(cancel=token, on_approval=auto_approve("alice", uncertain=True)).error == "cancelled: stop"
    assert shop.records("action.abandoned")[0]["intents"] == [6]
    shop.run()
    assert shop.began == 1
    assert shop.reported[0].endswith(MAY)


# lynx-agent defect 64
def test_the_key_of_an_action_is_its_own() -> None:
    from bobcat.journal.keys import action_key_of, idempotency_key

    assert idempotency_key("r", 1, "2|x", {}) == idempotency_key("r|1", 2, "x", {})
    assert action_key_of("r", 1, "2|x", {}) != action_key_of("r|1", 2, "x", {})
    assert action_key_of("r", 1, "x", {}) == idempotency_key("r", 1, "x", {})


# lynx-agent defect 67
def test_a_call_of_an_unknown_tool_has_its_result_on_record() -> None:
    shop = Shop(deaths=0)
    shop.tools = ToolSet()
    shop.run()
    (result,) = shop.records("action.result")
    assert (result["ok"], result["message"]) == (False, "[error] unknown tool: 'pay'")
    view = bobcat.replay(asyncio.run(shop.store.load("r")))
    assert [step.ok for step in view.steps] == [False, True]
