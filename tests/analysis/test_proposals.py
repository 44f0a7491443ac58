"""Proposed rules: granted within an envelope and for a time, else a question to an approver."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import Approvals, Policy, Request, SQLiteStore
from bobcat.proposals import Proposal, extended, granted, propose
from unit.cli_runner import Run, runner

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
    other = proposed(tmp_path, BEYOND.replace("900", "901"))
    in_store(tmp_path, lambda store: Approvals(store).deny(other.approval, approver="alice"))
    assert proposed(tmp_path, BEYOND.replace("900", "901")).status == "denied"


def test_a_rule_that_cannot_be_added_is_refused(tmp_path: Path) -> None:
    for rule, words in (
        ("rules: []", "one declarative rule"),
        (POLICY, "has a rule `small`"),
        ("rules: [{id: n, match: {tool: pay, run.count.pay.lt: 3}, decision: allow}]", "reads the run"),
    ):
        with pytest.raises(ValueError, match=words):
            proposed(tmp_path, rule)
    with pytest.raises(ValueError, match="seconds must be"):
        proposed(tmp_path, WITHIN, seconds=0)
    with pytest.raises(ValueError, match="about another policy"):
        extended(Policy.compile(MAX), [proposed(tmp_path, WITHIN)])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, text in (("policy", POLICY), ("max", MAX), ("within", WITHIN), ("beyond", BEYOND)):
        Path(f"{name}.yaml").write_text(text)
    return runner(capsys, monkeypatch)


OPTIONS = ("--policy", "policy.yaml", "--envelope", "max.yaml", "--by", "agent-7", "--store", "sqlite:///s.db")


def test_the_command_grants_and_writes_the_policy(run: Run) -> None:
    done = run("propose", "within.yaml", *OPTIONS, "--for", "2h", "-o", "policy.bobcat")
    assert done.code == 0
    assert done.out.startswith("more granted until ")
    wider = Policy.load(Path("policy.bobcat"))
    assert [rule.id for rule in wider.rules] == ["small", "more"]


def test_the_command_asks_beyond_the_envelope(run: Run) -> None:
    done = run("propose", "beyond.yaml", *OPTIONS, "--format", "json")
    assert (done.code, done.json()["status"]) == (4, "pending")
    shown = run("approvals", "show", done.json()["approval"], "--store", "sqlite:///s.db")
    assert "bobcat.propose" in shown.out
    assert "pay: deny -> allow" in shown.out
    assert (
        run("approvals", "grant", done.json()["approval"], "--approver", "alice", "--store", "sqlite:///s.db").code == 0
    )
    assert run("propose", "beyond.yaml", *OPTIONS).code == 0


def test_the_command_tells_mistakes_apart(run: Run) -> None:
    assert run("propose", "policy.yaml", *OPTIONS).code == 2
    assert run("propose", "no-such.yaml", *OPTIONS).code == 3
    assert run("propose", "within.yaml", *OPTIONS, "--for", "soon").code == 2
