"""`mode: monitor`: the rule decides nothing, and the decisions that it would change are recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import (
    AuditEvent,
    FinalAnswer,
    Guard,
    Message,
    Policy,
    Request,
    Thread,
    ToolCall,
    ToolSet,
    callback_sink,
    evaluate,
    run_agent,
    tool,
)
from bobcat.lint.check import check_source

CAPPED = Policy.compile(
    """
    rules:
      - {id: small, match: {tool: pay, args.amount.between: [1, 100]}, decision: allow}
      - {id: cap, match: {tool: pay, args.amount.gt: 50}, decision: deny, priority: 1, mode: monitor}
      - {id: eve, match: {args.to: eve}, decision: approve_required, priority: 2, mode: monitor}
    """
)
COUNTED = Policy.compile(
    """
    rules:
      - {id: few, match: {tool: pay, run.count.pay.lt: 4}, decision: allow}
      - {id: fewer, match: {tool: pay, run.count.pay.ge: 2}, decision: deny, priority: 1, mode: monitor}
    """
)


@tool
async def pay(amount: int, to: str = "bob") -> str:
    return "paid"


TOOLS = ToolSet.from_functions(pay)


class Payer:
    """Pays the amounts one after the other."""

    def __init__(self, *amounts: int) -> None:
        self.amounts = amounts

    async def step(self, conversation: Sequence[Message], /) -> ToolCall | FinalAnswer:
        made = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"amount": self.amounts[made]}) if made < len(self.amounts) else FinalAnswer("done")


def diverged(events: Sequence[AuditEvent]) -> list[tuple[int, str, list[str]]]:
    bodies = [event.body for event in events if event.kind == "policy.diverged"]
    return [(body["seq"], body["kind"], body["candidate"]["matched_rules"]) for body in bodies]


def run(policy: Policy, *amounts: int, **options: Any) -> tuple[str | None, list[tuple[int, str, list[str]]]]:
    events: list[AuditEvent] = []
    sink = callback_sink(events.append)
    result = asyncio.run(run_agent(Payer(*amounts), "pay", tools=TOOLS, policy=policy, sinks=[sink], **options))
    return result.final_answer, diverged(events)


@given(st.integers(-10, 200), st.sampled_from(["bob", "eve"]))
def test_a_monitored_rule_decides_nothing(amount: int, to: str) -> None:
    without = Policy.compile("rules: [{id: small, match: {tool: pay, args.amount.between: [1, 100]}, decision: allow}]")
    request = Request("pay", {"amount": amount, "to": to})
    assert evaluate(CAPPED, request) == evaluate(without, request)
    loaded = Policy.load(CAPPED.to_bytes())
    assert evaluate(loaded, request) == evaluate(without, request)
    assert loaded.monitored is not None
    expected = ("eve",) if to == "eve" else ("cap",) if amount > 50 else None
    if expected:
        assert evaluate(loaded.monitored, request).matched_rules == expected


def test_policies_know_their_monitored_rules() -> None:
    assert [rule.id for rule in CAPPED.rules if rule.monitored] == ["eve", "cap"]
    enforced = CAPPED.monitored
    assert enforced is not None
    assert enforced.monitored is None
    assert not any(rule.monitored for rule in enforced.rules)
    assert enforced.id != CAPPED.id
    text = 'rules: [{id: a, match: {}, decision: deny, reason: \'"mode":"monitor"\'}]'
    assert Policy.compile(text).monitored is None


def test_a_run_records_what_would_change() -> None:
    assert run(CAPPED, 20, 70, 30) == ("done", [(1, "tightened", ["cap"])])


def test_a_monitored_rule_reads_the_run() -> None:
    assert run(COUNTED, 1, 2, 3, 4) == ("done", [(2, "tightened", ["fewer"]), (3, "tightened", ["fewer"])])


def test_a_guard_records_what_would_change(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with Guard(CAPPED, TOOLS, log=log) as guard:
        assert all(guard.submit_sync("pay", {"amount": amount}).ok for amount in (20, 70))
        assert guard.submit_sync("pay", {"amount": 20, "to": "eve"}).ok
    bodies = [json.loads(line)["body"] for line in log.read_text().splitlines()]
    found = [each["matched_rules"] for body in bodies for each in body.get("diverged", ())]
    assert found == [["cap"], ["eve"]]


def test_a_session_of_guards_is_compared_after_the_same_state(tmp_path: Path) -> None:
    found = []
    for _ in range(4):
        events: list[AuditEvent] = []
        store = f"sqlite:///{tmp_path}/s.db"
        with Guard(COUNTED, TOOLS, store=store, session="s", sinks=[callback_sink(events.append)]) as guard:
            assert guard.submit_sync("pay", {"amount": 1}).ok
        found.append(len(diverged(events)))
    assert found == [0, 0, 1, 1]


def test_a_thread_compares(tmp_path: Path) -> None:
    candidate = Policy.compile("rules: [{id: tiny, match: {tool: pay, args.amount.lt: 10}, decision: allow}]")
    plain = Policy.compile("rules: [{id: any, match: {tool: pay}, decision: allow}]")

    async def turn(policy: Policy, **options: Any) -> list[tuple[int, str, list[str]]]:
        events: list[AuditEvent] = []
        store = f"sqlite:///{tmp_path}/{policy.id[:8]}.db"
        sink = callback_sink(events.append)
        async with Thread(
            store, "t", agent=Payer(5, 70), tools=TOOLS, policy=policy, sinks=[sink], **options
        ) as thread:
            async for _ in thread.send("pay"):
                pass
        return diverged(events)

    assert asyncio.run(turn(CAPPED)) == [(1, "tightened", ["cap"])]
    assert asyncio.run(turn(plain, candidate=candidate)) == [(1, "tightened", ["<default:on_no_match>"])]


def test_a_candidate_beside_monitored_rules_is_refused() -> None:
    plain = Policy.compile("rules: [{match: {}, decision: allow}]")
    with pytest.raises(ValueError, match="monitored rules"):
        Guard(CAPPED, TOOLS, candidate=plain)
    with pytest.raises(ValueError, match="monitored rules"):
        run(CAPPED, 1, candidate=plain)
    # The rules in force of a candidate are compared, which permit this call too.
    assert run(plain, 70, candidate=CAPPED)[1] == []


def test_explanations_show_monitored_rules() -> None:
    explanation = CAPPED.explain(Request("pay", {"amount": 70}))
    by_id = {each.id: each for each in explanation.rules}
    assert str(explanation.decision.verdict) == "allow"
    assert (by_id["cap"].outcome, by_id["cap"].verdict) == ("monitored", "deny")
    assert by_id["cap"].clause is not None
    assert by_id["cap"].clause.outcome == "true"
    assert "cap (deny): monitored" in explanation.to_text()
    assert explanation.to_json()["rules"][1]["outcome"] == "monitored"


def test_lints_ignore_monitored_rules() -> None:
    text = (
        "rules: [{id: all, match: {}, decision: deny, priority: 5%s},"
        "{id: pay, match: {tool: pay, args.amount.between: [1, 5]}, decision: allow}]"
    )
    codes = [{item.code for item in check_source(text % mode)} for mode in ("", ", mode: monitor")]
    assert codes[0] - codes[1]
    assert "W0101" not in codes[1]
