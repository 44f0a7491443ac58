"""Approvals of an action that may have happened already: another question, and no answer without a person."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import (
    Allowlist,
    ApprovalDecision,
    ApprovalRequest,
    Approvals,
    ConfirmationGate,
    StoredConfirmationGate,
    Unknown,
    all_approve,
    auto_approve,
    auto_deny,
    durable_approvals,
)
from bobcat.errors import ApprovalError
from kernel.test_uncertain_outcomes import MAY, PLAIN, Shop

ASK = "rules: [{id: ask, match: {tool: pay}, decision: approve_required, approvers: [alice]}]"
ONLY_A_PERSON = "an earlier attempt may have taken effect, and only a person who is asked now can grant another"


class Person:
    """Grants, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, req: ApprovalRequest, /) -> ApprovalDecision:
        self.asked.append(req)
        return ApprovalDecision(True, "alice")


def uncertain(policy: str = ASK, effect: Any = "unsafe", **options: Any) -> Shop:
    """A shop whose first attempt was granted, and died in the middle of it."""
    return Shop(effect, **options).died(policy=policy, on_approval=auto_approve("alice"))


@pytest.mark.parametrize("policy", [PLAIN, ASK])
def test_every_question_about_an_action_that_may_happen_twice_says_so(policy: str) -> None:
    shop, person = uncertain(policy), Person()
    shop.run(policy=policy, on_approval=person)
    assert [req.uncertain for req in person.asked] == [True]
    assert shop.began == 2


@pytest.mark.parametrize("effect", ["keyed", "idempotent", "none"])
def test_where_running_again_is_no_second_action_the_question_is_an_ordinary_one(effect: str) -> None:
    shop, person = uncertain(ASK, effect), Person()
    shop.run(policy=ASK, on_approval=person)
    assert [req.uncertain for req in person.asked] == [False]
    again = uncertain(ASK, effect)
    again.run(policy=ASK, on_approval=auto_approve("alice"))
    assert (shop.began, again.began) == (2, 2)


def test_a_first_question_and_one_that_a_reconciler_settled_are_not_uncertain() -> None:
    person = Person()
    shop = Shop().died(policy=ASK, on_approval=person)
    assert [req.uncertain for req in person.asked] == [False]
    from bobcat import NotHappened

    settled = Shop(answer=NotHappened()).died(policy=ASK, on_approval=person)
    settled.run(policy=ASK, on_approval=person)
    assert [req.uncertain for req in person.asked] == [False, False, False]
    unknown = Shop(answer=Unknown("the bank is closed")).died(policy=ASK, on_approval=person)
    unknown.run(policy=ASK, on_approval=person)
    assert [req.uncertain for req in person.asked[3:]] == [False, True]
    assert shop.began == 1


@pytest.mark.parametrize("policy", [PLAIN, ASK])
@pytest.mark.parametrize("name", ["auto_approve", "allowlist", "gate", "stored gate", "all of them"])
def test_no_handler_without_a_person_has_an_action_run_twice(policy: str, name: str) -> None:
    shop = uncertain(policy)
    stored, gate = StoredConfirmationGate(shop.store), ConfirmationGate()
    for _ in range(3):
        gate.grant("pay", approver="alice")
        asyncio.run(stored.grant("pay", approver="alice"))
    allowlist = Allowlist(["pay"], approver="alice")
    handler: Any = {
        "auto_approve": auto_approve("alice"),
        "allowlist": allowlist,
        "gate": gate,
        "stored gate": stored,
        "all of them": all_approve(allowlist, gate),
    }[name]
    shop.run(policy=policy, on_approval=handler)
    assert shop.began == 1
    assert shop.reported[0].startswith("[denied] approval refused by ")
    assert shop.reported[0].endswith(f" — {ONLY_A_PERSON}{MAY}")
    assert gate.consume("pay", approvers=["alice"]) is not None, "the grant is still there"


@pytest.mark.parametrize("make", [lambda other: Allowlist(["pay"], otherwise=other), ConfirmationGate])
def test_a_handler_without_a_person_asks_its_other_one(make: Any) -> None:
    shop, person = uncertain(), Person()
    handler = ConfirmationGate(otherwise=person) if make is ConfirmationGate else make(person)
    if isinstance(handler, ConfirmationGate):
        handler.grant("pay", approver="alice")
    shop.run(policy=ASK, on_approval=handler)
    assert ([req.uncertain for req in person.asked], shop.began) == ([True], 2)


def test_a_sandbox_may_have_everything_run_again() -> None:
    shop = uncertain()
    shop.run(policy=ASK, on_approval=auto_approve("alice", uncertain=True))
    assert shop.began == 2


def test_a_grant_of_the_first_attempt_is_not_the_answer_about_the_second() -> None:
    """The rule itself asks: the question after the death is another one, and is granted with another word."""
    shop = Shop()
    desk = Approvals(shop.store)
    handler = durable_approvals(shop.store)
    first = shop.run(policy=ASK, on_approval=handler).approvals[0]
    asyncio.run(desk.grant(first, approver="alice"))
    shop.died(policy=ASK, on_approval=handler)
    for _ in range(2):
        (second,) = shop.run(policy=ASK, on_approval=handler).approvals
    assert (second != first, shop.began) == (True, 1)
    asked = asyncio.run(desk.show(second))
    assert asked.uncertain
    assert asked.digest != asyncio.run(desk.show(first)).digest
    with pytest.raises(ApprovalError, match="make it happen twice") as refused:
        asyncio.run(desk.grant(second, approver="alice"))
    assert refused.value.code == "uncertain"
    assert shop.run(policy=ASK, on_approval=handler).status == "suspended"
    asyncio.run(desk.grant(second, approver="alice", uncertain=True))
    assert shop.run(policy=ASK, on_approval=handler).status == "succeeded"
    assert shop.began == 2


def test_a_plain_question_cannot_be_granted_as_an_uncertain_one() -> None:
    shop = Shop()
    desk = Approvals(shop.store)
    (id,) = shop.run(policy=ASK, on_approval=durable_approvals(shop.store)).approvals
    with pytest.raises(ApprovalError) as refused:
        asyncio.run(desk.grant(id, approver="alice", uncertain=True))
    assert refused.value.code == "not_uncertain"


def test_the_journal_marks_the_grant_of_an_uncertain_action() -> None:
    shop = uncertain()
    shop.run(policy=ASK, on_approval=Person())
    assert [body.get("uncertain") for body in shop.records("approval.granted")] == [None, True]
    assert shop.bodies("approval.requested")[0]["uncertain"] is True
    assert shop.run(policy=ASK, on_approval=auto_deny("no")).final_answer == "over"
