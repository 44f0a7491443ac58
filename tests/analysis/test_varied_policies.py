"""Answers about policies with lists, terms, monitored rules and layers beside the decisions of a small domain."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import campaign
from analysis.enumeration import Data, requests
from analysis.varied_policies import DOMAIN, changed_source, layered_pair, match_source, policy_source
from bobcat import Policy
from bobcat.analysis import Diff, Flip, Proof, Unknown, Witness, dead, diff, flip, prove, surface
from bobcat.analysis.dead_rules import without_rule
from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.invariants import within
from bobcat.analysis.model import ORDER
from bobcat.analysis.tool_names import tools_of
from bobcat.errors import PolicyCompileError
from bobcat.model.decision import Decision
from bobcat.model.request_json import request_from_data

PARTS = 4
SEEDS = campaign.rounds(120)
DATA = list(requests(DOMAIN))
CALLS = [request_from_data(data) for data in DATA]
WANTED = "wanted"
REASONS = {"ref", "list", "layers", "terms"}
"""What may be unknown of these policies."""


def pairs(part: int) -> Iterator[tuple[int, random.Random, Policy, Policy]]:
    """Yield policies of layers, every fourth time, and of rules with a change."""
    for seed in campaign.seeds(SEEDS, part, PARTS):
        chance = random.Random(seed)
        if seed % 4 == 0:
            yield seed, chance, *layered_pair(chance)
        else:
            source = policy_source(chance)
            other = changed_source(source, chance) if seed % 2 else policy_source(chance)
            yield seed, chance, Policy.compile(source), Policy.compile(other)


def terms(decision: Decision) -> tuple[object, ...]:
    obligations = [(each.name, each.phase, repr(each.value)) for each in decision.obligations]
    return (sorted(decision.approvers), decision.approvals_needed, decision.timeout_seconds, obligations)


def permits_more(old: Decision, new: Decision) -> bool:
    return ORDER.index(new.verdict.value) > ORDER.index(old.verdict.value)


def test_a_denial_by_a_rule_with_obligations_differs_from_one_by_an_error() -> None:
    chance = random.Random(1314)
    old, new = (Policy.compile(policy_source(chance)) for _ in range(2))
    regions = [region for region in diff(old, new).regions if region.terms]
    assert [(region.old.rule.id, region.new.rule.id) for region in regions] == [("r4", "r3")] * len(regions)
    assert regions


@pytest.mark.parametrize("part", range(PARTS))
def test_every_difference_has_a_region_or_a_reason(part: int, record_property: Any) -> None:
    unknown = 0
    for seed, _, old, new in pairs(part):
        found = diff(old, new)
        check_regions(found, old, new, seed)
        reasons = {reason.code for region in found.regions for reason in region.reasons}
        reasons |= {reason.code for reason in found.reasons}
        assert reasons <= REASONS, seed
        unknown += bool(reasons)
    record_property("pairs with an unknown", unknown)


def check_regions(found: Diff, old: Policy, new: Policy, seed: int) -> None:
    before, after = DecidingRules(old), DecidingRules(new)
    sides = {
        (region.old.verdict, region.old.rule.id, region.new.verdict, region.new.rule.id)
        for region in found.regions
        if not region.terms
    }
    tools = tools_of(old.ir) | tools_of(new.ir)
    verdicts_of_terms = {(region.tool, region.new.verdict) for region in found.regions if region.terms}
    for call in CALLS:
        was, now = old.evaluate(call), new.evaluate(call)
        if was.verdict is not now.verdict:
            assert not found.same, seed
            here = (was.verdict.value, before.of(was), now.verdict.value, after.of(now))
            assert here in sides or found.reasons, (seed, here)
            assert found.may_loosen or not permits_more(was, now), seed
        elif terms(was) != terms(now) and was.verdict.value != "deny":
            tool = call.tool if call.tool in tools else None
            assert (tool, was.verdict.value) in verdicts_of_terms or found.reasons, (seed, call)
    for region in found.found:
        assert region.witness is not None
        was, now = (policy.evaluate(region.witness.request) for policy in (old, new))
        assert (was.verdict.value, now.verdict.value) == (region.old.verdict, region.new.verdict), seed
        assert (before.of(was), after.of(now)) == (region.old.rule.id, region.new.rule.id), seed
        assert terms(was) != terms(now) if region.terms else (region.change == "loosening") == permits_more(was, now)
    assert found.same or found.regions or found.reasons, seed


@pytest.mark.parametrize("part", range(PARTS))
def test_the_surface_has_every_verdict_with_the_rules_that_give_it(part: int) -> None:
    for seed, _, policy, _ in pairs(part):
        rows = {(row.tool, row.verdict): row for row in surface(policy).rows}
        tools = {row.tool for row in rows.values()}
        deciding = DecidingRules(policy)
        given: dict[tuple[str | None, str], set[str]] = defaultdict(set)
        for call in CALLS:
            decision = policy.evaluate(call)
            given[call.tool if call.tool in tools else None, decision.verdict.value].add(deciding.of(decision))
        for key, rules in given.items():
            assert key in rows, (seed, key)
            listed = {rule.id for rule in (*rows[key].rules, *rows[key].unknown_rules)}
            assert rules <= listed, (seed, key)
        for row in rows.values():
            if isinstance(row.answer, Witness):
                decision = policy.evaluate(row.answer.request)
                assert decision.verdict.value == row.verdict, seed
                assert deciding.of(decision) in {rule.id for rule in row.rules}, seed
            else:
                assert {reason.code for reason in row.answer.reasons} <= REASONS, seed
                assert row.answer.reasons, seed


@pytest.mark.parametrize("part", range(PARTS))
def test_dead_rules_decide_nothing_and_their_culprits_are_enough_and_needed(part: int) -> None:
    for seed, _, policy, _ in pairs(part):
        found = dead(policy, clauses=False)
        deciding = DecidingRules(policy)
        live = {deciding.of(policy.evaluate(call)) for call in CALLS}
        for item in found.rules:
            assert item.rule.id not in live, seed
            assert item.rule.index is not None
            if policy.layers:
                other = without_rule(policy, item.rule.index)
                assert all(terms(policy.evaluate(call)) == terms(other.evaluate(call)) for call in CALLS), seed
            elif item.why == "shadowed":
                takers = [rule.index for rule in item.culprits]
                if not takers:  # which rules take the calls is unknown where values are compared with each other
                    assert "'ref':" in repr(policy.ir.rules), seed
                    continue
                assert is_dead(policy, [*takers, item.rule.index]), (seed, item.rule.id)
                for taker in takers:
                    fewer = [index for index in (*takers, item.rule.index) if index != taker]
                    assert not is_dead(policy, fewer), (seed, item.rule.id, taker)
        for undecided in found.unknown:
            assert {reason.code for reason in undecided.reasons} <= REASONS, seed


def is_dead(policy: Policy, indexes: list[int | None]) -> bool:
    """Return true if the last of some rules of a policy decides nothing after the others."""
    rules = tuple(policy.ir.rules[index] for index in indexes if index is not None)
    alone = Policy.from_policy(msgspec.structs.replace(policy.ir, rules=rules))
    return len(rules) - 1 in {item.rule.index for item in dead(alone, clauses=False).rules}


@pytest.mark.parametrize("part", range(PARTS))
def test_a_proved_invariant_holds_for_every_call(part: int) -> None:
    for seed, chance, policy, other in pairs(part):
        match, when = match_source(chance), match_source(chance)
        verdict = chance.choice(("allow", "deny"))
        claims = {
            "never": {"never": match},
            "only": {"only_if": {"match": match, "when": when}},
            "always": {"always": {"match": match, "verdict": verdict}},
        }
        text = json.dumps({"invariants": [{"id": name, **claim} for name, claim in claims.items()]})
        try:
            found = {item.invariant.id: item for item in prove(policy, text)}
        except PolicyCompileError:  # such as a match that is never true
            continue
        stops, true = reading(match, "deny"), reading(when, "allow")
        takes = stops if verdict == "deny" else reading(match, "allow")
        for data, call in zip(DATA, CALLS, strict=True):
            got = policy.evaluate(call).verdict.value
            permitted = got in ("allow", "transform")
            violated = {
                "never": permitted and decides(stops, data),
                "only": permitted and decides(stops, data) and not decides(true, data),
                "always": got != verdict and decides(takes, data),
            }
            for name, is_violated in violated.items():
                assert not (is_violated and isinstance(found[name].answer, Proof)), (seed, name, data)
        (beyond,) = prove(policy, within(other, "envelope"))
        if beyond.holds:
            assert not any(permits_more(other.evaluate(call), policy.evaluate(call)) for call in CALLS), seed


def reading(match: Data, verdict: str) -> Policy:
    """Return a policy that gives a verdict to the calls that a rule with this match and verdict takes."""
    rest = "allow" if verdict == "deny" else "deny"
    on_error = "deny" if verdict == "deny" else "continue"
    defaults = {"on_no_match": rest, "on_missing_shadow": rest, "on_rule_error": on_error}
    return Policy.compile({"defaults": defaults, "rules": [{"id": WANTED, "match": match, "decision": verdict}]})


def decides(policy: Policy, data: Data) -> bool:
    return WANTED in str(policy.evaluate(request_from_data(data)).matched_rules[-1])


@pytest.mark.parametrize("part", range(PARTS))
def test_a_smallest_change_is_no_larger_than_that_of_the_domain(part: int) -> None:
    for seed, chance, policy, _ in pairs(part):
        number = chance.randrange(len(DATA))
        data, call = DATA[number], CALLS[number]
        given = policy.evaluate(call).verdict
        sizes = [
            changed_paths(data, other)
            for other, request in zip(DATA, CALLS, strict=True)
            if request.tool == call.tool and policy.evaluate(request).verdict is not given
        ]
        found = flip(policy, call)
        if isinstance(found, Flip):
            assert found.witness.decision.verdict is not given, seed
            assert not found.smallest or len(found.changes) <= min(sizes, default=99), seed
        elif isinstance(found, Unknown):
            assert found.reasons, seed
        else:
            assert not sizes, seed


def changed_paths(one: Data, other: Data) -> int:
    return sum(
        one.get(head, {}).get(key) != other.get(head, {}).get(key)
        or (key in one.get(head, {})) != (key in other.get(head, {}))
        for head, key in (path.split(".") for path in DOMAIN if path != "tool")
    )
