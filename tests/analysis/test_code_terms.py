"""Approvers and obligations of compiled Python rules: exact where each verdict has one form, else unknown."""

from __future__ import annotations

import pytest

from analysis.generated_functions import policy_of
from bobcat import Policy
from bobcat.analysis import Proof, Unknown, diff, prove
from bobcat.analysis.invariants import within

SOURCE = """def rule(request, context):
    if request.tool != "refund":
        return None
    if request.args["amount"] < {small}:
        return allow()
    if request.args["amount"] < 100:
        return approve_required({approvers}, approvals_needed={needed})
    if request.args["amount"] < 900:
        return approve_required({more}, approvals_needed={needed})
    return None
"""
GIVEN = {"small": "10", "approvers": '("ann", "bob")', "more": '("ann", "bob")', "needed": "2"}
EMPTY = {"rules": [], "defaults": {"on_no_match": "deny", "on_missing_shadow": "deny"}}


def rule(**other: str) -> Policy:
    return policy_of(SOURCE.format(**{**GIVEN, **other}), EMPTY)


def test_a_child_with_the_same_constant_terms_is_proved_to_stay_within_its_parent() -> None:
    (found,) = prove(rule(), within(rule(small="20"), "parent"))
    assert isinstance(found.answer, Proof)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ({}, {"needed": "1"}, "2 -> 1 approvals"),
        ({"needed": "1"}, {"needed": "1", "approvers": '("eve",)', "more": '("eve",)'}, "approvers ann, bob -> eve"),
    ],
)
def test_other_constant_terms_are_a_region(old: dict[str, str], new: dict[str, str], text: str) -> None:
    found = diff(rule(**old), rule(**new))
    (region,) = found.regions
    assert region.terms == (text,)
    assert not found.reasons


@pytest.mark.parametrize("approvers", ['(request.args["who"],)', '("carol", "dan")'])
def test_terms_that_differ_between_calls_of_one_verdict_are_unknown(approvers: str) -> None:
    given = {"approvers": approvers, "needed": "1"}
    (found,) = prove(rule(**given), within(rule(**given, small="20"), "parent"))
    assert isinstance(found.answer, Unknown)
    assert "terms" in {reason.code for reason in found.answer.reasons}
