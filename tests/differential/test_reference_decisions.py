"""The reference evaluator and the Rust core on generated policies and requests: one decision, whichever way in."""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobcat import _core
from bobcat.bundle.model import PolicyBundle
from bobcat.ir import construct
from bobcat.ir.schema import Policy, Rule
from bobcat.model import ActionRequest, Decision, Verdict
from bobcat.requests import request_to_json
from oracle.corpus import plain, typed
from oracle.reference import decide, judge
from strategies import exprs, json_requests, policies, requests

EXAMPLES = max(80, int(os.environ.get("BOBCAT_CAMPAIGN", "0")) // 10)
SETTINGS = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def shown(decision: Decision) -> Any:
    return {
        "verdict": str(decision.verdict),
        "reason": decision.reason,
        "matched_rules": list(decision.matched_rules),
        "approvers": list(decision.approvers),
        "timeout_seconds": repr(decision.timeout_seconds),
        "transform_args": None if decision.transform_args is None else repr(typed(plain(decision.transform_args))),
    }


@SETTINGS
@given(policies(), st.lists(requests, min_size=1, max_size=5))
def test_the_core_decides_as_the_reference_does(policy: Policy, calls: list[ActionRequest]) -> None:
    bundle = PolicyBundle.from_policy(policy)
    for call in calls:
        assert shown(_core.evaluate(bundle, call)) == shown(decide(policy, call))


@SETTINGS
@given(policies(), st.lists(requests, min_size=1, max_size=5))
def test_many_are_decided_as_each_alone(policy: Policy, calls: list[ActionRequest]) -> None:
    bundle = PolicyBundle.from_policy(policy)
    assert [shown(item) for item in _core.evaluate_many(bundle, calls)] == [
        shown(_core.evaluate(bundle, call)) for call in calls
    ]


@SETTINGS
@given(policies(), st.lists(json_requests, min_size=1, max_size=5))
def test_a_request_as_json_is_decided_as_the_request(policy: Policy, calls: list[ActionRequest]) -> None:
    bundle = PolicyBundle.from_policy(policy)
    lines = "\n".join(json.dumps(json.loads(request_to_json(call))) for call in calls).encode()
    assert [shown(item) for item in _core.evaluate_json(bundle, lines)] == [
        shown(_core.evaluate(bundle, call)) for call in calls
    ]


@SETTINGS
@given(policies(), requests)
def test_an_explanation_has_the_decision_and_judges_every_rule_as_the_reference_does(
    policy: Policy, call: ActionRequest
) -> None:
    bundle = PolicyBundle.from_policy(policy)
    decision, traces = _core.explain(bundle, call)
    assert shown(decision) == shown(_core.evaluate(bundle, call))
    assert [trace[0] for trace in traces] == list(range(len(policy.rules)))
    for rule, (_, outcome, code, _) in zip(policy.rules, traces, strict=True):
        if outcome == "not_reached" or not isinstance(rule, Rule):
            continue
        truth = judge(rule.match, call, rule.verdict in ("allow", "transform"))
        if code != "cannot_transform":
            assert (outcome, code) == (truth.kind.value, truth.code)


@SETTINGS
@given(st.lists(exprs, min_size=1, max_size=12), st.lists(requests, min_size=1, max_size=4))
def test_many_rules_on_the_same_paths_are_judged_each_for_itself(
    matches: list[Any], calls: list[ActionRequest]
) -> None:
    """The index, the shared clauses and the automata of a larger program change nothing."""
    rules = [
        construct.rule(f"r{index}", match, "deny" if index % 3 else "allow") for index, match in enumerate(matches)
    ]
    policy = construct.policy(rules)
    bundle = PolicyBundle.from_policy(policy)
    for call in calls:
        decision = _core.evaluate(bundle, call)
        assert shown(decision) == shown(decide(policy, call))
        assert isinstance(decision.verdict, Verdict)
