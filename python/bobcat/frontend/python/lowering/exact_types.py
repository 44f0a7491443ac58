"""`type(x) is int` and similar: tests for exactly one type, excluding subclasses."""

from __future__ import annotations

import ast

from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

_NAMES: dict[object, str] = {bool: "bool", float: "float", int: "int", str: "str", type(None): "NoneType"}
"""Exact types of request values; lists and dicts of a request have types of their own."""


def lower(node: ast.Compare, f: Scope) -> ir.Code | None:
    """Lower a comparison of `type(x)`; None for any other comparison."""
    match node:
        case ast.Compare(left=ast.Call(func=func, args=[of], keywords=[]), ops=[op], comparators=[other]) if (
            isinstance(func, ast.Name) and f.static(func) is type
        ):
            pass
        case _:
            return None
    match op, other:
        case (ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq(), _):
            wanted = [other]
        case (ast.In() | ast.NotIn(), ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items)):
            wanted = items
        case _:
            raise f.error_at(node, "compares a type", "write `isinstance(...)`")
    names = [_named(item, f) for item in wanted]
    slot, local = f.temporary()
    bound = ir.Display("tuple", (ir.Bind(slot, f.value(of)),))
    tests = tuple(_is_exactly(name, local) for name in names)
    found = ir.And((bound, ir.Or(tests) if len(tests) > 1 else tests[0])) if tests else ir.NotTrue(bound)
    return ir.NotTrue(found) if isinstance(op, ast.IsNot | ast.NotEq | ast.NotIn) else found


def none_type(node: ast.expr, f: Scope) -> bool:
    """Return true if an expression is `type(None)`."""
    match node:
        case ast.Call(func=ast.Name() as func, args=[ast.Constant(value=None)], keywords=[]):
            return f.static(func) is type
        case _:
            return False


def _named(node: ast.expr, f: Scope) -> str:
    kind = type(None) if none_type(node, f) else f.static(node)
    if isinstance(kind, type) and kind in _NAMES:
        return _NAMES[kind]
    raise f.error_at(node, "compares a type with something other than str, int, float, bool", "write `isinstance(...)`")


def _is_exactly(name: str, of: ir.Code) -> ir.Code:
    test = ir.IsInstance(of, (name,))
    return ir.And((test, ir.NotTrue(ir.IsInstance(of, ("bool",))))) if name == "int" else test
