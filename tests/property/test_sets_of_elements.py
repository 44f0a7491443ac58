"""Elements looked up in sets come out as the reference evaluator finds them one by one."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat import compile_policy
from bobcat.frontend.strict.policy import compile_strict
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import request_from_json
from oracle.reference import decide

SCALARS = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**53,
        2**53 + 1,
        2**63,
        2**64,
        -(2**70),
        10**30,
        0.0,
        -0.0,
        1.0,
        0.5,
        1e30,
        2.0**64,
    ),
    *(float(2**53), 2.0**70, "", "a", "ab", "é", "1", "true", "\U0001f600"),
]
BROKEN = [math.nan, "\ud800", 1 << 5000, math.inf, [], [1], {}, {"a": 1}]
ELEMENTS = st.lists(st.sampled_from([*SCALARS, *SCALARS, *BROKEN]), max_size=14)
NEEDLES = st.lists(st.sampled_from(SCALARS), min_size=1, max_size=20)
TEXTS = st.text("abé1", max_size=12)


def agree(rules: list[dict[str, Any]], args: dict[str, Any]) -> None:
    source = {"rules": rules}
    lowered = compile_strict(source, "policy.yaml")
    assert lowered.policy is not None, lowered.findings
    request: ActionRequest = request_from_json({"tool": "t", "args": args})
    assert compile_policy(source).evaluate(request) == decide(lowered.policy, request)


@settings(max_examples=campaign.examples(300))
@given(ELEMENTS, ELEMENTS, st.sampled_from(["any", "all", "none"]), st.sampled_from(["allow", "deny"]))
def test_membership_in_a_list_at_another_path(own: list[Any], other: list[Any], each: str, decision: str) -> None:
    rule = {"match": {f"args.own.{each}": {"in": {"ref": "args.other"}}}, "decision": decision}
    agree([rule], {"own": own, "other": other})


@settings(max_examples=campaign.examples(300))
@given(ELEMENTS, NEEDLES, st.sampled_from(["contains_any", "contains_all"]), st.sampled_from(["allow", "deny"]))
def test_containment_of_many_needles_in_a_list(items: list[Any], needles: list[Any], op: str, decision: str) -> None:
    agree([{"match": {f"args.x.{op}": needles}, "decision": decision}], {"x": items})


@settings(max_examples=campaign.examples(300))
@given(TEXTS, st.lists(st.one_of(TEXTS, st.sampled_from(SCALARS)), min_size=9, max_size=20), st.booleans())
def test_containment_of_many_needles_in_a_text(text: str, needles: list[Any], all_of: bool) -> None:
    op = "contains_all" if all_of else "contains_any"
    agree([{"match": {f"args.x.{op}": needles}, "decision": "deny"}], {"x": text})


@settings(max_examples=campaign.examples(300))
@given(TEXTS, st.lists(TEXTS, min_size=9, max_size=30), st.sampled_from(["starts_with", "ends_with"]))
def test_many_beginnings_and_ends_of_a_text(text: str, affixes: list[str], op: str) -> None:
    agree([{"match": {f"args.x.{op}": affixes}, "decision": "deny"}], {"x": text})
