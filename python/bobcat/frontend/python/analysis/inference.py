"""Static inference of the kinds of expressions and locals; see `kinds`."""

from __future__ import annotations

import ast
import re
import types

from bobcat.frontend.python.analysis.assignments import bound
from bobcat.frontend.python.analysis.bindings import MISSING
from bobcat.frontend.python.analysis.escape import DISPLAYED
from bobcat.frontend.python.analysis.kinds import (
    DATETIME_FIELDS,
    FIELDS,
    METHOD_KINDS,
    NUMBERS,
    ORIGINS,
    InferredKind,
    join,
    kind_of_product,
    kind_of_sum,
    kind_of_value,
)
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering import dispatch_tables
from bobcat.frontend.python.lowering.constructors import VERDICTS
from bobcat.model.decision import Decision

_ROUNDS = 6
_BUILT: dict[str, InferredKind] = {
    "str": "str", "repr": "str", "list": "list", "sorted": "list", "tuple": "tuple", "set": "set",
    "frozenset": "set", "dict": "dict",
}  # fmt: skip


def kind_of(node: ast.expr, f: Scope) -> InferredKind:
    """Infer the kind of an expression."""
    match node:
        case ast.Constant(value=value):
            return kind_of_value(value)
        case ast.JoinedStr():
            return "str"
        case ast.Tuple():
            return "tuple"
        case ast.Compare() | ast.UnaryOp():
            return "num"
        case ast.Name():
            return f.kind_of_name(node)
        case ast.NamedExpr(value=value):
            return kind_of(value, f)
        case ast.IfExp(body=then, orelse=otherwise):
            return join(kind_of(then, f), kind_of(otherwise, f)) or "any"
        case ast.BoolOp(values=values):
            kinds: InferredKind | None = None
            for value in values:
                kinds = join(kinds, kind_of(value, f))
            return kinds or "any"
        case ast.BinOp(left=left, op=op, right=right):
            return kind_of_operation(kind_of(left, f), op, kind_of(right, f))
        case ast.Attribute():
            return _kind_of_attribute(node, f)
        case ast.Subscript() if dispatch_tables.dispatch_table(node, f) is not None:
            return "choice"
        case ast.Subscript(value=value, slice=ast.Slice()):
            kind = kind_of(value, f)
            return kind if kind in ("str", "list", "tuple") else "any"
        case ast.Call():
            return _kind_of_call(node, f)
        case _:
            return DISPLAYED.get(type(node), "any")


def kind_of_operation(left: InferredKind, op: ast.operator, right: InferredKind) -> InferredKind:
    """Return the kind of a binary operation, if it has a value."""
    if "origin" in (left, right):
        return "origin"
    match op:
        case ast.Add():
            return kind_of_sum(left, right)
        case ast.Mult():
            return kind_of_product(left, right)
        case ast.Mod():
            return left if left in ("num", "str") else "any"
        case ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub() if {left, right} & {"set", "view"}:
            return "set"
        case ast.BitOr() if left == "dict" or right == "dict":
            return "dict"
        case _:
            return "num" if "num" in (left, right) else "any"


def _kind_of_attribute(node: ast.Attribute, f: Scope) -> InferredKind:
    of = kind_of(node.value, f)
    if of == "request" and node.attr == "run":
        return "run"
    if of in FIELDS:
        return FIELDS[of].get(node.attr, "any")
    if of == "datetime" and node.attr in DATETIME_FIELDS:
        return "num"
    value = f.known(node)
    return "any" if value is MISSING else kind_of_value(value)


def _kind_of_call(node: ast.Call, f: Scope) -> InferredKind:
    if id(node) in f.call_kinds:
        return f.call_kinds[id(node)][1]
    if dispatch_tables.dispatch_table(node, f) is not None:
        return "choice"
    match node.func:
        case ast.Name(id="sum") if len(node.args) + len(node.keywords) > 1:
            return "any"
        case ast.Name(id=name) if name in NUMBERS and name not in f.own:
            return "num"
        case ast.Name(id=name) if name in _BUILT and name not in f.own:
            return _BUILT[name]
        case ast.Name() | ast.Attribute() if _makes_decision(f.known(node.func)):
            return "decision"
        case ast.Attribute(value=value, attr=name):
            if isinstance(f.known(value), re.Pattern):
                return "any"
            of = kind_of(value, f)
            if (of == "request" and name in ORIGINS) or (of == "origin" and name in ("intersection", "difference")):
                return "origin"
            if of == "run":
                return "num"
            if name == "copy":
                return kind_of(value, f)
            return METHOD_KINDS.get(name, "any")
        case _:
            return "any"


def _makes_decision(value: object) -> bool:
    return value is Decision or (isinstance(value, types.FunctionType) and value in VERDICTS)


def infer(f: Scope) -> None:
    """Infer the kinds of a function's locals: the join over all values bound to each."""
    # In source order; self-dependent bindings come last, because an unknown kind is never refined.
    found = sorted(bound(f.source.node), key=lambda item: (isinstance(item[1], ast.AugAssign), _line(item[1])))
    for _ in range(_ROUNDS):
        before = dict(f.kinds)
        for name, value, target in found:
            f.kinds[name] = join(f.kinds.get(name), _kind_bound(value, target, f)) or "any"
        if f.kinds == before:
            return


def _line(value: ast.AST | None) -> tuple[int, int]:
    return (getattr(value, "lineno", 0), getattr(value, "col_offset", 0))


def _kind_bound(value: ast.expr | ast.AugAssign | None, target: int | None, f: Scope) -> InferredKind | None:
    match value:
        case None:
            return "any"
        case ast.AugAssign(target=ast.Name() as name, op=op, value=operand):
            return kind_of_operation(kind_of(name, f), op, kind_of(operand, f))
        case ast.AugAssign():
            return "any"
        case ast.Tuple(elts=items) | ast.List(elts=items) if target is not None:
            return kind_of(items[target], f) if target < len(items) else "any"
        case _:
            return "any" if target is not None else kind_of(value, f)
