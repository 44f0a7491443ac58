"""In the `lynx` profile every operator does to every Python value what lynx-agent does, exceptions included."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType, SimpleNamespace
from typing import Any

import hypothesis.strategies as st
from hypothesis import assume, given, settings
from lynx.core import policy as lynx

import campaign
from bobcat import _core
from bobcat.ir import schema
from bobcat.ir.canonical import EncodingError, encode
from bobcat.ir.constants import from_const, to_const
from bobcat.model.decision import ActionRequest
from hostile_values import KEYS, SCALARS, TEXTS, values
from programs import CONTEXT, METADATA

DEFAULTS = schema.Defaults("deny", "approve_required", "continue")
EXOTIC: list[Any] = [
    float("nan"), float("inf"), b"abc", b"", {1, "a"}, {"abc"}, set(), ("a",), (1, 2), (), ((1,), "a"),
    date(2026, 1, 31), datetime(2026, 1, 31), datetime(2026, 1, 31, 12, tzinfo=UTC), {1: "a"}, {None: 1, "a": {2: 3}},
]  # fmt: skip

operands = st.recursive(
    st.sampled_from(SCALARS) | st.sampled_from(EXOTIC),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from([*TEXTS, "a", "k", 1, None]), inner, max_size=2)
    ),
    max_leaves=4,
)
lists = st.lists(operands, max_size=4) | st.lists(st.sampled_from(SCALARS), max_size=4)
pairs = st.one_of(
    st.lists(st.sampled_from([0, 1, 5, 0.5, -1, 2**70, float("nan")]), min_size=2, max_size=2),
    st.lists(st.sampled_from(TEXTS), min_size=2, max_size=2),
    st.lists(operands, min_size=2, max_size=2),
)
clauses = st.one_of(
    st.tuples(st.just("eq"), operands),
    st.tuples(st.just("in"), lists | st.sampled_from([{1, "a"}, ("a", 1), (None,)])),
    st.tuples(st.sampled_from(["contains", "gt", "ge", "lt", "le"]), operands),
    st.tuples(st.sampled_from(["contains_any", "contains_all"]), lists | operands),
    st.tuples(st.sampled_from(["between", "not_between"]), pairs),
    st.tuples(
        st.just("matches"), st.sampled_from(["a", "^abc$", r"\w+", "", "(?=a)a", r"(a)\1", "\U0001f600|é", "a$"])
    ),
)
paths = st.lists(st.sampled_from(["a", "k", "v", "eq", "zz", "abc"]), max_size=2).map(lambda keys: ("value", *keys))


def both(path: tuple[str, ...], op: str, operand: Any, *, negated: bool) -> tuple[lynx.PolicyBundle, _core.Program]:
    """One rule about one clause, as a policy of lynx-agent and as one of ours."""
    try:
        constant = to_const(operand, "lynx")
        # A copy that shares no NaN with the request: Python's containers look at identity first.
        clause: dict[str, Any] = {".".join([*path, op]): from_const(constant)}
        match = {"not": clause} if negated else clause
        theirs = lynx.compile_policy({"rules": [{"id": "r", "match": match, "decision": "allow"}]})
    except (lynx.PolicyCompileError, TypeError, EncodingError):
        assume(False)
        raise
    head: Any = path[0]
    dialect: Any = "python" if op == "matches" else None
    expression: schema.Expr = schema.Leaf(head, path[1:], op, constant, dialect)  # type: ignore[arg-type]
    if negated:
        expression = schema.NotExpr(expression)
    rule = schema.IrRule("r", 0, expression, "allow", "", (), None)
    return theirs, _core.Program(encode(schema.IrPolicy(1, "lynx", 1, DEFAULTS, (rule,))))


def same(theirs: lynx.PolicyBundle, ours: _core.Program, request: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = lynx.evaluate(theirs, request, request.context)
        decision = ours.evaluate(request, request.context)
    assert (decision.verdict, decision.reason, decision.matched_rules) == (
        expected.verdict,
        expected.reason,
        expected.matched_rules,
    )


@settings(max_examples=campaign.examples(700))
@given(clause=clauses, path=paths, value=values | operands, negated=st.booleans(), missing=st.booleans())
def test_a_clause_on_any_value_decides_as_in_lynx_agent(
    clause: tuple[str, Any], path: tuple[str, ...], value: Any, *, negated: bool, missing: bool
) -> None:
    theirs, ours = both(("args", *path), *clause, negated=negated)
    args = {} if missing else {"value": value}
    same(theirs, ours, ActionRequest("t", args, METADATA, CONTEXT))


class Odd:
    """An object whose attributes do what attributes can."""

    kind = "user"
    scope = ("a",)

    @property
    def id(self) -> str:
        raise AttributeError

    @property
    def name(self) -> str:
        raise LookupError


heads = st.sampled_from(
    [
        ("tool",),
        ("tool", "eq2"),
        ("args",),
        ("declared", "scope"),
        ("declared", "cost"),
        ("declared", "nothing"),
        ("declared", "scope", "count"),
        ("context", "environment"),
        ("context", "principal", "id"),
        ("context", "principal", "name"),
        ("context", "principal", "kind"),
        ("context", "principal", "nothing"),
        ("context", "extra"),
        ("context", "extra", "a"),
        ("context", "extra", "a", "k"),
        ("context", "timestamp"),
        ("context", "timestamp", "year"),
        ("context", "step_seq"),
    ]
)


@settings(max_examples=campaign.examples(300))
@given(
    clause=clauses,
    path=heads,
    negated=st.booleans(),
    principal=st.sampled_from([CONTEXT.principal, Odd(), None, {"kind": "user", "id": 5}]),
    extra=st.dictionaries(st.sampled_from(KEYS), values, max_size=3).flatmap(
        lambda entries: st.sampled_from([entries, MappingProxyType(entries), None])
    ),
    scope=st.sampled_from([(), ("a",), ["a"], "abc", None]),
    tool=st.sampled_from(["t", "abc", None, 5]),
)
def test_any_path_reads_what_lynx_agent_reads(
    clause: tuple[str, Any],
    path: tuple[str, ...],
    principal: Any,
    extra: Mapping[Any, Any] | None,
    scope: Any,
    tool: Any,
    *,
    negated: bool,
) -> None:
    theirs, ours = both(path, *clause, negated=negated)
    context = SimpleNamespace(
        principal=principal, environment="abc", workspace="", correlation_id="", step_seq=5, timestamp=CONTEXT.timestamp
    )
    if extra is not None:
        context.extra = extra
    declared = SimpleNamespace(reversible=True, scope=scope, has_shadow=False)
    same(theirs, ours, SimpleNamespace(tool=tool, args={"a": 1}, declared=declared, context=context))
