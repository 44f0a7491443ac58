"""Dispatch on a table of functions, patterns or frozen objects: `HANDLERS.get(request.tool)`.

The chosen item is known at run time, the items at compile time. The table is lowered to item numbers, and the code
that uses the item is repeated for each item.
"""

from __future__ import annotations

import ast
import enum
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bobcat.frontend.python.analysis.bindings import MISSING, DispatchedObject, Static
from bobcat.frontend.python.analysis.enum_values import enum_value, is_scalar
from bobcat.frontend.python.analysis.kinds import InferredKind, join
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering import comprehensions
from bobcat.frontend.python.lowering.operators import after
from bobcat.ir import code as ir

_ITEM = "<item>"


@dataclass(frozen=True, slots=True)
class DispatchTable:
    """A lookup in a table: the table, the lookup expression, and the items."""

    table: ast.expr
    key: ast.expr
    keys: tuple[object, ...]
    objects: tuple[Any, ...]  # Any: every object
    access: str
    or_none: bool


def dispatch_table(node: ast.expr, f: Scope) -> DispatchTable | None:
    """Return the table lookup of an expression; None for any other expression."""
    default: Any = None
    match node:
        case ast.Subscript(value=ast.Name() | ast.Attribute() as table, slice=key) if not isinstance(
            key, ast.Constant | ast.Slice
        ):
            access = "item"
        case ast.Call(
            func=ast.Attribute(value=ast.Name() | ast.Attribute() as table, attr="get"), args=[key, *rest], keywords=[]
        ) if len(rest) < 2:
            access = "get"
            if rest and not (isinstance(rest[0], ast.Constant) and rest[0].value is None):
                default = _static(rest[0], f)
        case _:
            return None
    found = _static(table, f)
    if type(found) not in (dict, types.MappingProxyType) or default is MISSING:
        return None
    objects = (*found.values(), *([] if default is None else [default]))
    if not objects or not all(comprehensions.is_object(item) and bool(item) for item in objects):
        return None
    keys = tuple(enum_value(key) for key in found)
    if len(objects) > comprehensions.MAX_UNROLLED or not all(is_scalar(key) for key in keys):
        return None
    return DispatchTable(table, key, keys, objects, access, access == "get" and default is None)


def _static(node: ast.expr, f: Scope) -> Any:  # Any: every object, or MISSING
    return f.known(node) if isinstance(node, ast.Name | ast.Attribute) else MISSING


def number(found: DispatchTable, f: Scope) -> ir.Code:
    """Lower a table lookup to the item's number, counted from one, or None."""
    f.constant_name(found.table, {})
    numbers = f.constant(found.table, {key: index for index, key in enumerate(found.keys, 1)}, "the table")
    if found.access == "item":
        return ir.Item(numbers, f.value(found.key))
    args: list[ir.Code] = [f.value(found.key)]
    if not found.or_none:
        args.append(ir.Constant(len(found.objects)))
    return ir.Method(numbers, "get", tuple(args))


def numbered(node: ast.expr, f: Scope) -> ir.Code | None:
    """Lower a table of objects after `in` to a table of its keys; None for any other expression."""
    found = _static(node, f)
    if type(found) not in (dict, types.MappingProxyType):
        return None
    if not any(isinstance(key, enum.Enum) for key in found) and not any(map(comprehensions.is_object, found.values())):
        return None
    keys = [enum_value(key) for key in found]
    if not all(is_scalar(key) for key in keys):
        return None
    f.constant_name(node, found)
    return f.constant(node, dict.fromkeys(keys, 0), "the table")


def looked_up(node: ast.expr, f: Scope) -> ir.Code | None:
    """Lower a table of data keyed by enumeration members; None for any other expression."""
    found = _static(node, f)
    if type(found) not in (dict, types.MappingProxyType) or not any(isinstance(key, enum.Enum) for key in found):
        return None
    if not all(is_scalar(enum_value(key)) for key in found):
        return None
    f.constant_name(node, found)
    return f.constant(node, {enum_value(key): value for key, value in found.items()}, "the table")


def item_of(node: ast.expr, f: Scope) -> tuple[ir.Code, ir.Code, DispatchedObject] | None:
    """Return the item number (first read, later read) and the items; None for any other expression."""
    if isinstance(node, ast.Name):
        binding = f.resolve(node)
        if not isinstance(binding, DispatchedObject):
            return None
        return ir.Local(binding.slot), ir.Local(binding.slot), binding
    found = dispatch_table(node, f)
    if found is None:
        return None
    slot, local = f.temporary()
    return ir.Bind(slot, number(found, f)), local, DispatchedObject(slot, found.objects, found.or_none)


def each(
    node: ast.expr, item: ast.expr, otherwise: Callable[[], ir.Code], apply: Callable[[ast.expr], ast.expr], f: Scope
) -> ir.Code | None:
    """Apply `apply` to each item of a table, selected by item number; None if `item` is not a table item.

    `otherwise` is the code for None.
    """
    taken = item_of(item, f)
    if taken is None:
        return None
    first, again, chosen = taken
    before = set(f.assigned)
    kind: InferredKind | None = None
    branches: list[ir.Code] = []
    for value in chosen.objects:
        f.scopes.append({_ITEM: Static(value)})
        try:
            part = apply(ast.copy_location(ast.Name(_ITEM, ast.Load()), item))
            ast.copy_location(part, node)
            branches.append(f.value(part))
            kind = join(kind, f.kind(part))
        finally:
            f.scopes.pop()
        f.assigned = set(before)
    f.call_kinds[id(node)] = (node, kind or "any")
    code = otherwise() if chosen.or_none else branches.pop()
    for index in range(len(branches), 0, -1):
        test: ir.Code = ir.Compare(again if index > 1 else first, ("eq",), (ir.Constant(index),))
        code = ir.IfElse(test, branches[index - 1], code)
    if not branches:
        code = after([first], code)
    return code
