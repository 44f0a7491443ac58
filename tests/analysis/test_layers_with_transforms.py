"""Layers of which some transform what others read, beside the decisions of a small domain."""

from __future__ import annotations

import random
from typing import Any

import pytest

import campaign
from analysis.test_varied_policies import check_regions
from analysis.varied_policies import policy_source, rule_source
from bobcat import Policy
from bobcat.analysis import Unknown, diff, surface

PARTS = 4
SEEDS = campaign.rounds(120)
COMBINE = ("strictest", "first", "last", "strict_overrides_loose")
CHANGES: tuple[dict[str, Any], ...] = (
    {"jsonpath": "$.args.b", "delete": True},
    {"jsonpath": "$.args.a", "set": "x"},
    {"jsonpath": "$.args.b", "set": {"k": "x"}},
    {"jsonpath": "$.args.a", "append": "q"},
)


def layered(chance: random.Random) -> Policy:
    """Return a policy of two or three layers with transforms."""
    sources = {name: policy_source(chance, most=2) for name in ("org", "team", "run")[: chance.choice((2, 3))]}
    for number, source in enumerate(sources.values()):
        if chance.random() < 0.6:
            rule = rule_source(chance, 90 + number)
            change = {"id": rule["id"], "match": rule["match"], "decision": "transform"}
            source["rules"].insert(chance.randint(0, 1), change | {"transform": chance.choice(CHANGES)})
    layers = {name: Policy.compile(source) for name, source in sources.items()}
    return Policy.layered(layers, combine=chance.choice(COMBINE))


@pytest.mark.parametrize("part", range(PARTS))
def test_what_a_transform_opens_for_other_layers_is_found_or_unknown(part: int) -> None:
    for seed in campaign.seeds(SEEDS, part, PARTS):
        chance = random.Random(seed)
        old, new = layered(chance), layered(chance)
        found = diff(old, new)
        codes = {reason.code for each in (found, *found.regions) for reason in each.reasons}
        assert "internal" not in codes, (seed, found)
        check_regions(found, old, new, seed)
        answers = [row.answer for row in surface(old).rows]
        reasons = {reason.code for answer in answers if isinstance(answer, Unknown) for reason in answer.reasons}
        assert "internal" not in reasons, seed


def test_a_rule_of_another_layer_that_reads_the_new_arguments_is_unknown() -> None:
    asks = {
        "id": "asks",
        "match": {"tool": "t", "args.b.exists": False},
        "decision": "approve_required",
        "approvers": ["ann"],
    }
    deletes = {
        "id": "deletes", "match": {"tool": "t", "args.b": "x"}, "decision": "transform",
        "transform": {"jsonpath": "$.args.b", "delete": True},
    }  # fmt: skip
    org, team = (Policy.compile({"rules": [rule]}) for rule in (asks, deletes))
    policy = Policy.layered({"org": org, "team": team}, combine="strict_overrides_loose")
    denies = Policy.layered({"org": org, "team": Policy.compile({"rules": []})}, combine="strict_overrides_loose")
    found = diff(denies, policy)
    codes = {reason.code for each in (found, *found.regions) for reason in each.reasons}
    assert "layers" in codes
    assert "internal" not in codes
    assert not found.same


def test_the_first_layer_that_requires_an_approval_decides_also_on_arguments_that_another_one_made() -> None:
    long = {"id": "long", "match": {"tool": "t", "args.a.length.ge": 2}, "decision": "approve_required"}
    every = {"id": "every", "match": {"tool": "t"}, "decision": "approve_required"}
    appends = {
        "id": "appends", "match": {"tool": "t", "args.a": "x"}, "decision": "transform",
        "transform": {"jsonpath": "$.args.a", "append": "q"},
    }  # fmt: skip
    defaults = {"on_no_match": "allow", "on_missing_shadow": "allow"}
    org, team, run = (Policy.compile({"defaults": defaults, "rules": [rule]}) for rule in (long, every, appends))
    old, new = (
        Policy.layered({"org": org, "team": team, "run": last})
        for last in (Policy.compile({"defaults": defaults, "rules": []}), run)
    )
    found = diff(old, new)
    check_regions(found, old, new, 0)
    assert [(region.old.rule.id, region.new.rule.id) for region in found.found] == [("team:every", "org:long")]


def test_a_default_decides_before_a_rule_of_its_layer_on_arguments_that_another_one_made() -> None:
    asks = {"on_no_match": "approve_required", "on_missing_shadow": "approve_required"}
    long = {"id": "long", "match": {"tool": "t", "args.a.length.ge": 2}, "decision": "approve_required"}
    appends = {
        "id": "appends", "match": {"tool": "t", "args.a": "x"}, "decision": "transform",
        "transform": {"jsonpath": "$.args.a", "append": "q"},
    }  # fmt: skip
    org = Policy.compile({"defaults": asks, "rules": [long]})
    allows = {"on_no_match": "allow", "on_missing_shadow": "allow"}
    old, new = (
        Policy.layered({"org": org, "team": Policy.compile({"defaults": allows, "rules": rules})})
        for rules in ([], [appends])
    )
    found = diff(old, new)
    check_regions(found, old, new, 0)
    assert [(region.old.rule.id, region.new.rule.id) for region in found.found] == [("<default>", "<default>")]
