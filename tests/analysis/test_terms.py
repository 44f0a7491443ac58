"""Differences of permissions with the same verdict: approvers, approvals, obligations and timeouts."""

from __future__ import annotations

import pytest

from bobcat import Policy
from bobcat.analysis import Diff, Proof, Witness, diff
from bobcat.analysis.engine import Questions
from bobcat.analysis.terms import terms_numbers

ASK = "{{id: ask, match: {{tool: pay, args.amount.gt: 100}}, decision: approve_required{}}}"


def policy(*rules: str) -> Policy:
    defaults = "defaults: {on_no_match: deny, on_missing_shadow: deny}"
    return Policy.compile(f"{defaults}\nrules: [{', '.join(rules)}]")


def asking(terms: str) -> Policy:
    return policy(ASK.format(terms))


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (", approvers: [ann, bob], approvals_needed: 2", ", approvers: [ann, bob]", "2 -> 1 approvals"),
        (", approvers: [ann]", ", approvers: [ann, eve]", "approvers ann -> ann, eve"),
        (", approvers: [ann]", "", "approvers ann -> anyone"),
        (", approvers: [ann]", ", approvers: [eve]", "approvers ann -> eve"),
        (", timeout_seconds: 60", ", timeout_seconds: 600", "timeout 60 s -> 600 s"),
        (", obligations: [{redact: [args.card]}]", "", "without the obligation `redact`"),
    ],
)
def test_a_permission_on_looser_terms_is_a_loosening(old: str, new: str, text: str) -> None:
    (region,) = diff(asking(old), asking(new)).loosening
    assert region.terms == (text,)
    assert region.witness is not None
    assert region.witness.request.args["amount"] > 100


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ", approvers: [ann]"),
        (", approvers: [ann, bob]", ", approvers: [bob]"),
        (", approvers: [ann, bob]", ", approvers: [ann, bob], approvals_needed: 2"),
        (", timeout_seconds: 600", ", timeout_seconds: 60"),
        ("", ", obligations: [{tag: {team: payments}}]"),
    ],
)
def test_a_permission_on_stricter_terms_is_a_tightening(old: str, new: str) -> None:
    found = diff(asking(old), asking(new))
    assert (len(found.loosening), len(found.tightening), found.same) == (0, 1, False)


def test_a_rule_that_is_removed_leaves_its_calls_to_one_with_other_terms() -> None:
    narrow = (
        "{id: narrow, match: {tool: pay, args.to: bank}, decision: approve_required, approvers: [ann], priority: 1}"
    )
    wide = "{id: wide, match: {tool: pay}, decision: approve_required}"
    (region,) = (each for each in diff(policy(narrow, wide), policy(wide)).regions if each.terms)
    assert (region.old.rule.id, region.new.rule.id) == ("narrow", "wide")
    assert region.terms == ("approvers ann -> anyone",)


def test_renamed_rules_with_the_same_terms_are_the_same() -> None:
    old, new = (
        policy(f"{{id: {name}, match: {{tool: pay}}, decision: approve_required, approvers: [ann]}}") for name in "ab"
    )
    assert diff(old, new).same


def test_a_rule_with_other_terms_that_never_decides_is_no_difference() -> None:
    wide = "{id: wide, match: {tool: pay}, decision: deny, priority: 1}"
    old, new = (policy(wide, ASK.format(f", approvers: [{name}]")) for name in ("ann", "eve"))
    assert diff(old, new).same


@pytest.mark.parametrize("many", [1, 1_000])
def test_each_tool_whose_calls_get_other_terms_is_a_region(many: int) -> None:
    old, new = (
        policy(f"{{id: ask, match: {{tool.in: [pay, refund]}}, decision: approve_required, approvers: [{name}]}}")
        for name in ("ann", "eve")
    )
    assert [region.tool for region in diff(old, new).regions] == ["pay", "refund"]
    found = Questions([old, new]).ask("compare", old=0, new=1, terms=terms_numbers(old, new), many=many)
    assert [item["tool"] for item in found["regions"]] == ["pay", "refund"]


def test_a_region_of_terms_of_other_tools_names_none() -> None:
    old, new = (
        policy(f"{{id: ask, match: {{args.n: 1}}, decision: approve_required, approvers: [{name}]}}")
        for name in ("ann", "eve")
    )
    assert [region.tool for region in diff(old, new).regions] == [None]
    team = policy("{id: fine, match: {tool: pay}, decision: allow}")
    assert [region.tool for region in diff(layers(old, team), layers(new, team)).regions] == ["pay"]
    team = Policy.compile("rules: []\ndefaults: {on_no_match: allow, on_missing_shadow: allow}")
    assert [region.tool for region in diff(layers(old, team), layers(new, team)).regions] == [None]


def layers(org: Policy, team: Policy) -> Policy:
    return Policy.layered({"org": org, "team": team})


def test_changed_approvers_in_a_layer_are_a_region() -> None:
    team = policy("{id: fine, match: {tool: pay}, decision: allow}")
    old, new = (layers(asking(f", approvers: [{name}]"), team) for name in ("ann", "eve"))
    found = diff(old, new)
    assert [region.terms for region in found.loosening] == [("approvers ann -> eve",)]
    assert found.reasons == ()


def test_changed_approvers_in_a_layer_are_a_region_of_each_tool() -> None:
    team = policy("{id: fine, match: {tool.in: [pay, refund, send]}, decision: allow}")
    old, new = (
        layers(
            policy(f"{{id: ask, match: {{tool.in: [pay, refund]}}, decision: approve_required, approvers: [{name}]}}"),
            team,
        )
        for name in ("ann", "eve")
    )
    assert [region.tool for region in diff(old, new).regions] == ["pay", "refund"]


def test_approvers_that_another_layer_keeps_from_counting_are_no_difference() -> None:
    deny = policy("{id: never, match: {tool: pay}, decision: deny}")
    old, new = (layers(asking(f", approvers: [{name}]"), deny) for name in ("ann", "eve"))
    assert diff(old, new).same


def test_a_layer_that_begins_to_ask_adds_its_approvers() -> None:
    old = layers(asking(", approvers: [ann]"), policy("{id: fine, match: {tool: pay}, decision: allow}"))
    new = layers(asking(", approvers: [ann]"), asking(", approvers: [eve]"))
    found = diff(old, new)
    (region,) = found.found
    assert region.witness is not None
    was, now = region.witness.decisions
    assert was.approvers != now.approvers
    assert found.reasons == ()


def test_layers_of_another_shape_are_unknown() -> None:
    old = layers(asking(", approvers: [ann]"), policy())
    new = Policy.layered({"org": asking(", approvers: [eve]")})
    found = diff(old, new)
    assert {reason.code for reason in found.reasons} == {"terms"}
    assert found.may_loosen


def test_an_envelope_with_more_approvals_is_exceeded() -> None:
    (outcome,) = prove_within(asking(", approvers: [ann, bob]"), ", approvers: [ann, bob], approvals_needed: 2")
    assert isinstance(outcome, Witness)
    (outcome,) = prove_within(asking(", approvers: [ann, bob], approvals_needed: 2"), ", approvers: [ann, bob]")
    assert isinstance(outcome, Proof)


def prove_within(child: Policy, envelope: str) -> list[object]:
    from bobcat.analysis.proving import exceeding

    return [exceeding(Questions((asking(envelope), child)))]


def test_a_difference_as_json_has_the_terms() -> None:
    found: Diff = diff(asking(", approvers: [ann]"), asking(""))
    assert found.to_json()["regions"][0]["terms"] == ["approvers ann -> anyone"]


def test_a_default_that_takes_over_in_a_layer_has_other_terms() -> None:
    """No other rule of the layers asks for an approval."""
    higher = """
rules: [{id: ask, match: {tool: pay}, decision: approve_required, approvers: [ann]}]
defaults: {on_no_match: approve_required}
"""
    lower = Policy.compile("rules: []\ndefaults: {on_no_match: allow, on_missing_shadow: allow}")
    old, new = (
        Policy.layered({"org": Policy.compile(text), "team": lower})
        for text in (higher, higher.replace("{tool: pay}", "{tool: pay, args.n: 1}"))
    )
    found = diff(old, new)
    assert [region.terms for region in found.loosening] == [("approvers ann -> anyone",)]


@pytest.mark.parametrize("many", [1, 1_000])
def test_each_two_terms_that_decide_a_call_are_one_region(many: int) -> None:
    """Twenty-five rules with terms of their own, each about its own directory, against one rule about all of them."""
    rules = [
        f"{{id: r{n}, match: {{tool: pay, args.to.starts_with: /{n:02}/}}, "
        f"decision: approve_required, approvers: [team{n}]}}"
        for n in range(25)
    ]
    old, new = policy(*rules), policy("{id: all, match: {tool: pay}, decision: approve_required, approvers: [ann]}")
    numbers = terms_numbers(old, new)
    found = Questions([old, new]).ask("compare", old=0, new=1, terms=numbers, many=many)
    termed = [(item["old"]["rule"], item["new"]["rule"]) for item in found["regions"] if item["change"] == "terms"]
    assert sorted(termed) == [(n, 0) for n in range(25)]
    assert len([region for region in diff(old, new).regions if region.terms]) == 25


def test_two_hundred_terms_on_each_side_are_compared() -> None:
    """There is no limit on the pairs of terms: 40,000 here."""
    old, new = (
        policy(
            *(
                f"{{id: {side}{n}, match: {{tool: pay, args.amount: {n}}}, "
                f"decision: approve_required, approvers: [{side}{n}]}}"
                for n in range(200)
            )
        )
        for side in "ab"
    )
    found = diff(old, new)
    assert found.reasons == ()
    assert sorted(region.old.rule.id for region in found.found) == sorted(f"a{n}" for n in range(200))
    assert all(region.terms for region in found.found)
