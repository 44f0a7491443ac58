"""Decisions by two policies in one call of the core are those of two calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import ActionRequest, Policy, Request, Verdict, allow, evaluate
from bobcat._core import evaluate_beside
from bobcat.ir.schema import IrPolicy
from bobcat.runtime.candidate import Candidate
from strategies import policies, requests

PLAIN = Policy.compile("rules: [{id: any, match: {}, decision: allow}]")


@given(policies(), policies(), requests, st.booleans())
def test_one_call_decides_as_two_do(one: IrPolicy, other: IrPolicy, request: ActionRequest, same: bool) -> None:
    enforced = Policy.from_policy(one)
    candidate = enforced if same else Policy.from_policy(other)
    first, second = evaluate(enforced, request), evaluate(candidate, request)
    found = evaluate_beside(enforced, candidate, request, request.context)
    alike = (
        first.verdict is second.verdict
        and first.matched_rules == second.matched_rules
        and first.transform_args is None is second.transform_args
        and first.verdict is not Verdict.APPROVE_REQUIRED
    )
    assert found == (first if alike else (first, second))


@given(policies(), policies(), requests)
def test_a_divergence_is_the_same_in_one_call(one: IrPolicy, other: IrPolicy, request: ActionRequest) -> None:
    enforced = Policy.from_policy(one)
    candidate = Candidate(Policy.from_policy(other))
    both = candidate.decide(enforced, request)
    if both is not None:
        decision = evaluate(enforced, request)
        assert both == (decision, candidate.divergence(request, decision))


def test_callables_are_decided_one_by_one() -> None:
    def host(request: Any, context: Any) -> Any:
        return allow(str(id(request)))

    called = Policy.compile({"rules": []}, python_rules=[host], uncompiled="callable")
    request = Request("a")
    assert evaluate_beside(PLAIN, called, request, request.context) is None
    assert evaluate_beside(called, PLAIN, request, request.context) is None
    lynx = Policy.compile({"rules": []}, profile="lynx")
    assert evaluate_beside(PLAIN, lynx, request, request.context) is None
    assert Candidate(called).decide(PLAIN, request) is None


@pytest.mark.parametrize("given", [(), (PLAIN,), (PLAIN, PLAIN, Request("a")), (PLAIN,) * 5])
def test_other_calls_are_type_errors(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="four positional arguments"):
        evaluate_beside(*given)
    with pytest.raises(TypeError, match="four positional arguments"):
        evaluate_beside(PLAIN, PLAIN, Request("a"), context=None)  # type: ignore[call-arg]


@pytest.mark.parametrize("given", [(None, PLAIN), (PLAIN, None), (PLAIN, "a")])
def test_values_that_are_no_policies_are_left_to_the_caller(given: tuple[Any, Any]) -> None:
    request = Request("a")
    assert evaluate_beside(*given, request, request.context) is None
    assert evaluate_beside(PLAIN, PLAIN, "request", None) is None  # type: ignore[arg-type]
