"""The normal form keeps the meaning: every law of the constructors against the reference evaluator."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import campaign
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.ir.schema import AllExpr, AnyExpr, Dialect, Expr, Head, Leaf, NotExpr
from bobcat.model.request_json import request_from_json
from oracle.reference import evaluate_match

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, 1.5, 2.0]),
    st.sampled_from(["", "a", "b", "ab", "1"]),
)
NUMBERS = st.one_of(st.integers(-2, 2), st.sampled_from([-1.0, -0.0, 0.5, 1.0, 2.0]))
CONSTANTS = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from(["a", "b"]), SCALARS, max_size=2).map(lambda body: {"map": body}),
)
PATHS = st.sampled_from([("x",), ("y",), ("x", "a"), ()])


TEXTS = st.sampled_from(["", "a", "b", "ab", "B"])
REFS = st.sampled_from([construct.reference("args", ("y",)), construct.reference("context", ("environment",))])


@st.composite
def checks_of(draw: st.DrawFn, ops: list[str]) -> Any:
    """Tests as they are written: with repetitions, in any order, lists of one, floats that are integers."""
    found: list[Any] = []
    for op in draw(st.lists(st.sampled_from(ops), min_size=1, max_size=3)):
        match op:
            case "in":
                operand: Any = draw(st.lists(SCALARS, max_size=3))
            case "between":
                operand = sorted([draw(NUMBERS), draw(NUMBERS)])
            case "starts_with":
                operand = draw(st.one_of(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)))
            case "length":
                operand = draw(checks_of(["eq", "gt"]))
            case "lower":
                operand = draw(checks_of(["eq", "in"]))
            case _:
                operand = draw(st.one_of(NUMBERS if op == "gt" else SCALARS, REFS))
        found.append(construct.check(op, operand))  # type: ignore[arg-type]  # a Literal
    return construct.checks(found)


OPERATORS = [
    "eq", "in", "contains", "contains_any", "contains_all", "gt", "le", "between", "not_between", "exists",
    "starts_with", "ends_with", "length", "lower", "any", "all", "none",
]  # fmt: skip


@st.composite
def raw_leaves(draw: st.DrawFn) -> Leaf:
    path = draw(PATHS)
    op = draw(st.sampled_from(OPERATORS))
    operand: Any
    match op:
        case "starts_with" | "ends_with":
            operand = draw(st.one_of(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), REFS))
        case "length":
            operand = draw(checks_of(["eq", "in", "gt", "between"]))
        case "lower":
            operand = draw(checks_of(["eq", "in", "starts_with", "contains"]))
        case "any" | "all" | "none":
            operand = draw(checks_of(["eq", "in", "starts_with", "gt", "length", "lower"]))
        case "eq" | "contains" | "gt" if draw(st.integers(0, 4)) == 0:
            operand = draw(REFS)
        case "eq":
            operand = draw(CONSTANTS)
        case "in" | "contains_any":
            operand = draw(st.lists(SCALARS, max_size=4))
        case "contains_all":
            operand = draw(st.lists(SCALARS, min_size=1, max_size=4))
        case "contains":
            operand = draw(SCALARS)
        case "exists":
            operand = draw(st.booleans())
        case "between" | "not_between":
            operand = sorted([draw(NUMBERS), draw(NUMBERS)])
        case _:
            operand = draw(NUMBERS)
    return Leaf("args", path, op, operand)  # type: ignore[arg-type]


RAW = st.recursive(
    raw_leaves(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: AllExpr(tuple(items))),
        st.lists(inner, max_size=4).map(lambda items: AnyExpr(tuple(items))),
        inner.map(NotExpr),
    ),
    max_leaves=8,
)
VALUES = st.one_of(
    SCALARS,
    st.sampled_from([float("nan"), float("inf"), b"", "\ud800", 1 << 5000]),
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from(["a", "b"]), SCALARS, max_size=2),
    st.just({"a": float("nan")}),
    st.just([float("nan"), "a"]),
)
ARGUMENTS = st.dictionaries(st.sampled_from(["x", "y"]), VALUES, max_size=2)


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


def shuffled(expr: Expr) -> Expr:
    match expr:
        case AllExpr(items):
            return AllExpr((*(shuffled(item) for item in reversed(items)), *items[:1]))
        case AnyExpr(items):
            return AnyExpr((*(shuffled(item) for item in reversed(items)), *items[:1]))
        case NotExpr(item):
            return NotExpr(shuffled(item))
        case Leaf():
            if isinstance(expr.operand, dict) and "tests" in expr.operand:
                items = expr.operand["tests"]
                return Leaf(expr.head, expr.path, expr.op, {"tests": [*reversed(items), *items[:1]]})
            if isinstance(expr.operand, list) and expr.op in (
                "in", "contains_any", "contains_all", "starts_with", "ends_with",
            ):  # fmt: skip
                return Leaf(expr.head, expr.path, expr.op, [*reversed(expr.operand), *expr.operand[:1]])
            return expr


@settings(max_examples=campaign.examples(600), deadline=None)
@given(RAW, ARGUMENTS, st.booleans())
def test_the_normal_form_is_evaluated_like_the_written_form(
    raw: Expr, arguments: dict[str, Any], permits: bool
) -> None:
    request = request_from_json({"tool": "t", "args": arguments})
    assert evaluate_match(normal(raw), request, permits).kind is evaluate_match(raw, request, permits).kind


@settings(max_examples=campaign.examples(300), deadline=None)
@given(RAW)
def test_a_normal_form_is_its_own_normal_form(raw: Expr) -> None:
    once = normal(raw)
    assert encode(normal(once)) == encode(once)


@settings(max_examples=campaign.examples(300), deadline=None)
@given(RAW)
def test_order_and_repetition_do_not_change_the_normal_form(raw: Expr) -> None:
    assert encode(normal(shuffled(raw))) == encode(normal(raw))


X = Leaf("args", ("x",), "eq", 1)
Y = Leaf("args", ("y",), "eq", 2)
Z = Leaf("args", ("z",), "gt", 3)


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (construct.all_([]), construct.TRUE),
        (construct.any_([]), construct.FALSE),
        (construct.all_([X]), X),
        (construct.any_([Y]), Y),
        (construct.all_([X, X]), X),
        (construct.all_([X, construct.TRUE]), X),
        (construct.any_([X, construct.FALSE]), X),
        (construct.all_([X, construct.FALSE]), construct.FALSE),
        (construct.any_([X, construct.TRUE]), construct.TRUE),
        (construct.all_([Y, X]), AllExpr((X, Y))),
        (construct.all_([Z, construct.all_([Y, X])]), AllExpr((X, Y, Z))),
        (construct.any_([construct.any_([Y, X]), X]), AnyExpr((X, Y))),
        (construct.not_(construct.not_(X)), X),
        (construct.not_(construct.TRUE), construct.FALSE),
        (construct.not_(construct.FALSE), construct.TRUE),
        (construct.not_(X), NotExpr(X)),
        (construct.not_(construct.leaf("args", ("x",), "exists", True)), Leaf("args", ("x",), "exists", False)),
        (construct.leaf("args", ("x",), "in", [1]), X),
        (construct.leaf("args", ("x",), "in", [1.0, 1]), X),
        (construct.leaf("args", ("x",), "in", ["b", 1, "a", 1]), Leaf("args", ("x",), "in", ["a", "b", 1])),
        (construct.leaf("args", ("x",), "in", []), Leaf("args", ("x",), "in", [])),
        (construct.leaf("args", ("x",), "contains_any", ["a"]), Leaf("args", ("x",), "contains", "a")),
        (construct.leaf("args", ("x",), "contains_all", ["a", "a"]), Leaf("args", ("x",), "contains", "a")),
        (construct.leaf("args", ("x",), "eq", 1.0), X),
        (construct.leaf("args", ("x",), "starts_with", ["a"]), Leaf("args", ("x",), "starts_with", "a")),
        (construct.leaf("args", ("x",), "ends_with", ["b", "a", "b"]), Leaf("args", ("x",), "ends_with", ["a", "b"])),
        (
            construct.leaf("args", ("x",), "length", 5.0),
            Leaf("args", ("x",), "length", {"tests": [{"op": "eq", "operand": 5}]}),
        ),
        (
            construct.leaf(
                "args", ("x",), "any", construct.checks([construct.check("lt", 9), construct.check("in", [1.0, 1])])
            ),
            Leaf("args", ("x",), "any", {"tests": [{"op": "eq", "operand": 1}, {"op": "lt", "operand": 9}]}),
        ),
        (construct.leaf("args", ("x",), "eq", [1.0, "a"]), Leaf("args", ("x",), "eq", [1, "a"])),
        (construct.leaf("args", ("x",), "eq", {"map": {"k": -0.0}}), Leaf("args", ("x",), "eq", {"map": {"k": 0}})),
        (construct.leaf("args", ("x",), "between", [2, 2]), Leaf("args", ("x",), "between", [2, 2])),
    ],
)
def test_each_law_gives_its_documented_form(built: Expr, expected: Expr) -> None:
    assert encode(built) == encode(expected)


def test_a_bool_and_its_number_are_two_items() -> None:
    both = construct.any_([Leaf("args", ("x",), "eq", 1), Leaf("args", ("x",), "eq", True)])
    assert isinstance(both, AnyExpr)
    assert len(both.items) == 2
    assert construct.leaf("args", ("x",), "in", [True, 1]) == Leaf("args", ("x",), "in", [1, True])


HEADS: list[Head] = ["args", "context", "declared", "tool"]


@given(
    st.lists(st.tuples(st.sampled_from(HEADS), raw_leaves(), st.sampled_from([None, None, None, "re2"])), max_size=4)
)
def test_items_are_in_the_order_of_their_canonical_bytes(found: list[tuple[Head, Leaf, Dialect | None]]) -> None:
    leaves = [normal(replace(leaf, head=head, dialect=dialect)) for head, leaf, dialect in found]
    for joined, kind in ((construct.all_, AllExpr), (construct.any_, AnyExpr)):
        items = joined(leaves)
        assert [*map(encode, items.items if isinstance(items, kind) else (items,))] == sorted({*map(encode, leaves)})
