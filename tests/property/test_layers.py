"""A policy of layers decides as its layers do one by one, combined by a slow program."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat import evaluate_many
from bobcat.bundle import load_bundle
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import request_to_json
from bobcat.pdp import evaluate_json
from layer_strategies import joined, layered_policies
from oracle.layers import LayerOf, decide
from strategies import json_requests


@given(layered_policies(), st.lists(json_requests, min_size=1, max_size=4))
@settings(max_examples=campaign.examples(150))
def test_layers_decide_as_one_by_one(made: tuple[list[LayerOf], str], requests: list[ActionRequest]) -> None:
    layers, combine = made
    policy = joined(layers, combine)
    decisions = [policy.evaluate(request) for request in requests]
    for request, decision in zip(requests, decisions, strict=True):
        expected = decide(layers, combine, request)
        assert str(decision.verdict) == str(expected.verdict)
        if expected.matched_rules == ("<layer_conflict>",):
            assert decision.matched_rules[0].startswith("<layer_conflict:")
            continue
        assert decision.matched_rules == expected.matched_rules
        assert decision.transform_args == expected.transform_args
        assert sorted(decision.approvers) == sorted(expected.approvers)
        assert decision.approvals_needed == expected.approvals_needed
        assert decision.timeout_seconds == expected.timeout_seconds
    assert evaluate_many(policy, requests) == decisions
    lines = b"\n".join(request_to_json(request).encode() for request in requests)
    assert evaluate_json(policy, lines) == decisions


@given(layered_policies(), json_requests)
@settings(max_examples=campaign.examples(50))
def test_a_stored_policy_decides_and_explains_alike(made: tuple[list[LayerOf], str], request: ActionRequest) -> None:
    layers, combine = made
    policy = joined(layers, combine)
    stored = load_bundle(policy.to_bytes())
    decision = policy.evaluate(request)
    assert stored == policy
    assert stored.evaluate(request) == decision
    explained = stored.explain(request)
    assert explained.decision == decision
    assert len(explained.rules) == policy.rule_count
    decided = {rule.id: rule.outcome for rule in explained.rules}
    last = decision.matched_rules[-1]
    if last in decided and decision.transform_args is None:
        assert decided[last] == "true"
    assert [(layer.name, layer.digest, layer.limits) for layer in stored.layers] == [
        (layer.name, layer.policy.digest, layer.limits) for layer in layers
    ]


@given(layered_policies(), json_requests)
@settings(max_examples=campaign.examples(50))
def test_under_strictest_a_lower_layer_only_narrows(made: tuple[list[LayerOf], str], request: ActionRequest) -> None:
    layers = [layer for layer in made[0] if not layer.limits]
    ladder = ["allow", "transform", "dry_run", "approve_required", "deny"]
    ranks = []
    for count in range(1, len(layers) + 1):
        decision = joined(layers[:count], "strictest").evaluate(request)
        if decision.transform_args is not None:
            return  # the next layer judges another call
        ranks.append(ladder.index(str(decision.verdict)))
    assert ranks == sorted(ranks)
