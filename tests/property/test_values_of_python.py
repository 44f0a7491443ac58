"""Every kind of Python value, ordinary and hostile, has the result of the reference evaluator."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

import campaign
from bobcat import _core
from bobcat.ir import construct, schema
from bobcat.ir.canonical import encode
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal
from hostile_values import NUMBERS, TEXTS, LoudDict, PlainMapping, readable_values, scalars, values
from oracle import reference
from programs import METADATA

constants = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.builds(lambda m: {"map": m}, st.dictionaries(st.sampled_from(["a", "k", "v"]), inner, max_size=2))
    ),
    max_leaves=5,
)
numbers, texts = st.sampled_from(NUMBERS), st.sampled_from(TEXTS)
ordered = numbers | texts
bounds = st.one_of(st.lists(numbers, min_size=2, max_size=2), st.lists(texts, min_size=2, max_size=2)).map(sorted)
paths = st.lists(st.sampled_from(["a", "k", "v", "é"]), max_size=2).map(lambda keys: ("value", *keys))


@st.composite
def leaves(draw: st.DrawFn) -> schema.Expr:
    """A clause about `args.value`, or below it."""
    op, operands = draw(
        st.sampled_from(
            [
                ("eq", constants),
                ("in", st.lists(scalars, min_size=1, max_size=4)),
                ("contains", scalars),
                ("contains_any", st.lists(scalars, max_size=3)),
                ("contains_all", st.lists(scalars, min_size=1, max_size=3)),
                ("gt", ordered),
                ("ge", ordered),
                ("lt", ordered),
                ("le", ordered),
                ("between", bounds),
                ("not_between", bounds),
                ("exists", st.booleans()),
                ("matches", st.sampled_from(["a", "^abc$", "[a-z]+", "", "x{3,}", "é|\U0001f600"])),
            ]
        )
    )
    dialect = "re2" if op == "matches" else None
    return construct.leaf("args", draw(paths), op, draw(operands), dialect)  # type: ignore[arg-type]


def program_of(policy: schema.IrPolicy) -> _core.Program:
    return _core.Program(encode(policy))


def request_of(args: Any) -> ActionRequest:
    context = ExecutionContext(Principal("user", "u"), "dev", ".", "", 0, datetime(2026, 1, 1, tzinfo=UTC))
    return ActionRequest("t", args, METADATA, context)


@settings(max_examples=campaign.examples(800))
@given(
    value=values,
    leaf=leaves(),
    verdict=st.sampled_from(["allow", "deny"]),
    negated=st.booleans(),
    wrap=st.sampled_from([dict, MappingProxyType, LoudDict, PlainMapping]),
)
def test_a_clause_on_any_value_is_what_the_reference_says(
    value: Any, leaf: schema.Expr, verdict: Any, *, negated: bool, wrap: Any
) -> None:
    match = construct.not_(leaf) if negated else leaf
    policy = construct.policy([construct.rule("r", match, verdict)])
    request = request_of(wrap({"value": value, "other": 1}))
    assert program_of(policy).evaluate(request) == reference.decide(policy, request)


@settings(max_examples=campaign.examples(200))
@given(
    when=st.datetimes(timezones=st.timezones() | st.just(UTC), allow_imaginary=False),
    operand=st.integers(-(2**40), 2**52),
    op=st.sampled_from(["eq", "gt", "ge", "lt", "le"]),
)
def test_timestamps_compare_to_the_microsecond(when: datetime, operand: int, op: Any) -> None:
    for micros in (operand, (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)):
        leaf = construct.leaf("context", ("timestamp",), op, {"timestamp": micros})
        policy = construct.policy([construct.rule("r", leaf, "allow")])
        context = ExecutionContext(Principal("user", "u"), "dev", ".", "", 0, when)
        request = request_of({})
        assert program_of(policy).evaluate(request, context) == reference.decide(policy, request, context)


transforms = st.one_of(
    st.builds(lambda p, v: construct.transform("set", p, v), paths, constants),
    st.builds(lambda p, v: construct.transform("append", p, v), paths, constants),
    st.builds(lambda p: construct.transform("delete", p, None), paths),
    st.builds(lambda v: construct.transform("set", (), {"map": {"value": v}}), constants),
)


def shape(value: Any) -> Any:
    """The parts of a value, by storage: elements of containers, values of builtin scalars, identity of the rest."""
    if isinstance(value, MappingProxyType):
        value = dict(value)
    if isinstance(value, dict):
        return {"map": sorted((repr(key), shape(item)) for key, item in dict.items(value))}
    if isinstance(value, list):
        return [shape(item) for item in list.__iter__(value)]
    return repr(value) if type(value) in (type(None), bool, int, float, str) else id(value)


@settings(max_examples=campaign.examples(400))
@given(
    value=readable_values,
    transform=transforms,
    guard=leaves(),
    wrap=st.sampled_from([dict, MappingProxyType, LoudDict]),
)
def test_a_transform_of_any_arguments_is_what_the_reference_says(
    value: Any, transform: schema.Transform, guard: schema.Expr, wrap: Any
) -> None:
    rules = [
        construct.rule("guard", guard, "deny"),
        construct.rule("rewrite", construct.all_([]), "transform", transform=transform),
    ]
    policy = construct.policy(rules)
    request = request_of(wrap({"value": value}))
    ours, theirs = program_of(policy).evaluate(request), reference.decide(policy, request)
    assert shape(ours.transform_args) == shape(theirs.transform_args)
    assert dataclasses.replace(ours, transform_args=None) == dataclasses.replace(theirs, transform_args=None)
