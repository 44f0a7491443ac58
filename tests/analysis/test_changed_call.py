"""`analysis.flip` and `analysis.nearest`: what a call lacks for another verdict."""

from __future__ import annotations

import random
from typing import Any

import pytest

from analysis.enumeration import MISSING, requests
from analysis.generated_policies import DOMAIN, compiled, policy_source
from bobcat import Policy, Request
from bobcat.analysis import Flip, Proof, flip, nearest
from bobcat.model.request_json import request_from_data

POLICY = """
rules:
  - {id: no-prod, match: {tool: pay, context.environment: prod, args.force: true}, decision: deny, priority: 5}
  - {id: small, match: {tool: pay, args.amount.le: 100, args.to.starts_with: acct-}, decision: allow}
"""


def changed(found: object) -> dict[str, Any]:
    assert isinstance(found, Flip)
    return {item.path: item.new for item in found.changes}


def test_one_value_is_changed_where_one_is_enough() -> None:
    found = flip(POLICY, Request("pay", {"amount": 150, "to": "acct-1"}))
    assert list(changed(found)) == ["args.amount"]
    assert changed(found)["args.amount"] <= 100
    assert isinstance(found, Flip)
    assert found.smallest
    assert found.witness.decision.verdict.value == "allow"
    assert found.witness.request.args["to"] == "acct-1"


def test_two_values_are_changed_where_one_is_not_enough() -> None:
    found = flip(POLICY, Request("pay", {"amount": 150, "to": "bob"}), verdict="allow")
    assert set(changed(found)) == {"args.amount", "args.to"}


def test_a_change_that_permits_comes_before_another_of_its_size() -> None:
    policy = Policy.compile("""
rules:
  - {id: blocked, match: {tool: pay, args.to: eve}, decision: deny, priority: 5}
  - {id: small, match: {tool: pay, args.amount.le: 100}, decision: allow}
  - {id: large, match: {tool: pay, args.amount.gt: 100}, decision: approve_required}
""")
    found = flip(policy, Request("pay", {"amount": 500, "to": "bob"}))
    assert isinstance(found, Flip)
    assert [change.path for change in found.changes] == ["args.amount"]
    assert found.witness.decision.verdict.value == "allow"
    assert found.smallest
    found = flip(policy, Request("pay", {"amount": 50, "to": "bob"}))
    assert isinstance(found, Flip)
    assert found.witness.decision.verdict.value != "allow"


def test_a_change_of_nothing_is_no_answer() -> None:
    """A missing mapping stays missing where an entry of it stays missing."""
    policy = """
rules:
  - {id: low, match: {tool: t, args.b.lt: 2, args.b.k.exists: false}, decision: deny}
  - {id: rest, match: {tool: t}, decision: allow}
"""
    found = flip(policy, Request("t", {}))
    assert not isinstance(found, Flip) or found.changes


def test_a_call_of_a_tool_with_one_verdict_cannot_be_flipped() -> None:
    assert flip("rules: [{id: a, match: {tool: x}, decision: allow}]", Request("x", {"a": 1})) == Proof()


def test_the_changed_call_is_decided_by_the_policy() -> None:
    policy = Policy.compile(POLICY)
    for amount in (1, 100, 101, "many", None):
        request = Request("pay", {"amount": amount, "to": "acct-1"})
        found = flip(policy, request)
        assert isinstance(found, Flip)
        assert policy.evaluate(found.witness.request).verdict is not policy.evaluate(request).verdict


@pytest.mark.parametrize("seed", range(12))
def test_no_single_change_in_a_small_domain_is_missed(seed: int) -> None:
    """Where one value of the domain flips the verdict, so does the answer, with one value."""
    chance = random.Random(seed)
    policy = compiled(policy_source(chance, transforms=False))
    data = chance.choice(list(requests(DOMAIN)))
    request = request_from_data(data)
    given = policy.evaluate(request).verdict
    single = False
    for path, values in DOMAIN.items():
        for value in values if path != "tool" else ():
            head, step = path.split(".")
            other = {**data, head: {**data.get(head, {}), step: value}}
            if value is MISSING:
                other[head].pop(step)
            single = single or policy.evaluate(request_from_data(other)).verdict is not given
    found = flip(policy, request)
    if single:
        assert isinstance(found, Flip)
        assert len(found.changes) == 1
    if isinstance(found, Flip):
        assert found.witness.decision.verdict is not given
        assert found.witness.request.tool == request.tool


def test_the_nearest_rule_lacks_the_fewest_clauses() -> None:
    found = nearest(POLICY, Request("pay", {"amount": 150, "to": "acct-1"}))
    assert found is not None
    assert (found.rule.id, [item.clause.path for item in found.lacks]) == ("small", ["args.amount"])


def test_a_denial_before_the_nearest_rule_is_named() -> None:
    request = Request("pay", {"amount": 5, "to": "acct-1", "force": True}, environment="prod")
    found = nearest(POLICY, request)
    assert found is not None
    assert (found.lacks, [rule.id for rule in found.stops]) == ((), ["no-prod"])


def test_an_allowed_call_and_a_tool_without_a_rule_have_no_nearest_rule() -> None:
    assert nearest(POLICY, Request("pay", {"amount": 5, "to": "acct-1"})) is None
    assert nearest(POLICY, Request("other")) is None


def test_a_negated_clause_is_lacking_as_such() -> None:
    policy = "rules: [{id: a, match: {tool: t, not: {args.x: 1}}, decision: allow}]"
    found = nearest(policy, Request("t", {"x": 1}))
    assert found is not None
    assert [(item.clause.path, item.negated) for item in found.lacks] == [("args.x", True)]
