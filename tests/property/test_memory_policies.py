"""Policies with conditions on the run, as text: each decision is that of a slow reading of the page about memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import Policy
from bobcat._core import RunState
from campaign import examples
from oracle.memory_reading import SOURCES, Reading
from property.memory_conditions import conditions
from property.memory_steps import Step, propose, steps, take


def _policy(match: dict[str, Any], *, negated: bool) -> Policy:
    rule = {"id": "r", "match": {"not": match} if negated else match, "decision": "allow"}
    text = json.dumps({"defaults": {"on_missing_shadow": "deny"}, "sources": SOURCES, "rules": [rule]})
    return Policy.compile(text)


@pytest.mark.campaign
@settings(max_examples=examples(150), deadline=None)
@given(conditions, st.booleans(), st.lists(steps, max_size=8))
def test_a_decision_is_that_of_the_slow_reading(match: dict[str, Any], negated: bool, run: list[Step]) -> None:
    plain = any("result.code" in str(part) for part in match.values())
    policy = _policy(match, negated=negated)
    state, reading = RunState(policy), Reading()
    for number, step in enumerate(run):
        request = propose(step, reading)
        decision = policy.evaluate(request, state=state)
        ((key, operand),) = match.items()
        expected = reading.condition(key, operand, step) is not negated
        marks = [name for name in decision.matched_rules if name.startswith("<rule_error")]
        assert not marks
        assert (decision.verdict == "allow") is expected, (number, step)
        take(step, request, reading, [state], plain=plain)
