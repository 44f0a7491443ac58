"""The step budget of a decision: what takes steps, and what follows when none are left."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bobcat import Decision, PolicyBundle, PolicyWarning, Verdict, _core, compile_policy, rule
from bobcat.model.decision import ActionRequest, ExecutionContext
from bobcat.model.request_json import request_from_json

LONG = ["x"] * 100_000
SPENT = "budget_exceeded"


def policy(*rules: dict[str, Any], **more: Any) -> PolicyBundle:
    return compile_policy({"rules": list(rules), **more})


def clause(key: str, operand: Any, decision: str, id: str) -> dict[str, Any]:
    return {"id": id, "match": {key: operand}, "decision": decision}


def call(**args: Any) -> ActionRequest:
    return request_from_json({"tool": "t", "args": args})


def many(count: int, decision: str) -> list[dict[str, Any]]:
    """Rules each of which looks at every element of `args.items`, and is not about it: no index lists bounds."""
    return [clause("args.items.any", {"gt": f"y{i}"}, decision, f"r{i}") for i in range(count)]


def every_answer(bundle: PolicyBundle, request: ActionRequest) -> list[Decision]:
    line = json.dumps({"tool": request.tool, "args": request.args}).encode()
    explained = _core.explain(bundle, request)[0]
    (of_json,) = _core.evaluate_json(bundle, line)
    (of_many,) = _core.evaluate_many(bundle, [request])
    return [bundle.evaluate(request), of_many, of_json, explained]


def test_a_denying_rule_that_passes_the_budget_denies_however_it_is_asked() -> None:
    bundle = policy(*many(50, "deny"))
    for decision in every_answer(bundle, call(items=LONG)):
        assert decision.verdict == "deny"
        assert decision.matched_rules[-1].endswith(f":{SPENT}>")


def test_an_allowing_rule_that_passes_the_budget_is_skipped_with_its_marker() -> None:
    rules = [*many(50, "allow"), clause("args.items.contains", "x", "allow", "last")]
    bundle = policy(*rules, defaults={"on_no_match": "deny"})
    for decision in every_answer(bundle, call(items=LONG)):
        assert decision.verdict != "allow"
        assert any(name.endswith(f":{SPENT}>") for name in decision.matched_rules)
        assert f"<rule_error:last:{SPENT}>" in decision.matched_rules


def test_a_rule_that_needs_no_step_is_evaluated_after_the_budget_is_spent() -> None:
    bundle = policy(*many(50, "allow"), clause("args.n", 1, "allow", "cheap"))
    for decision in every_answer(bundle, call(items=LONG, n=1)):
        assert (decision.verdict, decision.matched_rules[-1]) == ("allow", "cheap")


def test_the_lynx_profile_denies_where_it_would_skip_an_error() -> None:
    rules = [
        # Fractions are compared one rule at a time; texts are looked for in one pass.
        {"id": f"r{i}", "match": {"args.items.contains": i + 0.5}, "decision": "deny", "reason": "x"}
        for i in range(50)
    ]
    with pytest.warns(PolicyWarning):
        bundle = compile_policy({"version": 1, "rules": rules}, profile="lynx")
    decision = bundle.evaluate(call(items=LONG))
    assert (decision.verdict, SPENT in decision.matched_rules[-1]) == ("deny", True)


def test_any_number_of_rules_about_elements_goes_over_a_long_list_once() -> None:
    rules = [clause("args.items.any", {"eq": f"no {i}"}, "deny", f"r{i}") for i in range(500)]
    bundle = policy(*rules, defaults={"on_no_match": "allow", "on_missing_shadow": "allow"})
    for decision in every_answer(bundle, call(items=LONG)):
        assert decision.verdict == "allow"
    for decision in every_answer(bundle, call(items=[*LONG, "no 499"])):
        assert decision.matched_rules == ("r499",)


@pytest.mark.parametrize("op", ["contains_any", "contains_all"])
def test_any_number_of_needles_is_looked_for_in_a_long_list(op: str) -> None:
    bundle = policy(clause(f"args.items.{op}", [f"n{i}" for i in range(1_000)], "deny", "r"))
    assert bundle.evaluate(call(items=LONG)).verdict != "deny"
    found = [*LONG, *(f"n{i}" for i in range(1_000))]
    assert bundle.evaluate(call(items=found)).verdict == "deny"


def test_a_long_list_is_a_subset_within_the_budget() -> None:
    texts = [f"n{i}" for i in range(1_000)]
    bundle = policy(clause("args.items.subset_of", texts, "deny", "r"))
    assert bundle.evaluate(call(items=texts * 20)).matched_rules == ("r",)
    assert bundle.evaluate(call(items=[*texts * 20, "x"])).verdict != "deny"


def test_any_number_of_needles_is_looked_for_in_a_long_text() -> None:
    bundle = policy(clause("args.text.contains_any", [f"n{i}" for i in range(1_000)], "deny", "r"))
    assert bundle.evaluate(call(text="x" * 1_000_000 + "n500")).verdict == "deny"


@rule
def captures(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    found = re.search(r"(a?b?a?b?a?b?a?b?a?b?a?b?a?b?a?b?a?b?a?b?a?b?a?b?a?b?a?b?)c*d?$", request.args["text"])
    if found and found.group(1) == "x":
        return Decision(verdict=Verdict.DENY, reason="x")
    return None


def test_finding_the_groups_of_a_match_takes_steps_for_what_it_visits() -> None:
    bundle = compile_policy("rules: []", python_rules=[captures])
    decision = bundle.evaluate(call(text="ab" * 200_000 + "e"))
    assert decision.matched_rules == ("<rule_error:captures:too_many_steps>",)
    assert bundle.evaluate(call(text="abab")).verdict != "deny"


def test_a_chain_of_transforms_ends() -> None:
    rules = [
        {
            "id": f"r{i}",
            "match": {"args.n": 600 - i},
            "decision": "transform",
            "transform": {"jsonpath": "$.args.n", "set": 601 - i},
        }
        for i in range(600)
    ]
    request = call(n=1, **{f"k{i}": i for i in range(20_000)})
    bundle = policy(*rules)
    for decision in every_answer(bundle, request):
        assert any(name.endswith(f":{SPENT}>") for name in decision.matched_rules)
        assert decision.verdict == "transform"


def test_markers_of_many_rules_in_error_are_named_once_each() -> None:
    rules = [clause("args.n.starts_with", f"p{i}", "allow", f"r{i}") for i in range(5_000)]
    decision = policy(*rules).evaluate(call(n=1))
    markers = [name for name in decision.matched_rules if name.endswith(":wrong_type>")]
    assert len(markers) == len(set(markers)) == 5_000
