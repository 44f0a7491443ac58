"""Hypothesis strategies for strict policies, as IR in normal form, and for requests to try them on.

Names and values come from small pools, so that rules and requests meet: most clauses find their argument, many compare
equal.
"""

from __future__ import annotations

import math
from collections import ChainMap, UserDict
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from bobcat.frontend.yaml.timestamps import microseconds
from bobcat.ir import construct
from bobcat.ir.constants import to_const
from bobcat.ir.schema import Defaults, Expr, IrPolicy, IrRule
from bobcat.language.kinds import OperandForm, OperandKind
from bobcat.language.operators import LOWERED_TO, NESTING, OPERATORS, ROWS
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata

KEYS = ["a", "b", "c"]
TEXTS = ["", "a", "b", "ab", "abc", "5", "é", "\U0001f600", "a\nb", "prod"]
PATTERNS = ["a", "^a", "b$", "^ab$", r"\d", ".", "^$", "(?i)PROD", "[^a]", "a|5", "", r"\bab\b", "é"]
NUMBERS: list[Any] = [0, 1, 2, -1, 5, 0.5, 2.5, -0.0, 1.0, 2**53, 2**53 + 1, float(2**53), 2**64, -(2**70), 1e300]
MOMENT = datetime(2026, 1, 31, 12, tzinfo=UTC)

scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.sampled_from(TEXTS))
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)


class IntSubclass(int):
    """An integer whose own operators lie."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __lt__(self, other: object) -> bool:
        return False


class StrSubclass(str):
    """A string whose own operators lie."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __str__(self) -> str:
        return "lie"


class DictSubclass(dict[Any, Any]):
    """A mapping whose own methods lie."""

    def __getitem__(self, key: Any) -> Any:
        raise ZeroDivisionError

    def get(self, key: Any, default: Any = None) -> Any:
        return "lie"

    def keys(self) -> Any:
        raise ZeroDivisionError


class BrokenMapping(Mapping[Any, Any]):
    """A mapping that fails whenever it is asked."""

    def __getitem__(self, key: Any) -> Any:
        raise ZeroDivisionError

    def __iter__(self) -> Any:
        raise ZeroDivisionError

    def __len__(self) -> int:
        raise ZeroDivisionError


hostile_values = st.sampled_from(
    [
        math.nan,
        math.inf,
        -math.inf,
        "\ud800",
        "a\udfff",
        2**4096,
        -(2**4096),
        2**4096 - 1,
        b"a",
        Decimal(5),
        {1, "a"},
        frozenset(),
        date(2026, 1, 31),
        datetime(2026, 1, 31),
        MOMENT,
        1 + 0j,
        object,
        (1, "a"),
        (),
        IntSubclass(5),
        StrSubclass("ab"),
        {1: 2, "a": 1},
        {"\ud800": 1, "a": 2},
        DictSubclass(a=1, b={"c": 5}),
        MappingProxyType({"a": 1}),
        UserDict({"a": 1, "b": {"c": 2}}),
        UserDict(),
        ChainMap({"a": 1}, {"b": "ab"}),
        BrokenMapping(),
        [math.nan, "a"],
        ["a", math.nan],
        [1, b"a"],
        {"a": math.nan},
    ]
)


def _wrapped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
        | st.lists(inner, max_size=2).map(tuple)
    )


_common = st.one_of(st.sampled_from(TEXTS), st.sampled_from([0, 1, 2, 5, 0.5, 2.5]), scalars)
_any = st.recursive(st.one_of(scalars, hostile_values), _wrapped, max_leaves=6)
values = st.one_of(_common, _common, _common, _wrapped(_common), _any)

arg_paths = st.lists(st.sampled_from(KEYS), max_size=3).map(tuple)
_fields: list[tuple[str, tuple[str, ...]]] = [
    ("tool", ()),
    ("declared", ("cost",)),
    ("declared", ("reversible",)),
    ("declared", ("scope",)),
    ("declared", ("blast_radius_hint",)),
    ("declared", ("isolation",)),
    ("declared", ("effect",)),
    ("context", ("environment",)),
    ("context", ("step_seq",)),
    ("context", ("principal", "kind")),
    ("context", ("principal", "name")),
    ("context", ("extra",)),
    ("context", ("extra", "a")),
    ("context", ("extra", "a", "b")),
    ("context", ("timestamp",)),
]
paths = st.one_of(
    arg_paths.map(lambda path: ("args", path)),
    arg_paths.map(lambda path: ("args", path)),
    st.sampled_from(_fields),
)


def _bounds(pool: list[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.sampled_from(pool), st.sampled_from(pool)).map(lambda pair: sorted(pair))


def operands(op: str) -> st.SearchStrategy[Any]:
    match OPERATORS[op].operand:
        case OperandForm.VALUE:
            return st.one_of(scalars, json_values)
        case OperandForm.PATTERN:
            return st.sampled_from(PATTERNS)
        case OperandForm.SCALARS | OperandForm.PARTS:
            return st.lists(scalars, max_size=4)
        case OperandForm.SOME_PARTS:
            return st.lists(scalars, min_size=1, max_size=3)
        case OperandForm.PART:
            return scalars
        case OperandForm.BOOL:
            return st.booleans()
        case OperandForm.TEXTS:
            return st.sampled_from(TEXTS) | st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3)
        case OperandForm.BOUNDS:
            return _bounds(NUMBERS) | _bounds(TEXTS)
        case OperandForm.BOUND:
            return st.sampled_from(NUMBERS + TEXTS)
    raise AssertionError(op)


_APART = {OperandForm.PLACES, OperandForm.SOURCES}
"""Operands of operators that have generators of their own: `test_occurrence.py`, `test_run_state.py`."""
_ROWS = [row for row in ROWS if row.name not in LOWERED_TO and row.operand not in _APART]
_OPERATORS = ["eq", *(row.name for row in _ROWS)]
_COUNTED = [row.name for row in _ROWS if OperandKind.COUNT in row.kinds]
_LOWERED = [row.name for row in _ROWS if OperandKind.LOWER in row.kinds]
_counts = st.integers(0, 3)


def refs(op: str) -> st.SearchStrategy[Any]:
    """Operands that are the value at another path."""
    return paths.map(lambda path: construct.reference(*path))


def _plain_or_ref(op: str) -> st.SearchStrategy[Any]:
    plain = operands(op).map(to_const)
    return st.one_of(plain, plain, refs(op)) if OPERATORS[op].reference else plain


@st.composite
def _one_test(draw: st.DrawFn, ops: list[str], depth: int) -> Any:
    op = draw(st.sampled_from(ops))
    if op in NESTING:
        return construct.check(op, draw(nested(op, depth)))  # type: ignore[arg-type]  # a Literal
    return construct.check(op, draw(_plain_or_ref(op)), "re2" if op == "matches" else None)  # type: ignore[arg-type]


def nested(op: str, depth: int = 0) -> st.SearchStrategy[Any]:
    """The operand of a nesting operator."""
    match op:
        case "length" | "byte_length":
            items = st.one_of(_counted_tests(), _one_test(["eq", "gt", "le"], depth))
        case "lower":
            items = _one_test(_LOWERED, depth)
        case _:
            ops = [name for name in _OPERATORS if not OPERATORS[name].path_only and (depth < 2 or name not in NESTING)]
            items = _one_test(ops, depth + 1)
    return st.lists(items, min_size=1, max_size=2).map(construct.checks)


@st.composite
def _counted_tests(draw: st.DrawFn) -> Any:
    op = draw(st.sampled_from(_COUNTED))
    match OPERATORS[op].operand:
        case OperandForm.SCALARS:
            operand: Any = draw(st.lists(_counts, max_size=3))
        case OperandForm.BOUNDS:
            operand = sorted(draw(st.tuples(_counts, _counts)))
        case _:
            operand = draw(_counts)
    return construct.check(op, operand)  # type: ignore[arg-type]  # a Literal


@st.composite
def leaves(draw: st.DrawFn) -> Expr:
    head, path = draw(paths)
    op = draw(st.sampled_from(_OPERATORS))
    if path == ("timestamp",):
        op = draw(st.sampled_from(["gt", "le", "eq", "between"]))
        moments = [{"timestamp": microseconds(MOMENT.isoformat()) + delta} for delta in (-1, 0, 1)]
        picked = draw(st.lists(st.sampled_from(moments), min_size=2, max_size=2))
        bounds = sorted(picked, key=lambda moment: moment["timestamp"])
        return construct.leaf(head, path, op, bounds if op == "between" else picked[0])
    operand = draw(nested(op)) if op in NESTING else draw(_plain_or_ref(op))
    return construct.leaf(head, path, op, operand, "re2" if op == "matches" else None)


exprs: st.SearchStrategy[Expr] = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(construct.all_),
        st.lists(inner, max_size=3).map(construct.any_),
        inner.map(construct.not_),
    ),
    max_leaves=6,
)


@st.composite
def transforms(draw: st.DrawFn) -> Any:
    op = draw(st.sampled_from(["set", "set", "append", "delete"]))
    path = tuple(draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3)))
    if op == "set" and draw(st.integers(0, 5)) == 0:
        return construct.transform(
            op, (), to_const(draw(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=2)))
        )
    return construct.transform(op, path, None if op == "delete" else to_const(draw(json_values)))


OBLIGATIONS = st.builds(
    construct.obligation, st.sampled_from(["notify", "page"]), st.sampled_from(["a", 4, None, ["x"]]),
    st.sampled_from(["before", "after"]),
)  # fmt: skip


@st.composite
def rules(draw: st.DrawFn, index: int) -> IrRule:
    verdict = draw(st.sampled_from(["allow", "deny", "dry_run", "approve_required", "transform", "transform"]))
    approval = verdict == "approve_required"
    return construct.rule(
        f"r{index}",
        draw(exprs),
        verdict,
        priority=draw(st.integers(-1, 2)),
        reason=draw(st.sampled_from(["", "because"])),
        approvers=draw(st.lists(st.sampled_from(["alice", "bob"]), max_size=2, unique=True)) if approval else (),
        timeout_seconds=draw(st.sampled_from([None, 0, 30, 0.5])) if approval else None,
        transform=draw(transforms()) if verdict == "transform" else None,
        obligations=draw(st.one_of(st.just([]), st.just([]), st.lists(OBLIGATIONS, max_size=2))),
        monitored=draw(st.sampled_from([False, False, False, False, True])),
    )


@st.composite
def policies(draw: st.DrawFn) -> IrPolicy:
    """A strict policy of up to six rules."""
    defaults = Defaults(
        draw(st.sampled_from(["allow", "deny", "dry_run", "approve_required"])),
        draw(st.sampled_from(["allow", "deny", "approve_required"])),
        draw(st.sampled_from(["deny", "deny", "continue"])),
    )
    count = draw(st.integers(0, 6))
    return construct.policy([draw(rules(index)) for index in range(count)], defaults=defaults)


def _requests(content: st.SearchStrategy[Any]) -> st.SearchStrategy[ActionRequest]:
    declared = st.builds(
        ToolMetadata,
        st.sampled_from(["low", "high"]),
        st.booleans(),
        st.lists(st.sampled_from(TEXTS), max_size=2).map(tuple),
        st.sampled_from([None, 1, 5]),
        st.booleans(),
        st.sampled_from([None, "a"]),
        st.sampled_from(["unsafe", "keyed"]),
    )
    principal = st.builds(Principal, st.sampled_from(["user", "agent"]), st.just("x"), st.sampled_from([None, "a"]))
    context = st.builds(
        ExecutionContext,
        principal,
        st.sampled_from(["prod", "a"]),
        st.just("."),
        st.just("c"),
        st.integers(0, 3),
        st.sampled_from([MOMENT, MOMENT + timedelta(microseconds=1), MOMENT - timedelta(days=1)]),
        st.dictionaries(st.sampled_from(KEYS), content, max_size=2),
    )
    args = st.dictionaries(st.sampled_from(KEYS), content, max_size=3)
    return st.builds(ActionRequest, st.sampled_from(["a", "ab", "b"]), args, declared, context)


requests = _requests(values)
"""Requests with any Python value in them."""

json_requests = _requests(json_values)
"""Requests that JSON can carry."""
