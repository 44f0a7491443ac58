"""Answers about compiled Python rules, beside the decision of every request of a small domain."""

from __future__ import annotations

import random
from typing import Any

import pytest

import campaign
from analysis.enumeration import ORDER, outcome, requests
from analysis.generated_functions import DOMAIN, function_of, function_source, policy_of
from bobcat import Policy
from bobcat.analysis import Proof, Unknown, Witness, can, dead, diff, surface
from bobcat.analysis.deciding import DecidingRules
from bobcat.model.request_json import request_from_data

PARTS = 8
SEEDS = campaign.rounds(80)
REQUESTS = [request_from_data(data) for data in requests(DOMAIN)]
WHENS: tuple[dict[str, Any], ...] = (
    {},
    {"args.a": "x"},
    {"args.a": 5},
    {"args.a": True},
    {"args.a.exists": False},
    {"args.b.k": "x"},
    {"args.b.k.exists": False},
)


def satisfying(when: dict[str, Any]) -> list[bool]:
    policy = Policy.compile({"rules": [{"id": "when", "match": when, "decision": "allow"}]})
    return [outcome(policy, request) == "true" for request in REQUESTS]


CHOSEN = [satisfying(when) for when in WHENS]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_proof_about_a_python_rule_holds_for_every_request_of_a_small_domain(part: int, record_property: Any) -> None:
    asked = unknown = 0
    for seed in campaign.seeds(SEEDS, part, PARTS):
        chance = random.Random(seed)
        text = function_source(chance)
        errors, otherwise = chance.choice(("deny", "continue")), chance.choice(("deny", "allow"))
        policy = policy_of(text, {"rules": [], "defaults": {"on_rule_error": errors, "on_no_match": otherwise}})
        verdicts = [policy.evaluate(request).verdict.value for request in REQUESTS]
        for when, chosen in zip(WHENS, CHOSEN, strict=True):
            there = {verdict for verdict, is_chosen in zip(verdicts, chosen, strict=True) if is_chosen}
            for verdict in ORDER:
                answer = can(policy, when=when, verdict=verdict)
                asked += 1
                unknown += isinstance(answer, Unknown)
                if isinstance(answer, Witness):
                    assert policy.evaluate(answer.request).verdict.value == verdict
                else:
                    assert verdict not in there or isinstance(answer, Unknown), f"{when} {verdict}\n{text}"
    record_property("questions", asked)
    record_property("unknown", unknown)
    assert unknown * 10 <= asked


@pytest.mark.parametrize("part", range(PARTS))
def test_no_difference_of_two_python_rules_is_missed(part: int) -> None:
    for seed in campaign.seeds(SEEDS // 2, part, PARTS):
        old, new = (policy_of(function_source(random.Random(number))) for number in (seed, seed + 1_000_000))
        found = diff(old, new)
        differ = any(old.evaluate(request).verdict is not new.evaluate(request).verdict for request in REQUESTS)
        assert not (differ and found.same)
        assert found.regions or found.reasons or not differ


@pytest.mark.parametrize("part", range(PARTS))
def test_dead_python_rules_and_unlisted_verdicts_occur_on_no_request_of_a_small_domain(part: int) -> None:
    for seed in campaign.seeds(SEEDS // 4, part, PARTS):
        chance = random.Random(seed)
        texts = [function_source(chance, name) for name in ("first", "second", "third")]
        policy = Policy.compile({"rules": []}, python_rules=list(map(function_of, texts)))
        deciding = DecidingRules(policy)
        decisions = [(request.tool, policy.evaluate(request)) for request in REQUESTS]
        seen = {deciding.of(decision) for _, decision in decisions}
        parts = dead(policy)
        assert not seen & {item.rule.id for item in parts.rules}, texts
        for item in parts.rules:
            assert item.rule.id not in {rule.id for rule in item.culprits}
            alone = Policy.compile({"rules": []}, python_rules=[function_of(texts[item.rule.index or 0])])
            fires = any(DecidingRules(alone).of(alone.evaluate(request)) == item.rule.id for request in REQUESTS)
            assert not (fires and item.why == "contradiction"), texts
        rows = {(row.tool, row.verdict) for row in surface(policy).rows}
        listed = {tool for tool, _ in rows}
        for tool, decision in decisions:
            assert (tool if tool in listed else None, decision.verdict.value) in rows, texts


FOLLOWED = {
    "equality": "request.args.get('x') == 'a'",
    "equality of one and true": "request.args.get('x') == 1",
    "membership": "request.args.get('x') in ('a', 2)",
    "a substring": "'a' in request.args.get('x', '')",
    "a prefix": "request.args.get('x', '').startswith(('a', 'b'))",
    "lower case": "request.args.get('x', '').lower() == 'a'",
    "a length": "len(request.args.get('x', 'xx')) == 1",
    "a chain of comparisons": "isinstance(request.args.get('x'), str) and 'a' <= request.args['x'] < 'b'",
    "types and an order": "isinstance(request.args.get('x'), (int, float)) and request.args['x'] > 2",
    "truth": "not request.args.get('x', 'x')",
    "a replaced value": "(request.args.get('x') or 'a') == 'a'",
    "any of some words": "any(word in request.args.get('x', '') for word in ('a', 'b'))",
    "a key": "'x' in request.args and request.args['x'] == 'a'",
    "a key of a key": "request.args.get('x', {}).get('k') == 'a'",
    "a literal pattern": "re.search('a', request.args.get('x', ''))",
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_a_python_rule_tests_is_answered_exactly(name: str) -> None:
    text = f"def rule(request, context):\n    if request.tool == 't' and {FOLLOWED[name]}:\n        return allow('')\n"
    policy = policy_of(text)
    found = can(policy, tool="t", verdict="allow")
    assert isinstance(found, Witness)
    assert isinstance(can(policy, tool="u", verdict="allow"), Proof)
    guarded = policy_of(text, {"rules": [], "defaults": {"on_no_match": "deny", "on_missing_shadow": "deny"}})
    for value in ("zz", 2, None, True, [], {}, ["zz"]):
        request = can(guarded, tool="t", when={"args.x.eq": value}, verdict=ORDER)
        assert isinstance(request, Witness)
        expected = guarded.evaluate(request.request).verdict.value
        for verdict in ORDER:
            answer = can(guarded, tool="t", when={"args.x.eq": value}, verdict=verdict)
            assert isinstance(answer, Witness if verdict == expected else Proof), (value, verdict, expected)


def test_a_rule_with_a_loop_never_has_a_verdict_that_it_does_not_name() -> None:
    text = """
def rule(request, context):
    for key in request.args:
        if key == "force":
            return deny("forced")
""".lstrip()
    policy = policy_of(text)
    assert isinstance(can(policy, verdict="allow"), Proof)
    assert isinstance(can(policy, verdict="approve_required"), Witness)
    reasons = can(policy, verdict="deny", when={"args.force": 1})
    assert isinstance(reasons, Witness | Unknown)


def test_a_test_that_is_not_followed_is_named() -> None:
    text = "def strange(request, context):\n    if sum(request.args.get('x', [])) == 7:\n        return allow('')\n"
    answer = can(policy_of(text), verdict="allow")
    assert isinstance(answer, Unknown)
    assert {reason.code for reason in answer.reasons} == {"function_rule"}
    assert any("`strange`" in reason.message for reason in answer.reasons)
