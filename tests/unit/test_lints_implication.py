"""Conclusions of the lints from two matches hold for every request, by the slow reference evaluator."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat.ir import construct
from bobcat.ir.conjuncts import conjuncts
from bobcat.ir.schema import Expr, IrRule
from bobcat.lint.implication import PathCondition, clash, conditions, covers, is_lenient
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata
from oracle.operators import TRUE
from oracle.reference import evaluate_match

SCALARS = st.sampled_from([None, True, 1, 2, 3, 1.5, "a", "b", "ab"])
BOUNDS = st.sampled_from([1, 2, 3, 1.5]) | st.sampled_from(["a", "b"])
PATHS = st.sampled_from([("args", ("x",)), ("args", ("y",)), ("tool", ())])


OPERATORS = [
    "eq", "in", "gt", "ge", "lt", "le", "between", "not_between", "exists", "contains", "starts_with", "length", "any",
    "none",
]  # fmt: skip
REFS = st.sampled_from([construct.reference("args", ("y",)), construct.reference("tool", ())])


@st.composite
def leaves(draw: st.DrawFn) -> Expr:
    head, path = draw(PATHS)
    op = draw(st.sampled_from(OPERATORS))
    operand: Any
    match op:
        case "in":
            operand = draw(st.lists(SCALARS, max_size=3) | REFS)
        case "between" | "not_between":
            kind = draw(st.sampled_from([[1, 2, 3], ["a", "b"]]))
            operand = sorted([draw(st.sampled_from(kind)), draw(st.sampled_from(kind))])
        case "exists":
            operand = draw(st.booleans())
        case "starts_with":
            operand = draw(st.sampled_from(["a", "ab", ["a", "b"], ["ab", "b"]]) | REFS)
        case "length":
            operand = draw(st.integers(0, 2))
        case "any" | "none":
            inner = draw(st.sampled_from(["eq", "gt"]))
            operand = construct.checks([construct.check(inner, draw(BOUNDS | REFS))])  # type: ignore[arg-type]
        case "eq" | "contains" | "in" | "gt" | "le" if draw(st.integers(0, 3)) == 0:
            operand = draw(REFS)
        case "eq" | "contains":
            operand = draw(SCALARS)
        case _:
            operand = draw(BOUNDS)
    return construct.leaf(head, path, op, operand)  # type: ignore[arg-type]


MATCHES = st.recursive(
    leaves(),
    lambda inner: (
        st.lists(inner, max_size=3).map(construct.all_)
        | st.lists(inner, max_size=3).map(construct.any_)
        | inner.map(construct.not_)
    ),
    max_leaves=4,
)
VERDICTS = st.sampled_from(["allow", "deny"])
RULES = st.builds(lambda match, verdict: construct.rule("r", match, verdict), MATCHES, VERDICTS)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), SCALARS, max_size=2)
ARGS = st.dictionaries(st.sampled_from(["x", "y"]), VALUES)


def request(tool: str, args: dict[str, Any]) -> ActionRequest:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    context = ExecutionContext(Principal("user", "u"), "dev", ".", "", 0, moment)
    return ActionRequest(tool, args, ToolMetadata("low", True, ()), context)


def is_true(rule: IrRule, call: ActionRequest) -> bool:
    return evaluate_match(rule.match, call, permits=rule.verdict == "allow") == TRUE


def implies(strong: IrRule, weak: IrRule) -> bool:
    return covers(conditions(strong), conditions(weak), lenient=is_lenient(strong, weak))


def contradict(matches: tuple[Expr, ...]) -> bool:
    return clash([PathCondition(item) for match in matches for item in conjuncts(match)])


REQUESTS = st.builds(request, st.sampled_from(["a", "b"]), ARGS)


@settings(max_examples=campaign.examples(300))
@given(RULES, RULES, REQUESTS)
def test_what_is_concluded_from_two_rules_holds(left: IrRule, right: IrRule, call: ActionRequest) -> None:
    if implies(left, right) and is_true(left, call):
        assert is_true(right, call)
    if contradict((left.match, right.match)):
        assert not (is_true(left, call) and is_true(right, call))


@given(RULES, leaves(), REQUESTS, VERDICTS)
def test_one_condition_more_implies_one_less(rule: IrRule, more: Expr, call: ActionRequest, verdict: str) -> None:
    narrow = construct.rule("n", construct.all_([rule.match, more]), verdict)  # type: ignore[arg-type]
    if implies(narrow, rule):
        assert is_true(rule, call) or not is_true(narrow, call)
    else:
        assert verdict != rule.verdict or contradict(conjuncts(narrow.match))


@given(leaves(), leaves(), VALUES, st.sampled_from(["a", "b"]))
def test_leaves_of_one_path_are_compared_rightly(left: Expr, right: Expr, value: Any, tool: str) -> None:
    call = request(tool, {"x": value, "y": value})
    strong, weak = construct.rule("s", left, "deny"), construct.rule("w", right, "deny")
    if implies(strong, weak) and is_true(strong, call):
        assert is_true(weak, call)
    if contradict((left, right)):
        assert not (is_true(strong, call) and is_true(weak, call))
