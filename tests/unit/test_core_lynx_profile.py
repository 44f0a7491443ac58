"""Host rules, transforms and defaults under the `lynx` profile, next to lynx-agent."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from lynx.core import policy as lynx
from lynx.core import types as lynx_types

from bobcat import _core
from bobcat.ir import schema
from bobcat.ir.canonical import encode
from bobcat.ir.constants import to_const
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.frozen import FrozenDict
from programs import CONTEXT, METADATA, host_rule, request_of

DEFAULTS = schema.Defaults("deny", "approve_required", "continue")
EVERY = schema.AllExpr(())


def lynx_program(*rules: schema.AnyRule, host_rules: tuple[Any, ...] = ()) -> _core.Program:
    return _core.Program(encode(schema.IrPolicy(1, "lynx", 1, DEFAULTS, rules)), host_rules)


def plain(decision: Any) -> tuple[Any, ...]:
    args = decision.transform_args
    fields = (decision.verdict, decision.reason, decision.matched_rules, decision.approvers, decision.timeout_seconds)
    return (*fields, None if args is None else dict(args))


class Duck(SimpleNamespace):
    """An object with attributes, as good as a decision there."""


DUCK = Duck(verdict="allow", reason="", matched_rules=(), approvers=[], transform_args=None, timeout_seconds="x")
ANSWERS: list[Any] = [
    None,
    Decision(Verdict.DENY, "no"),
    Decision(Verdict.ALLOW, "yes", ("mine",), ("alice",), {"a": 1}, 5),
    Decision(Verdict.TRANSFORM, "new", (), (), {"a": 1}),
    Decision(Verdict.ALLOW, None),  # type: ignore[arg-type]
    Decision(Verdict.ALLOW, ["r"]),  # type: ignore[arg-type]
    Decision("allow"),  # type: ignore[arg-type]
    Decision(Verdict.ALLOW, matched_rules="xhostx"),  # type: ignore[arg-type]
    Decision(Verdict.ALLOW, matched_rules="abc"),  # type: ignore[arg-type]
    Decision(Verdict.ALLOW, matched_rules=["host"]),  # type: ignore[arg-type]
    Decision(Verdict.ALLOW, matched_rules=None),  # type: ignore[arg-type]
    DUCK,
    True,
    "allow",
    SimpleNamespace(matched_rules=()),
    ValueError("x"),
    KeyError("x"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
@pytest.mark.parametrize("failing", [False, True])
def test_a_host_rule_means_what_it_means_there(answer: Any, *, failing: bool) -> None:
    def host(request: Any, context: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    match = {"args.n.gt": "text"} if failing else {"tool": "other"}
    theirs = lynx.compile_policy(
        {"rules": [{"id": "first", "match": match, "decision": "allow", "priority": 1}]}, python_rules=(host,)
    )
    leaf = schema.Leaf("args", ("n",), "gt", "text") if failing else schema.Leaf("tool", (), "eq", "other")
    first = schema.IrRule("first", 1, leaf, "allow", "", (), None)
    ours = lynx_program(first, host_rule("host"), host_rules=(host,))
    request = request_of(n=1)
    assert plain(ours.evaluate(request)) == plain(lynx.evaluate(theirs, request, request.context))


TRANSFORMS: list[dict[str, Any]] = [
    {"set": {"a": [1]}},
    {"jsonpath": "$.args.cmd", "set": None},
    {"jsonpath": "$.args.new.deep", "set": 5},
    {"jsonpath": "$.args.cmd", "append": " -n"},
    {"jsonpath": "$.args.n", "append": 5},
    {"jsonpath": "$.args.none", "append": [1, {"a": None}]},
    {"jsonpath": "$.args.missing", "append": True},
    {"jsonpath": "$.args.list", "append": {"a": 1.5}},
    {"jsonpath": "$.args.cmd", "delete": False},
    {"jsonpath": "$.args.missing", "delete": True},
    {"append": "x"},
]


class Liar(dict[str, Any]):
    def keys(self) -> Any:
        return ["lie"]

    def __getitem__(self, key: str) -> Any:
        return "lied"

    def __iter__(self) -> Any:
        return iter(["lie"])


@pytest.mark.parametrize("spec", TRANSFORMS, ids=repr)
@pytest.mark.parametrize("wrap", [dict, MappingProxyType, Liar, lambda d: list(d.items()), lambda d: 5, FrozenDict])
def test_a_transform_means_what_it_means_there(spec: dict[str, Any], wrap: Any) -> None:
    theirs = lynx.compile_policy(
        {"rules": [{"id": "r", "match": {}, "decision": "transform", "reason": "why", "transform": spec}]}
    )
    op: Any = next(iter(spec.keys() - {"jsonpath"}))
    key = spec.get("jsonpath", "$.args").removeprefix("$.args.")
    transform = schema.Transform(op, (key,), None if op == "delete" else to_const(spec[op], "lynx"))
    ours = lynx_program(schema.IrRule("r", 0, EVERY, "transform", "why", (), None, transform))
    args = wrap({"cmd": "ls", "n": 1, "none": None, "list": [1]})
    request = ActionRequest("t", args, METADATA, CONTEXT)
    assert plain(ours.evaluate(request)) == plain(lynx.evaluate(theirs, request, request.context))


@pytest.mark.parametrize("reversible", [True, False, None, 0, 1, "", "x", [], [0]])
@pytest.mark.parametrize("has_shadow", [True, False, None, 0, "x", {}])
def test_the_default_goes_by_truth_as_there(reversible: Any, has_shadow: Any) -> None:
    declared: Any = dataclasses.replace(METADATA, reversible=reversible, has_shadow=has_shadow)
    request = ActionRequest("t", {}, declared, CONTEXT)
    expected = lynx.evaluate(lynx.compile_policy({}), request, request.context)
    assert plain(lynx_program().evaluate(request)) == plain(expected)


def test_requests_of_lynx_agent_are_requests() -> None:
    principal = lynx_types.Principal("user", "u")
    context = lynx_types.ExecutionContext(principal, "prod", ".", "", 0, CONTEXT.timestamp)
    request: Any = lynx_types.ActionRequest("t", {}, lynx_types.ToolMetadata("low", True, ("a",)), context)
    leaves = schema.AllExpr(
        (
            schema.Leaf("context", ("environment",), "eq", "prod"),
            schema.Leaf("context", ("principal", "id"), "eq", "u"),
            schema.Leaf("declared", ("scope",), "eq", {"tuple": ["a"]}),
        )
    )
    program = lynx_program(schema.IrRule("r", 0, leaves, "allow", "", (), None))
    assert program.evaluate(request).verdict is Verdict.ALLOW


def test_rules_read_the_request_and_host_rules_get_the_context_passed() -> None:
    seen: list[Any] = []
    rule = schema.IrRule("r", -1, schema.Leaf("context", ("environment",), "eq", "prod"), "allow", "", (), None)
    program = lynx_program(host_rule("spy"), rule, host_rules=(lambda *given: seen.append(given),))
    prod = dataclasses.replace(CONTEXT, environment="prod")
    assert program.evaluate(request_of(), prod).verdict is Verdict.DENY
    assert seen[0][1] is prod
