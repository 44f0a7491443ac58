"""Questions about sequences of calls, beside the enumeration of all sequences of a small domain."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest

import campaign
from analysis import sequences
from bobcat.analysis import NoSequence, Sequence, trace_can
from bobcat.analysis.matches import match_policy
from bobcat.analysis.model import Unknown

PARTS = 2
SEEDS = campaign.rounds(50)
STEPS = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_each_answer_agrees_with_the_enumeration_of_all_sequences(part: int) -> None:
    answers: Counter[str] = Counter()
    for seed in campaign.seeds(SEEDS, part, PARTS):
        chance = random.Random(seed)
        policy = sequences.compiled(sequences.policy_source(chance))
        asked = sequences.question(chance)
        match = match_policy(asked["when"]) if "when" in asked else None
        earlier = [match_policy(item) for item in asked.get("after", ())]
        answer = trace_can(policy, steps=STEPS, **asked)
        found = sequences.first(policy, asked, match, earlier, STEPS)
        answers[type(answer).__name__] += 1
        match answer:
            case Sequence(steps):
                assert len(steps) <= STEPS + 1, seed
                assert found is None or len(steps) - 1 <= found, (seed, asked)
                _replay(answer, policy, asked, seed)
            case NoSequence():
                assert found is None, (seed, asked)
            case Unknown(reasons):
                assert {reason.code for reason in reasons} <= {"memory"}, (seed, reasons)
                assert "run.sum" in str(policy.sources) + str(asked) or "sum" in str(policy.ir.memory), seed
    assert answers["Sequence"]
    assert answers["NoSequence"]
    assert answers["Unknown"] <= SEEDS // PARTS // 10


def _replay(answer: Sequence, policy: sequences.Policy, asked: sequences.Source, seed: int) -> None:
    """Decide the calls of a sequence again, by a state that this test makes."""
    done: tuple[sequences.Done, ...] = ()
    for step in answer.steps:
        assert sequences.decided(policy, done, step.request) == step.decision, seed
        assert step is answer.steps[-1] or step.decision.verdict.value in sequences.RUNS, seed
        before, done = done, (*done, (step.request, step.result if step.ended else sequences.FAILED))
    last = answer.steps[-1]
    assert last.decision.verdict.value == "allow"
    assert last.request.tool == asked["tool"]
    assert "when" not in asked or sequences.holds(match_policy(asked["when"]), before, last.request), seed
    for item in asked.get("after", ()):
        assert any(sequences.holds(match_policy(item), (), call) for call, _ in before), seed


def _tools(answer: object) -> list[str]:
    assert isinstance(answer, Sequence), answer
    return [step.request.tool for step in answer.steps]


SEND = """
sources:
  directory: {tool: search, fields: [email], where: {kind: person}}
rules:
  - {id: s, match: {tool: search}, decision: allow}
  - {id: send, match: {tool: send, args.to.from: directory}, decision: allow}
defaults: {on_missing_shadow: deny}
"""


def test_a_source_gives_the_value_that_a_rule_wants() -> None:
    answer = trace_can(SEND, tool="send", when="args.to.ends_with: '@corp.example'")
    assert _tools(answer) == ["search", "send"]
    assert isinstance(answer, Sequence)
    to = answer.steps[1].request.args["to"]
    assert {"email": to, "kind": "person"} in answer.steps[0].result
    closed = SEND.replace("decision: allow}\n  - {id: send", "decision: deny}\n  - {id: send")
    assert trace_can(closed, tool="send") == NoSequence(None)


def test_all_calls_of_a_sequence_have_one_principal() -> None:
    policy = """
    rules:
      - {id: a, match: {tool: read, context.principal.id: alice}, decision: allow}
      - {id: b, match: {tool: send, context.principal.id: bob}, decision: allow}
    defaults: {on_missing_shadow: deny}
    """
    assert trace_can(policy, tool="send", after=["tool: read"]) == NoSequence(None)
    both = policy.replace("context.principal.id: bob", "context.principal.id.in: [bob, alice]")
    answer = trace_can(both, tool="send", after=["tool: read"])
    assert _tools(answer) == ["read", "send"]
    assert isinstance(answer, Sequence)
    assert {step.request.context.principal.id for step in answer.steps} == {"alice"}


def test_time_passes_between_calls_where_a_window_wants_it() -> None:
    policy = """
    rules: [{id: few, match: {tool: pay, run.count.pay: {lt: 2, within: 1h, by: principal}}, decision: allow}]
    defaults: {on_missing_shadow: deny}
    """
    answer = trace_can(policy, tool="pay", when="run.count.pay.ge: 2")
    assert _tools(answer) == ["pay"] * 3
    assert isinstance(answer, Sequence)
    times = [step.request.context.timestamp for step in answer.steps]
    assert times[2] - times[0] > timedelta(hours=1)
    within = trace_can(policy, tool="pay", when="run.count.pay: {ge: 2, within: 1h, by: principal}")
    assert within == NoSequence(None)


def test_amounts_reach_the_bound_of_a_sum_and_never_pass_it() -> None:
    policy = """
    rules:
      - id: pay
        match: {tool: pay, args.amount.between: [1, 600], run.sum.pay.amount.with_this.le: 1000}
        decision: allow
    defaults: {on_missing_shadow: deny}
    """
    assert _tools(trace_can(policy, tool="pay", when="run.sum.pay.amount.with_this.ge: 1000")) == ["pay", "pay"]
    assert isinstance(trace_can(policy, tool="pay", when="run.sum.pay.amount.with_this.gt: 1000"), NoSequence)
