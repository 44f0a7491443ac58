"""The kinds of expressions and of locals, found without running anything: see `kinds`."""

from __future__ import annotations

import ast
import re
import types
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bobcat.frontend.pyrules import choices
from bobcat.frontend.pyrules.bindings import MISSING
from bobcat.frontend.pyrules.constructors import VERDICTS
from bobcat.frontend.pyrules.kinds import (
    DATETIME_FIELDS,
    FIELDS,
    METHOD_KINDS,
    NUMBERS,
    Kind,
    join,
    kind_of_product,
    kind_of_sum,
    kind_of_value,
)
from bobcat.frontend.pyrules.refusal import CannotLower
from bobcat.frontend.pyrules.source import FunctionNode
from bobcat.model import Decision

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_ROUNDS = 6
_BUILT: dict[str, Kind] = {
    "str": "str", "repr": "str", "list": "list", "sorted": "list", "tuple": "tuple", "set": "set",
    "frozenset": "set", "dict": "dict",
}  # fmt: skip


def kind_of(node: ast.expr, f: Function) -> Kind:
    """What is known of the value of an expression."""
    match node:
        case ast.Constant(value=value):
            return kind_of_value(value)
        case ast.JoinedStr():
            return "str"
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Tuple():
            return "tuple"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return "num"
        case ast.UnaryOp():
            return "num"
        case ast.Name():
            return f.kind_of_name(node)
        case ast.NamedExpr(value=value):
            return kind_of(value, f)
        case ast.IfExp(body=then, orelse=otherwise):
            return join(kind_of(then, f), kind_of(otherwise, f)) or "any"
        case ast.BoolOp(values=values):
            kinds: Kind | None = None
            for value in values:
                kinds = join(kinds, kind_of(value, f))
            return kinds or "any"
        case ast.BinOp(left=left, op=op, right=right):
            return kind_of_operation(kind_of(left, f), op, kind_of(right, f))
        case ast.Attribute():
            return _kind_of_attribute(node, f)
        case ast.Subscript() if choices.choice(node, f) is not None:
            return "choice"
        case ast.Subscript(value=value, slice=ast.Slice()):
            kind = kind_of(value, f)
            return kind if kind in ("str", "list", "tuple") else "any"
        case ast.Call():
            return _kind_of_call(node, f)
        case _:
            return "any"


def kind_of_operation(left: Kind, op: ast.operator, right: Kind) -> Kind:
    """The kind of a binary operation, where it has a value at all."""
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


def _kind_of_attribute(node: ast.Attribute, f: Function) -> Kind:
    of = kind_of(node.value, f)
    if of in FIELDS:
        return FIELDS[of].get(node.attr, "any")
    if of == "datetime" and node.attr in DATETIME_FIELDS:
        return "num"
    return _kind_of_static(node, f)


def _kind_of_static(node: ast.expr, f: Function) -> Kind:
    try:
        value = f.static(node)
    except CannotLower:
        return "any"
    return "any" if value is MISSING else kind_of_value(value)


def _kind_of_call(node: ast.Call, f: Function) -> Kind:
    if id(node) in f.call_kinds:
        return f.call_kinds[id(node)][1]
    if choices.choice(node, f) is not None:
        return "choice"
    match node.func:
        case ast.Name(id="sum") if len(node.args) + len(node.keywords) > 1:
            return "any"
        case ast.Name(id=name) if name in NUMBERS and name not in f.own:
            return "num"
        case ast.Name(id=name) if name in _BUILT and name not in f.own:
            return _BUILT[name]
        case ast.Name() | ast.Attribute() if _makes_decision(_object_of(node.func, f)):
            return "decision"
        case ast.Attribute(value=value, attr=name):
            if isinstance(_object_of(value, f), re.Pattern):
                return "any"
            if name == "copy":
                return kind_of(value, f)
            return METHOD_KINDS.get(name, "any")
        case _:
            return "any"


def _makes_decision(value: object) -> bool:
    return value is Decision or (isinstance(value, types.FunctionType) and value in VERDICTS)


def _object_of(node: ast.expr, f: Function) -> object:
    try:
        return f.static(node)
    except CannotLower:
        return None


def infer(f: Function) -> None:
    """Find the kinds of the locals of a function: the join over everything that is bound to them."""
    # In the order of the text, and what builds on itself last: an unknown kind is never forgotten.
    bound = sorted(_bound(f.source.node), key=lambda item: (isinstance(item[1], ast.AugAssign), _line(item[1])))
    for _ in range(_ROUNDS):
        before = dict(f.kinds)
        for name, value, target in bound:
            f.kinds[name] = join(f.kinds.get(name), _kind_bound(value, target, f)) or "any"
        if f.kinds == before:
            return


def _line(value: ast.AST | None) -> tuple[int, int]:
    return (getattr(value, "lineno", 0), getattr(value, "col_offset", 0))


def _kind_bound(value: ast.expr | ast.AugAssign | None, target: int | None, f: Function) -> Kind | None:
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


_Bound = tuple[str, ast.expr | ast.AugAssign | None, int | None]


def _bound(function: FunctionNode) -> Iterator[_Bound]:
    """Every binding of a name by the body of a function: the name, the value, and its place in an unpacking."""
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _targets(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _targets(target, value)
            case ast.NamedExpr(target=target, value=value):
                yield from _targets(target, value)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name, node, None
            case ast.For(target=target):
                yield from ((item.id, None, None) for item in ast.walk(target) if isinstance(item, ast.Name))
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                yield name, None, None
            case ast.MatchMapping(rest=str() as name):
                yield name, None, None
            case _:
                pass


def _targets(target: ast.expr, value: ast.expr) -> Iterator[_Bound]:
    match target:
        case ast.Name(id=name):
            yield name, value, None
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for index, item in enumerate(items):
                if isinstance(item, ast.Name):
                    yield item.id, value, index
                else:
                    yield from (
                        (inner.id, None, None)
                        for inner in ast.walk(item)
                        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
                    )
        case _:
            pass


def own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    """The nodes of a function's body; those of functions inside of it are theirs."""
    todo: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else [*function.body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))


def bound_once(function: FunctionNode) -> frozenset[str]:
    """The names that a function's body binds in one place, its parameters not among them."""
    args = function.args
    parameters = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg]
    places = Counter(parameters)
    for node in own_nodes(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                places[name] += 1
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                places[name] += 1
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                places[name] += 1
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                places.update((alias.asname or alias.name).partition(".")[0] for alias in names)
            case _:
                pass
    return frozenset(name for name, count in places.items() if count == 1 and name not in parameters)


def value_of(function: FunctionNode, name: str) -> ast.expr | None:
    """What an assignment of a function's body gives a name and nothing else; None when there is none."""
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return value
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                return value
            case _:
                pass
    return None
