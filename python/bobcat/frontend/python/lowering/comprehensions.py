"""Comprehensions, and generators passed to a builtin that consumes them at once."""

from __future__ import annotations

import ast
import dataclasses
import re
import types
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Any

from bobcat.frontend.python.analysis.bindings import MISSING, SlotBinding, Static
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

MAX_UNROLLED = 64
"""Patterns, functions or frozen objects in a table that a loop iterates over."""
_UNORDERED = frozenset({"set", "any", "all", "min", "max"})


def lower(node: ast.ListComp | ast.SetComp | ast.DictComp, f: Scope) -> ir.Code:
    """Lower a comprehension."""
    match node:
        case ast.ListComp():
            return collect("list", node, f)
        case ast.SetComp():
            return collect("set", node, f)
        case ast.DictComp():
            return collect("dict", node, f)


def collect(kind: ir.CollectKind, node: Comprehension, f: Scope, default: ir.Constant | None = None) -> ir.Code:
    """Lower a comprehension or generator into the collection `kind`."""
    items = unrolled(node.generators[0].iter, f) if len(node.generators) == 1 else None
    if items is not None and not isinstance(node, ast.DictComp):
        return _unrolled(kind, node, items, f, default)
    before = set(f.assigned)
    first = node.generators[0]
    over = f.iterable(first.iter) if kind in _UNORDERED else f.ordered(first.iter)
    scope: dict[str, Any] = {}  # Any: Binding
    f.scopes.append(scope)
    try:
        loops = []
        for index, loop in enumerate(node.generators):
            if loop.is_async:
                raise f.error_at(
                    loop.target, "uses `await` or `async for` in a rule, which is synchronous", "write a plain `for`"
                )
            later = {name for other in node.generators[index + 1 :] for name in _names(other.target)} - set(scope)
            read = [*loop.ifs, *([] if index == 0 else [loop.iter])]
            for name in (item for part in read for item in ast.walk(part) if isinstance(item, ast.Name)):
                if name.id in later:
                    raise f.error_at(name, f"reads `{name.id}` before its loop", "put the loops in order")
            if index:
                over = f.iterable(loop.iter) if kind in _UNORDERED else f.ordered(loop.iter)
            target_ = target(loop.target, scope, f)
            loops.append(ir.Loop(target_, over, tuple(f.raw(test) for test in loop.ifs)))
        if isinstance(node, ast.DictComp):
            return ir.Collect(kind, f.value(node.key), f.value(node.value), tuple(loops))
        if kind == "dict":
            match node.elt:
                case ast.Tuple(elts=[key, value]):
                    return ir.Collect(kind, f.value(key), f.value(value), tuple(loops))
                case _:
                    raise f.error_at(node.elt, "makes a dict of pairs", "write `{key: value for ...}`")
        value_ = f.raw(node.elt) if kind in ("any", "all") else f.value(node.elt)
        return ir.Collect(kind, None, value_, tuple(loops), default)
    finally:
        f.scopes.pop()
        f.assigned = before


def target(node: ast.expr, scope: dict[str, Any], f: Scope) -> ir.Target:  # Any: Binding
    """Return the target of a comprehension's loop, with its own slots."""

    match node:
        case ast.Name(id=name):
            slot = f.session.new_slot(name)
            scope[name] = SlotBinding(slot)
            return ir.SlotTarget(slot)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return ir.Unpack(tuple(target(item, scope, f) for item in items))
        case _:
            raise f.error_at(node, "assigns to something other than a name", "use a name")


def _names(node: ast.expr) -> Iterator[str]:
    return (item.id for item in ast.walk(node) if isinstance(item, ast.Name))


def unrolled(node: ast.expr, f: Scope) -> list[Any] | None:  # Any: every object
    """Return the items of a table of patterns, functions or frozen objects in a loop; None for any other expression."""

    if isinstance(node, ast.Tuple | ast.List):
        written = _written(node, f)
        found = None if written is MISSING else list(written)
        return found if found is not None and any(is_object(item) for item in found) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and f.static(node.func) is enumerate:
        return _numbered(node, f)
    view = "keys"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        view, table_node = node.func.attr, node.func.value
    else:
        table_node = node
    if not isinstance(table_node, ast.Name | ast.Attribute):
        return None
    table = f.static(table_node)
    if table is MISSING:
        return None
    items: list[Any]  # Any: every object
    if type(table) in (list, tuple) and table_node is node:
        items = list(table)
    elif type(table) in (dict, types.MappingProxyType) and view in ("items", "values"):
        items = list(table.items() if view == "items" else table.values())
    else:
        return None
    if not any(is_object(item) for item in items):
        return None
    f.constant_name(table_node, table)
    if len(items) > MAX_UNROLLED:
        raise f.error_at(
            node, f"iterates over more than {MAX_UNROLLED} patterns or functions", "join the patterns by `|`"
        )
    return items


def _numbered(node: ast.Call, f: Scope) -> list[Any] | None:  # Any: every object
    """Return the items of `enumerate(TABLE)` and `enumerate(TABLE, 1)`."""
    match node.args, node.keywords:
        case [over], []:
            start = 0
        case ([over, ast.Constant(value=int() as start)], []) | (
            [over],
            [ast.keyword(arg="start", value=ast.Constant(value=int() as start))],
        ):
            pass
        case _:
            return None
    items = unrolled(over, f)
    return None if items is None else list(enumerate(items, start))


def _written(node: ast.expr, f: Scope) -> Any:  # Any: every object, or MISSING
    """Return the items of a literal table in a loop: constants, and names of objects."""

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=items) | ast.List(elts=items):
            found = [_written(item, f) for item in items]
            return MISSING if any(item is MISSING for item in found) else tuple(found)
        case ast.Name() | ast.Attribute():
            return f.static(node)
        case _:
            return MISSING


def is_object(item: object) -> bool:
    """Return true if an item of a table is not plain data, so that a loop over it must be unrolled."""
    if isinstance(item, tuple):
        return hasattr(type(item), "_fields") or any(is_object(part) for part in item)
    return isinstance(item, re.Pattern) or callable(item) or dataclasses.is_dataclass(item)


def statics(node: ast.expr, item: Any, f: Scope) -> dict[str, Any]:  # Any: every object; Binding
    """Return the objects that the names of a target refer to for one item."""

    match node:
        case ast.Name(id=name):
            return {name: Static(item)}
        case ast.Tuple(elts=parts) if isinstance(item, tuple) and len(item) == len(parts):
            return {
                name: value
                for part, value in zip(parts, item, strict=True)
                for name, value in statics(part, value, f).items()
            }
        case _:
            raise f.error_at(
                node, "unpacks a table item with a different shape", "give all items the shape of the target"
            )


def _unrolled(
    kind: ir.CollectKind, node: Comprehension, items: list[Any], f: Scope, default: ir.Constant | None
) -> ir.Code:
    """Unroll a comprehension over a table of objects, in table order."""
    loop = node.generators[0]
    before = set(f.assigned)
    found: list[tuple[tuple[ir.Code, ...], ir.Code]] = []
    for item in items:
        f.scopes.append(statics(loop.target, item, f))
        try:
            tests = tuple(f.raw(test) for test in loop.ifs)
            element = node.elt if not isinstance(node, ast.DictComp) else node.value
            found.append((tests, f.raw(element) if kind in ("any", "all") else f.value(element)))
            if kind in ("sum", "min", "max") and f.kind(element) != "num":
                # An error of one value must be raised before the next value is computed.
                raise f.error_at(
                    element,
                    f"passes `{kind}` a value that may not be a number, over a table of objects",
                    "write a `for`",
                )
        finally:
            f.scopes.pop()
        f.assigned = set(before)
    match kind:
        case "any":
            return _as_bool(ir.Or(tuple(ir.And((*tests, value)) if tests else value for tests, value in found)))
        case "all":
            asked = [
                ir.Or((*(ir.NotTrue(test) for test in tests), value)) if tests else value for tests, value in found
            ]
            return _as_bool(ir.And(tuple(asked)))
        case "first":
            first: ir.Code = default if default is not None else ir.Constant(None)
            for tests, value in reversed(found):
                first = ir.IfElse(conjunction(tests), value, first) if tests else value
            return first
        case "list" | "set":
            parts: list[ir.Code] = [
                ir.IfElse(conjunction(tests), ir.Display(kind, (value,)), ir.Display(kind, ()))
                if tests
                else ir.Display(kind, (value,))
                for tests, value in found
            ]
            return reduce(partial(ir.Binary, "or" if kind == "set" else "add"), parts)
        case "sum" | "min" | "max":
            slot, local = f.temporary()
            over = _unrolled("list", node, items, f, None)
            return ir.Collect(kind, None, local, (ir.Loop(ir.SlotTarget(slot), over, ()),), default)
        case "dict":
            raise f.error_at(node, "makes a dict over a table of objects", "write a dict literal")


def _as_bool(joined: ir.Code) -> ir.Code:
    return ir.IfElse(joined, ir.Constant(True), ir.Constant(False))


def conjunction(tests: Sequence[ir.Code]) -> ir.Code:
    """Return code that is true if every test is."""
    if not tests:
        return ir.Constant(True)
    return tests[0] if len(tests) == 1 else ir.And(tuple(tests))


def mapped(node: ast.Call, f: Scope) -> ast.GeneratorExp | None:
    """Rewrite `map(function, items)` or `filter(function, items)` as a generator; None for any other call."""
    match node:
        case ast.Call(func=ast.Name(id="map" | "filter" as name), args=[function, items], keywords=[]):
            pass
        case _:
            return None
    if f.static(node.func) is not (map if name == "map" else filter):
        return None
    item = ast.Name("<item>", ast.Load())
    if isinstance(function, ast.Constant) and function.value is None:
        call: ast.expr = item
    else:
        call = ast.Call(function, [item], [])
    loop = ast.comprehension(ast.Name("<item>", ast.Store()), items, [call] if name == "filter" else [], 0)
    rewritten = ast.GeneratorExp(call if name == "map" else item, [loop])
    for part in (rewritten, call, item, loop.target):
        ast.copy_location(part, node)
    return rewritten


def generator(node: ast.expr, f: Scope) -> ast.GeneratorExp | None:
    """Return a generator, also one written as `map` or `filter`; None for any other expression."""
    if isinstance(node, ast.GeneratorExp):
        return node
    return mapped(node, f) if isinstance(node, ast.Call) else None
