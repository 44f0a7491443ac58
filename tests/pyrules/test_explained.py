"""Explanations of compiled functions: the deciding statement, and the conditions before it."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies

from bobcat import allow, compile_policy, deny, load_bundle, request_from_json
from bobcat.bundle.explanation import Explanation, RuleExplanation
from bobcat.bundle.model import PolicyBundle
from bobcat.ir import construct
from bobcat.ir.schema import FunctionRule
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext
from oracle.function_nodes import Functions
from oracle.function_nodes import request as node_request
from pyrules.calls import request as made_request
from pyrules.rules import corpus
from pyrules.test_corpus import LOWERED

CALLS = 40
LIMIT = 100


def call(tool: str, **args: Any) -> ActionRequest:
    return request_from_json(json.dumps({"tool": tool, "args": args}))


def of(rule: Callable[..., Any], request: ActionRequest) -> RuleExplanation:
    explanation: Explanation = compile_policy({}, python_rules=[rule]).explain(request)
    return explanation.rules[0]


def line_of(rule: Callable[..., Any], number: int) -> int:
    return int(rule.__code__.co_firstlineno) + number


def tiers(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    amount = request.args["amount"]
    if request.tool == "refund" and amount > LIMIT:
        return deny("too much")
    for item in request.args.get("items", ()):
        if item["n"] > 1:
            return deny("too many")
    return allow("small") if amount < 5 else None


def test_a_decision_is_explained_by_its_return_and_the_conditions_before_it() -> None:
    rule = of(tiers, call("refund", amount=120))
    assert (rule.kind, rule.outcome, rule.verdict, rule.clause) == ("function", "true", None, None)
    assert rule.function is not None
    assert rule.function.decided_at is not None
    assert rule.function.decided_at.file == __file__
    assert rule.function.decided_at.line == line_of(tiers, 3)
    (condition,) = rule.function.conditions
    assert (condition.outcome, condition.times) == ("true", 1)
    assert condition.text == 'request.tool == "refund" and amount > LIMIT'
    assert [(read.name, read.value) for read in condition.reads] == [("tool", '"refund"'), ("amount", "120")]
    assert condition.span is not None
    assert (condition.span.line, condition.span.column) == (line_of(tiers, 2), 8)


def test_what_short_circuit_leaves_out_was_not_read_and_a_loop_counts() -> None:
    function = of(tiers, call("x", amount=9, items=[{"n": 1}, {"n": 0}, {"n": 1}])).function
    assert function is not None
    first, second, third = function.conditions
    assert [read.name for read in first.reads] == ["tool"]
    assert (second.outcome, second.times, second.reads[0].value) == ("false", 3, '{"n": 1}')
    assert (third.outcome, third.text) == ("false", "amount < 5")
    assert function.decided_at is not None
    assert function.decided_at.line == line_of(tiers, 7)


def test_an_error_is_explained_by_the_statement_that_raised_it() -> None:
    rule = of(tiers, call("refund"))
    assert (rule.outcome, rule.error) == ("error", "KeyError")
    assert rule.function is not None
    assert rule.function.conditions == ()
    assert rule.function.decided_at is not None
    assert rule.function.decided_at.line == line_of(tiers, 1)


def absent(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    try:
        if request.args["mode"] == "fast":
            return deny("fast")
    except KeyError:
        pass
    if request.args.get("force"):
        return deny("forced")
    return None


def test_a_read_that_leads_nowhere_is_shown_as_not_there() -> None:
    function = of(absent, call("x")).function
    assert function is not None
    assert [(item.outcome, [(read.name, read.value) for read in item.reads]) for item in function.conditions] == [
        ("error", [("args.mode", None)]),
        ("false", [("args.force", None)]),
    ]
    assert function.decided_at is not None
    assert function.decided_at.line == line_of(absent, 8)  # what was caught decides nothing


def too_much(amount: int) -> Decision | None:
    if amount > LIMIT:
        return deny("too much")
    return None


def delegating(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    return too_much(request.args["amount"])


def looking(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    if too_much(request.args["amount"]) is None:
        return None
    return deny("no")


def test_what_a_called_function_returns_for_its_caller_is_decided_there() -> None:
    function = of(delegating, call("x", amount=500)).function
    assert function is not None
    assert function.decided_at is not None
    assert function.decided_at.line == line_of(too_much, 2)
    (condition,) = function.conditions
    assert (condition.text, condition.reads[0].name, condition.reads[0].value) == ("amount > LIMIT", "amount", "500")
    function = of(looking, call("x", amount=500)).function
    assert function is not None
    assert function.decided_at is not None
    assert function.decided_at.line == line_of(looking, 3)
    assert [item.text for item in function.conditions] == [
        "amount > LIMIT",
        'too_much(request.args["amount"]) is None',
    ]


def choosing(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    match request.tool:
        case "read" | "list":
            return allow("reads")
        case str() as tool if tool.startswith("drop"):
            return deny("drops")
    if not request.tool:
        raise ValueError
    return request.args.get("n", 5)  # type: ignore[no-any-return]  # any other value is an error


def test_a_match_is_explained_case_by_case() -> None:
    function = of(choosing, call("drop_table")).function
    assert function is not None
    assert [(item.outcome, item.text) for item in function.conditions] == [
        ("false", '"read" | "list"'),
        ("true", 'str() as tool if tool.startswith("drop")'),
    ]
    assert function.conditions[0].reads[0].name == "request.tool"
    rule = of(choosing, call("x"))
    assert (rule.outcome, rule.error) == ("error", "not_a_decision")
    assert rule.function is not None
    assert rule.function.decided_at is not None
    assert rule.function.decided_at.line == line_of(choosing, 8)


def test_text_and_json_say_it_all() -> None:
    bundle = compile_policy({"rules": [{"id": "y", "match": {"tool": "z"}, "decision": "allow"}]}, python_rules=[tiers])
    explanation = bundle.explain(call("refund", amount=120))
    place = f"{__file__}:{line_of(tiers, 3)}:9"
    assert explanation.to_text().splitlines()[-3:] == [
        f"tiers (Python function): true  {__file__}:{line_of(tiers, 0)}:1",
        '    true   request.tool == "refund" and amount > LIMIT   [tool is "refund", amount is 120]'
        f"  {__file__}:{line_of(tiers, 2)}:8",
        f"    decides  {place}",
    ]
    declarative, function = explanation.to_json()["rules"]
    assert (declarative["kind"], declarative["function"]) == ("declarative", None)
    assert (function["kind"], function["match"]) == ("function", None)
    assert function["function"]["decided_at"]["line"] == line_of(tiers, 3)
    assert function["function"]["conditions"][0]["reads"][1] == {"name": "amount", "value": "120"}
    json.dumps(explanation.to_json())


def test_a_bundle_without_sources_lists_the_conditions_and_one_without_places_the_locals() -> None:
    bundle = compile_policy({}, python_rules=[tiers])
    loaded = load_bundle(bundle.to_bytes())
    assert not loaded.sources
    function = loaded.explain(call("refund", amount=120)).rules[0].function
    assert function is not None
    assert function.conditions[0].text == "request.tool == 'refund' and amount > 100"
    assert function.decided_at is not None
    assert function.decided_at.line == line_of(tiers, 3)
    bare = type(bundle).from_policy(bundle.ir)
    function = bare.explain(call("refund", amount=120)).rules[0].function
    assert function is not None
    assert function.conditions[0].text == "request.tool == 'refund' and v0 > 100"
    assert [read.name for read in function.conditions[0].reads] == ["tool", "v0"]
    assert function.decided_at is None


def test_a_callable_has_no_function_to_explain() -> None:
    def opaque(request: ActionRequest, context: ExecutionContext) -> Decision | None:
        while request.tool:
            return deny("no")
        return None

    bundle = compile_policy({}, python_rules=[opaque], uncompiled="callable")
    explanation = bundle.explain(call("x"))
    assert (explanation.rules[0].kind, explanation.rules[0].function) == ("host", None)
    assert "opaque (Python callable): true" in explanation.to_text()


# --- against the interpreter ---


def lines_reached(rule: Callable[..., Any], call_: ActionRequest) -> tuple[set[int], bool]:
    """The lines where functions of the rule's own file returned or raised, with those that ran just before, and whether
    the rule raised."""
    lines: set[int] = set()
    last: dict[Any, tuple[int, ...]] = {}
    plain = getattr(rule, "func", rule)
    file = getattr(plain, "__func__", plain).__code__.co_filename

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            last[frame] = (*last.get(frame, ())[-1:], frame.f_lineno)
        else:
            lines.update((frame.f_lineno, *last.get(frame, ())))  # a `return` ends on its first line
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        rule(call_, call_.context)
    except Exception:
        return lines, True
    else:
        return lines, False
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("name", LOWERED)
def test_the_place_is_where_python_returns_or_raises(name: str) -> None:
    rule = corpus()[name]
    bundle = compiled(rule)
    for seed in range(CALLS):
        request = made_request(Random(f"{name} {seed}"))
        lines, raised = lines_reached(rule, request)
        explained = bundle.explain(request).rules[0]
        assert explained.function is not None
        place = explained.function.decided_at
        if place is None:
            assert not raised
            continue
        assert lines & set(range(place.line, place.end_line + 1)), (place, lines, request.args)


@given(strategies.integers(0, 2**40))
def test_the_core_and_the_listing_number_statements_alike(seed: int) -> None:
    random = Random(seed)
    body, slots = Functions(random).function()
    bundle = PolicyBundle.from_policy(construct.policy([FunctionRule("f", 0, slots, body)]))
    for _ in range(4):
        made = node_request(random)
        explanation = bundle.explain(made)
        assert explanation.decision == bundle.evaluate(made)
        function = explanation.rules[0].function
        assert function is not None
        assert all(condition.text for condition in function.conditions)  # other statements have none


def compiled(rule: Callable[..., Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_policy({}, python_rules=[rule])
