"""Method calls on values."""

from __future__ import annotations

import ast
import re
import types

from bobcat.frontend.python.analysis.bindings import MISSING
from bobcat.frontend.python.analysis.kinds import DATETIME_METHODS, OBJECTS
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering import (
    comprehensions,
    datetimes,
    dispatch_tables,
    formats,
    memory,
    origins,
    patterns,
)
from bobcat.frontend.python.lowering.arguments import positional
from bobcat.frontend.python.lowering.builtin_calls import TYPES
from bobcat.frontend.python.lowering.raising import SUPPORTED, type_error
from bobcat.frontend.suggest import closest
from bobcat.ir import code as ir

_INSTEAD_OF_METHOD = {
    "format": "write an f-string",
    "format_map": "write an f-string",
    "append": "append to a list that this function creates and does not share",
    "add": "add to a set that this function creates and does not share",
    "encode": "compare strings, not bytes",
    "translate": "use `replace`",
    "update": "write `{**one, **other}`",
    "setdefault": "write `if key not in d: d[key] = ...`",
    "strftime": "use the fields: `context.timestamp.hour`",
    "astimezone": "compare `context.timestamp.timestamp()`",
    "date": "compare it at once, `context.timestamp.date() == date(2026, 1, 1)`, or use the fields",
    "time": "compare it at once, `context.timestamp.time() < time(9)`, or use the fields",
    "copy": "write `list(x)` or `{**x}`",
}


def lower(node: ast.Call, func: ast.Attribute, f: Scope) -> ir.Code:
    """Lower a method call."""
    name = func.attr
    owner = f.static(func.value)
    if isinstance(owner, re.Pattern):
        return patterns.of_pattern(node, owner, name, f)
    day = datetimes.day_of_week(node, func, f)
    if day is not None:
        return day
    kind = f.kind(func.value)
    if kind in OBJECTS:
        if kind == "run":
            return memory.call(node, func, f)
        if f.kind(node) == "origin":
            return origins.truth(node, f)
        if kind == "origin":
            return origins.method(node, func, f)
        memory.check_read(func, kind, f)
        raise f.error_at(func, f"calls `{name}` of the {kind}", "use its fields: `request.args.get(...)`")
    if name == "copy" and kind == "dict" and not node.args and not node.keywords:
        return ir.Mapping(((None, f.value(func.value)),))
    if kind == "datetime" and name not in DATETIME_METHODS:
        raise f.error_at(
            node,
            f"calls `{name}` of a datetime",
            _INSTEAD_OF_METHOD.get(name, "use its fields: `context.timestamp.hour`"),
        )
    text = patterns.text_of(func.value, f) if name == "format" else None
    if text is not None:
        return formats.of_method(node, text, f)
    if name not in ir.METHODS:
        known = closest(name, sorted(ir.METHODS)) if owner is MISSING else None
        instead = SUPPORTED if known is None else f"did you mean `{known}`?"
        raise f.error_at(node, f"calls the method `{name}`", _INSTEAD_OF_METHOD.get(name, instead))
    of = (dispatch_tables.looked_up(func.value, f) if name == "get" else None) or f.value(func.value)
    if name == "join" and len(node.args) == 1 and not node.keywords:
        generator = comprehensions.generator(node.args[0], f)
        items = f.ordered(node.args[0]) if generator is None else comprehensions.collect("list", generator, f)
        return ir.Method(of, name, (items,))
    arguments = positional(node, name, f)
    if name in ("union", "intersection", "difference", "issubset", "issuperset", "isdisjoint"):
        return ir.Method(of, name, tuple(f.iterable(item) for item in arguments))
    return ir.Method(of, name, tuple(f.value(item) for item in arguments))


def unbound(node: ast.Call, method: types.MethodDescriptorType, f: Scope) -> ir.Code:
    """Lower `str.lower(x)`: a `TypeError` unless `x` has the type."""
    name = method.__name__
    if not node.args or node.keywords or name not in ir.METHODS:
        raise f.error_at(node, f"calls `{ast.unparse(node.func)}`", "call it as a method of the value")
    slot, local = f.temporary()
    first = ir.Bind(slot, f.value(node.args[0]))
    rest = tuple(f.value(item) for item in node.args[1:])
    if rest and not all(isinstance(item, ir.Constant) for item in rest):
        raise f.error_at(node, f"calls `{ast.unparse(node.func)}`", "call it as a method of the value")
    test = ir.And((ir.Display("tuple", (first,)), ir.IsInstance(local, (TYPES[method.__objclass__],))))
    return ir.IfElse(test, ir.Method(local, name, rest), type_error())
