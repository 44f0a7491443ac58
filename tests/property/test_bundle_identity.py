"""Any policy survives its bundle file; any change of a policy changes its digest."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import campaign
import strategies
from bobcat import load_bundle
from bobcat.bundle.model import PolicyBundle
from bobcat.ir import canonical, construct
from bobcat.ir.schema import AllExpr, AnyExpr, Expr, IrPolicy, IrRule, Leaf, NotExpr


@settings(max_examples=campaign.examples(60))
@given(strategies.policies(), st.lists(strategies.requests, max_size=3))
def test_a_policy_survives_its_bundle_file(policy: IrPolicy, requests: list[Any]) -> None:
    bundle = PolicyBundle.from_policy(policy)
    data = bundle.to_bytes()
    loaded = load_bundle(data)
    assert loaded == bundle
    assert canonical.encode(loaded.ir) == canonical.encode(policy) == bundle.ir_bytes
    assert loaded.to_bytes() == data
    assert loaded.rule_digests == tuple(canonical.rule_digest(rule).hex() for rule in policy.rules)
    for request in requests:
        assert repr(loaded.evaluate(request)) == repr(bundle.evaluate(request))


def normal(expr: Expr) -> Expr:
    match expr:
        case AllExpr(items):
            return construct.all_(normal(item) for item in items)
        case AnyExpr(items):
            return construct.any_(normal(item) for item in items)
        case NotExpr(item):
            return construct.not_(normal(item))
        case Leaf():
            return construct.leaf(expr.head, expr.path, expr.op, expr.operand, expr.dialect)


@settings(max_examples=campaign.examples(60))
@given(strategies.policies())
def test_generated_policies_are_in_normal_form(policy: IrPolicy) -> None:
    again = construct.policy(
        [
            msgspec.structs.replace(rule, match=normal(rule.match)) if isinstance(rule, IrRule) else rule
            for rule in policy.rules
        ],
        profile=policy.profile,
        defaults=policy.defaults,
    )
    assert canonical.policy_digest(again) == canonical.policy_digest(policy)


@settings(max_examples=campaign.examples(60))
@given(strategies.policies(), strategies.policies())
def test_two_policies_share_a_digest_only_if_they_share_their_bytes(one: IrPolicy, other: IrPolicy) -> None:
    same = canonical.encode(one) == canonical.encode(other)
    assert (canonical.policy_digest(one) == canonical.policy_digest(other)) is same


@settings(max_examples=campaign.examples(60))
@given(strategies.policies(), st.data())
def test_a_changed_rule_changes_its_digest_and_that_of_the_policy_and_no_other(
    policy: IrPolicy, data: st.DataObject
) -> None:
    assume(policy.rules)
    index = data.draw(st.integers(0, len(policy.rules) - 1))
    rule = policy.rules[index]
    assert isinstance(rule, IrRule)
    edit: dict[str, Any] = data.draw(
        st.sampled_from(
            [
                {"id": f"{rule.id}x"},
                {"reason": f"{rule.reason}x"},
                {"priority": rule.priority + 1},
                {"match": construct.not_(rule.match)},
                {"verdict": "allow" if rule.verdict == "deny" else "deny"},
                {"approvers": (*rule.approvers, "x")},
                {"timeout_seconds": (rule.timeout_seconds or 0) + 1},
            ]
        )
    )
    rules = list(policy.rules)
    rules[index] = msgspec.structs.replace(rule, **edit)
    changed = msgspec.structs.replace(policy, rules=tuple(rules))
    assert canonical.policy_digest(policy) != canonical.policy_digest(changed)
    before, after = ([canonical.rule_digest(item) for item in node.rules] for node in (policy, changed))
    assert [place for place in range(len(before)) if before[place] != after[place]] == [index]
    assert canonical.header(policy) == canonical.header(changed)
