"""`bobcat propose` and `bobcat proposals`: output, record and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import Policy
from unit.cli_runner import Run, runner

POLICY = "rules: [{id: small, match: {tool: pay, args.amount.le: 100}, decision: allow}]"
MAX = "rules: [{id: max, match: {tool: pay, args.amount.le: 500}, decision: allow}]"
WITHIN = "rules: [{id: more, match: {tool: pay, args.amount.le: 200}, decision: allow}]"
BEYOND = "rules: [{id: much, match: {tool: pay, args.amount.le: 900}, decision: allow}]"


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


def test_the_record_is_listed_shown_and_revoked(run: Run) -> None:
    store = OPTIONS[-2:]
    run("propose", "within.yaml", *OPTIONS, "--reason", "for the sale")
    run("propose", "beyond.yaml", *OPTIONS)
    assert {item["status"] for item in run("proposals", "list", *store, "--format", "json").json()} == {
        "granted",
        "pending",
    }
    (found,) = run("proposals", "list", *store, "--status", "granted", "--format", "json").json()
    listed = run("proposals", "list", *store, "--status", "granted").out
    assert listed.startswith(f"{found['id']}  granted ")
    assert "more  of agent-7  by envelope" in listed
    shown = run("proposals", "show", found["id"], *store).out
    assert "proposed by agent-7: for the sale\n  more: allow, priority 0\n" in shown
    assert run("proposals", "revoke", found["id"], "--by", "bob", *store).out == "more revoked by bob\n"
    assert run("proposals", "revoke", found["id"], "--by", "bob", *store).code == 3
    assert run("proposals", "show", "none", *store).code == 3
    done = run("propose", "within.yaml", *OPTIONS, "-o", "policy.bobcat", "--reason", "for the sale")
    assert (done.code, done.out.splitlines()[0]) == (4, "more revoked by bob")
    assert [rule.id for rule in Policy.load(Path("policy.bobcat")).rules] == ["small"]


def test_an_approver_reads_the_rule_and_what_follows_the_answer(run: Run) -> None:
    approval = run("propose", "beyond.yaml", *OPTIONS, "--format", "json").json()["approval"]
    shown = run("approvals", "show", approval, *OPTIONS[-2:]).out
    assert "note       much: allow, priority 0\n" in shown
    assert "note           args.amount <= 900\n" in shown
    done = run("approvals", "deny", approval, "--approver", "bob", "--reason", "no", *OPTIONS[-2:])
    assert "the answer counts when the rule is proposed again" in done.out
    assert run("propose", "beyond.yaml", *OPTIONS).out.startswith("much denied by bob: no\nbeyond the envelope:\n")
