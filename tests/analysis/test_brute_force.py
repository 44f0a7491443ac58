"""Answers on generated policies beside the decision of every request of a small domain."""

from __future__ import annotations

import random
from typing import Any

import pytest

import campaign
from analysis.enumeration import ORDER, Enumeration, deciding_index, requests
from analysis.generated_policies import DOMAIN, changed_source, compiled, policy_source
from bobcat import Policy
from bobcat.analysis import Diff, Proof, Unknown, Witness, can, dead, diff
from bobcat.analysis.engine import Questions
from bobcat.ir.schema import IrRule
from bobcat.ir.visit import leaves

PARTS = 8
SEEDS = campaign.rounds(160)
REQUESTS = list(requests(DOMAIN))


def key_of(region: Any) -> tuple[str | None, str, int | None, str, int | None]:
    return (region.tool, region.old.verdict, region.old.rule.index, region.new.verdict, region.new.rule.index)


def named_in(policy: Policy) -> set[str]:
    rules = [rule for rule in policy.ir.rules if isinstance(rule, IrRule)]
    return {leaf.operand for rule in rules for leaf in leaves(rule.match) if leaf.head == "tool"}


def check_regions(found: Diff, oracle: Enumeration) -> None:
    """Every difference on the domain is in a region, or is left open with a reason."""
    named = {tool for policy in oracle.policies for tool in named_in(policy)}
    regions = {key_of(region) for region in found.regions}
    for tool, *rest in oracle.regions(0, 1):
        here = (tool if tool in named else None, *rest)
        assert here in regions or found.reasons, f"{tool} {rest} is missing"
    if found.same:
        assert not oracle.regions(0, 1)
        assert not found.regions
    for region in found.regions:
        assert region.witness is not None or region.reasons


@pytest.mark.parametrize("part", range(PARTS))
def test_no_difference_on_a_small_domain_is_missed(part: int, record_property: Any) -> None:
    unknown = pairs = 0
    for seed in campaign.seeds(SEEDS, part, PARTS):
        chance = random.Random(seed)
        source = policy_source(chance)
        other = changed_source(source, chance) if seed % 2 else policy_source(chance)
        old, new = compiled(source), compiled(other)
        found = diff(old, new)
        check_regions(found, Enumeration([old, new], REQUESTS))
        pairs += 1
        unknown += bool(found.unknown or found.reasons)
    record_property("pairs of policies", pairs)
    record_property("pairs with an unknown", unknown)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_proof_holds_for_every_request_of_a_small_domain(part: int, record_property: Any) -> None:
    asked = 0
    for seed in campaign.seeds(SEEDS, part, PARTS):
        chance = random.Random(seed)
        policy = compiled(policy_source(chance))
        oracle = Enumeration([policy], REQUESTS)
        for verdict in ORDER:
            answer = can(policy, verdict=verdict)
            expected = oracle.find([{"policy": 0, "verdicts": [verdict]}])["answer"]
            asked += 1
            match answer:
                case Witness():
                    assert policy.evaluate(answer.request).verdict.value == verdict
                case Proof():
                    assert expected == "none"
                case Unknown(reasons):
                    assert reasons
    record_property("questions", asked)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_dead_rule_decides_no_request_of_a_small_domain(part: int) -> None:
    for seed in campaign.seeds(SEEDS, part, PARTS):
        policy = compiled(policy_source(random.Random(seed)))
        deciding = _deciding(policy)
        for item in dead(policy, clauses=False).rules:
            assert item.rule.index not in deciding
            for culprit in item.culprits:
                assert culprit.index is not None
                assert item.rule.index is not None
                assert culprit.index < item.rule.index


@pytest.mark.parametrize("part", range(PARTS))
def test_each_policy_is_proved_to_decide_like_itself(part: int) -> None:
    for seed in campaign.seeds(SEEDS // 4, part, PARTS):
        policy = compiled(policy_source(random.Random(seed), transforms=False))
        assert diff(policy, policy).same


def _deciding(policy: Policy) -> set[int | None]:
    oracle = Enumeration([policy], REQUESTS)
    return {deciding_index(policy, decisions[0]) for _, _, decisions in oracle.each()}


def test_answers_are_deterministic() -> None:
    source = policy_source(random.Random(7))
    old, new = compiled(source), compiled(changed_source(source, random.Random(8)))
    answers = {str(Questions([old, new]).ask("compare", old=0, new=1, limit=100)) for _ in range(3)}
    assert len(answers) == 1
