"""Proposed rules: granted within an envelope and for a time, else a question to an approver."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bobcat import Approvals, MemoryStore, Policy, Request, SQLiteStore
from bobcat.proposals import Proposal, extended, granted, propose, recorded, revoke

POLICY = "rules: [{id: small, match: {tool: pay, args.amount.le: 100}, decision: allow}]"
MAX = "rules: [{id: max, match: {tool: pay, args.amount.le: 500}, decision: allow}]"
WITHIN = "rules: [{id: more, match: {tool: pay, args.amount.le: 200}, decision: allow}]"
BEYOND = "rules: [{id: much, match: {tool: pay, args.amount.le: 900}, decision: allow}]"
NARROWER = "rules: [{id: no, match: {tool: pay, args.amount.gt: 50}, decision: deny, priority: 5}]"


def in_store(path: Path, work: Callable[[SQLiteStore], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with aclosing(SQLiteStore(str(path / "s.db"))) as store:
            return await work(store)

    return asyncio.run(main())


def proposed(path: Path, rule: str, **given: Any) -> Proposal:
    given = {"envelope": MAX, "by": "agent-7", "seconds": 3600, **given}
    found = in_store(path, lambda store: propose(store, POLICY, rule, **given))
    assert isinstance(found, Proposal)
    return found


def test_a_rule_within_the_envelope_is_granted_for_a_time(tmp_path: Path) -> None:
    found = proposed(tmp_path, WITHIN)
    assert (found.status, found.granted_by) == ("granted", "envelope")
    assert found.expires == found.created + timedelta(hours=1)
    assert "permits more:" in found.opens
    assert proposed(tmp_path, WITHIN) == found


def test_a_granted_rule_ends_in_the_policy_itself(tmp_path: Path) -> None:
    policy = Policy.compile(POLICY)
    found = proposed(tmp_path, WITHIN)
    wider = extended(policy, in_store(tmp_path, lambda store: granted(store, policy)))
    assert found.expires is not None
    before, after = (
        Request("pay", {"amount": 150}, timestamp=found.expires + timedelta(seconds=seconds)) for seconds in (-1, 0)
    )
    assert wider.evaluate(before).verdict.value == "allow"
    assert wider.evaluate(after).verdict.value != "allow"
    assert policy.evaluate(before).verdict.value != "allow"


def test_a_rule_that_permits_no_call_more_needs_no_envelope(tmp_path: Path) -> None:
    found = proposed(tmp_path, NARROWER, envelope="rules: []")
    assert (found.status, found.granted_by) == ("granted", "narrower")


def test_a_rule_beyond_the_envelope_is_a_question_with_the_calls_that_it_opens(tmp_path: Path) -> None:
    found = proposed(tmp_path, BEYOND, approvers=("alice",))
    assert found.status == "pending"
    (approval,) = in_store(tmp_path, lambda store: Approvals(store).list())
    assert approval.id == found.approval
    assert approval.approvers == ("alice",)
    assert any("call  pay" in note for note in approval.notes)
    amounts = [int(note.split('"amount": ')[1].split("}")[0]) for note in approval.notes if '"amount": ' in note]
    assert amounts
    assert all(500 < amount <= 900 for amount in amounts)
    assert "permits less:" not in approval.notes
    assert in_store(tmp_path, lambda store: granted(store, Policy.compile(POLICY))) == ()


def test_the_answer_of_an_approver_decides(tmp_path: Path) -> None:
    found = proposed(tmp_path, BEYOND)
    in_store(tmp_path, lambda store: Approvals(store).grant(found.approval, approver="alice"))
    again = proposed(tmp_path, BEYOND)
    assert (again.status, again.granted_by) == ("granted", "alice")
    more = BEYOND.replace("much", "most")
    other = proposed(tmp_path, more)
    in_store(tmp_path, lambda store: Approvals(store).deny(other.approval, approver="alice"))
    assert proposed(tmp_path, more).status == "denied"


def test_a_rule_that_cannot_be_added_is_refused(tmp_path: Path) -> None:
    for rule, words in (
        ("rules: []", "one rule, and this has 0"),
        (POLICY, "has a rule `small`"),
        ("rules: [{id: n, match: {tool: pay, run.count.pay.lt: 3}, decision: allow}]", "reads the run"),
    ):
        with pytest.raises(ValueError, match=words):
            proposed(tmp_path, rule)
    with pytest.raises(ValueError, match="seconds must be"):
        proposed(tmp_path, WITHIN, seconds=0)
    with pytest.raises(ValueError, match="about another policy"):
        extended(Policy.compile(MAX), [proposed(tmp_path, WITHIN)])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("rules: [{id: a, match: {}, decision: deny}, {id: b, match: {}, decision: deny}]", "one rule, and this has 2"),
        ("rules: [{id: a, match: {}, decision: allow, obligations: [{rate_limit: {max: 3}}]}]", "rules of their own"),
        ("rules: [{id: a, match: {}, decision: allow, mode: monitor}]", "would decide nothing"),
        ("{defaults: {on_no_match: allow}, rules: [{id: a, match: {}, decision: deny}]}", "cannot change `defaults`"),
    ],
)
def test_a_file_that_says_more_than_one_rule_is_refused(tmp_path: Path, rule: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        proposed(tmp_path, rule)


def test_a_rule_in_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(
        "from bobcat import deny, rule\n\n\n@rule\ndef r(request, context):\n    return deny('no')\n"
    )
    with pytest.raises(ValueError, match="this is one in Python"):
        in_store(tmp_path, lambda store: propose(store, POLICY, tmp_path / "rules.py", envelope=MAX, by="agent-7"))


def test_the_proposer_cannot_grant_a_rule(tmp_path: Path) -> None:
    found = proposed(tmp_path, BEYOND)
    in_store(tmp_path, lambda store: Approvals(store).grant(found.approval, approver="agent-7"))
    again = proposed(tmp_path, BEYOND)
    assert (again.status, again.ended_by) == ("denied", "agent-7")
    assert again.ended_for == "the proposer cannot grant a rule"
    assert in_store(tmp_path, lambda store: granted(store, Policy.compile(POLICY))) == ()
    with pytest.raises(ValueError, match="cannot be its approver"):
        proposed(tmp_path, WITHIN, approvers=("agent-7",))


def test_a_denial_has_the_approver_and_the_reason(tmp_path: Path) -> None:
    found = proposed(tmp_path, BEYOND)
    in_store(tmp_path, lambda store: Approvals(store).deny(found.approval, approver="bob", reason="too much"))
    again = proposed(tmp_path, BEYOND)
    assert (again.status, again.ended_by, again.ended_for) == ("denied", "bob", "too much")


def test_another_rule_with_the_id_of_a_granted_one_is_refused(tmp_path: Path) -> None:
    policy = Policy.compile(POLICY)
    first = proposed(tmp_path, WITHIN)
    with pytest.raises(ValueError, match="another rule `more`, of `agent-7`, is granted"):
        proposed(tmp_path, WITHIN.replace("200", "300"), by="agent-8")
    second = proposed(tmp_path, WITHIN, by="agent-8", seconds=7200)
    in_force = in_store(tmp_path, lambda store: granted(store, policy))
    assert {item.id for item in in_force} == {first.id, second.id}
    wider = extended(policy, in_force)
    assert [rule.id for rule in wider.rules] == ["small", "more"]
    assert second.expires is not None
    last = Request("pay", {"amount": 150}, timestamp=second.expires - timedelta(seconds=1))
    assert wider.evaluate(last).verdict.value == "allow"
    other = replace(second, rule=second.rule.replace("200", "300"))
    with pytest.raises(ValueError, match="different rules `more`"):
        extended(policy, [first, other])


def test_what_the_policy_permits_already_is_not_asked(tmp_path: Path) -> None:
    """The policy itself exceeds the envelope; the question is about the rule only."""
    policy = "rules: [{id: all, match: {tool: send}, decision: allow}]"
    within, beyond = (
        in_store(tmp_path, partial(propose, policy=policy, rule=rule, envelope=MAX, by="agent-7"))
        for rule in (WITHIN, BEYOND)
    )
    assert within.granted_by == "envelope"
    assert beyond.status == "pending"
    assert not any("send" in line for line in beyond.opens)


class Clock:
    """The time of a store, moved by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_a_grant_is_followed_by_a_new_one_after_its_end() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    first = asyncio.run(propose(store, POLICY, WITHIN, envelope=MAX, by="agent-7", seconds=60))
    clock.now += timedelta(seconds=61)
    assert [item.status for item in asyncio.run(recorded(store))] == ["expired"]
    again = asyncio.run(propose(store, POLICY, WITHIN, envelope=MAX, by="agent-7", seconds=60))
    assert (again.status, again.id, again.round) == ("granted", first.id, 1)


def test_a_question_without_an_answer_in_time_is_asked_again() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    first = asyncio.run(propose(store, POLICY, BEYOND, envelope=MAX, by="agent-7"))
    clock.now += timedelta(days=8)
    again = asyncio.run(propose(store, POLICY, BEYOND, envelope=MAX, by="agent-7"))
    assert (again.status, again.round) == ("pending", 1)
    assert again.approval != first.approval
    asyncio.run(Approvals(store).grant(again.approval, approver="alice"))
    assert asyncio.run(propose(store, POLICY, BEYOND, envelope=MAX, by="agent-7")).granted_by == "alice"


def test_a_revoked_grant_is_over_and_stays_on_record(tmp_path: Path) -> None:
    policy = Policy.compile(POLICY)
    found = proposed(tmp_path, WITHIN)
    ended = in_store(tmp_path, lambda store: revoke(store, found.id, by="bob", reason="a mistake"))
    assert (ended.status, ended.ended_by, ended.ended_for) == ("revoked", "bob", "a mistake")
    assert in_store(tmp_path, lambda store: granted(store, policy)) == ()
    assert proposed(tmp_path, WITHIN).status == "revoked"
    with pytest.raises(ValueError, match="is revoked, and only a granted one"):
        in_store(tmp_path, lambda store: revoke(store, found.id, by="bob"))


TMP = {"id": "tmp", "match": {"tool": "read", "args.path.starts_with": "/tmp/"}, "decision": "allow"}
SECRET = {"id": "secret", "priority": 40, "match": {"tool": "read", "args.path": "/secret"}, "decision": "allow"}


@pytest.mark.parametrize("rules", [[TMP], [TMP, SECRET]], ids=["denied", "decided-by-another-rule"])
def test_a_transform_of_a_permitted_call_is_asked(rules: list[dict[str, Any]]) -> None:
    """It permits no higher verdict, but the call that it makes is beyond the envelope."""
    rule = {
        "id": "elsewhere", "priority": 30, "match": {"tool": "read", "args.path": "/tmp/a"},
        "decision": "transform", "transform": {"jsonpath": "$.args.path", "set": "/secret"},
    }  # fmt: skip
    store, envelope = MemoryStore(), {"rules": [TMP]}
    asked = propose(
        store, {"rules": rules}, {"rules": [rule]}, envelope=envelope, by="agent", approvers=["ann"], seconds=60
    )
    found = asyncio.run(asked)
    assert found.status == "pending"
    assert any("-> transform" in line for line in found.opens)
