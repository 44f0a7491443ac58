"""One object out of a table of functions, patterns or frozen objects: `HANDLERS.get(request.tool)`.

Which one it is, is known when the rule runs; what it does is known before. The table becomes one of numbers, and what
is done with its item is written out for each of them.
"""

from __future__ import annotations

import ast
import enum
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules import comprehensions
from bobcat.frontend.pyrules.bindings import MISSING, Chosen, Static
from bobcat.frontend.pyrules.kinds import Kind, join
from bobcat.frontend.pyrules.plain import is_scalar, plain
from bobcat.frontend.pyrules.refusal import CannotLower
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_ITEM = "<item>"


@dataclass(frozen=True, slots=True)
class Choice:
    """An expression that takes an item of a table: the table, how it is asked, and what the items are."""

    table: ast.expr
    key: ast.expr
    keys: tuple[object, ...]
    objects: tuple[Any, ...]  # Any: every object
    how: str
    or_none: bool


def choice(node: ast.expr, f: Function) -> Choice | None:
    """What an expression takes out of which table; None for any other expression."""
    default: Any = None
    match node:
        case ast.Subscript(value=ast.Name() | ast.Attribute() as table, slice=key) if not isinstance(
            key, ast.Constant | ast.Slice
        ):
            how = "item"
        case ast.Call(
            func=ast.Attribute(value=ast.Name() | ast.Attribute() as table, attr="get"), args=[key, *rest], keywords=[]
        ) if len(rest) < 2:
            how = "get"
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
    keys = tuple(plain(key) for key in found)
    if len(objects) > comprehensions.MAX_UNROLLED or not all(is_scalar(key) for key in keys):
        return None
    return Choice(table, key, keys, objects, how, how == "get" and default is None)


def _static(node: ast.expr, f: Function) -> Any:  # Any: every object, or MISSING
    if not isinstance(node, ast.Name | ast.Attribute):
        return MISSING
    try:
        return f.static(node)
    except CannotLower:
        return MISSING


def number(found: Choice, f: Function) -> ir.Code:
    """Which item an expression takes: its number, from one on, or None."""
    f.constant_name(found.table, {})
    numbers = f.constant(found.table, {key: index for index, key in enumerate(found.keys, 1)}, "the table")
    if found.how == "item":
        return ir.Item(numbers, f.value(found.key))
    args: list[ir.Code] = [f.value(found.key)]
    if not found.or_none:
        args.append(ir.Constant(len(found.objects)))
    return ir.Method(numbers, "get", tuple(args))


def numbered(node: ast.expr, f: Function) -> ir.Code | None:
    """A table of objects behind `in`: one with its keys; None for any other expression."""
    found = _static(node, f)
    if type(found) not in (dict, types.MappingProxyType):
        return None
    if not any(isinstance(key, enum.Enum) for key in found) and not any(map(comprehensions.is_object, found.values())):
        return None
    keys = [plain(key) for key in found]
    if not all(is_scalar(key) for key in keys):
        return None
    f.constant_name(node, found)
    return f.constant(node, dict.fromkeys(keys, 0), "the table")


def looked_up(node: ast.expr, f: Function) -> ir.Code | None:
    """A table of data by members of enumerations, where a key is looked up; None for any other expression."""
    found = _static(node, f)
    if type(found) not in (dict, types.MappingProxyType) or not any(isinstance(key, enum.Enum) for key in found):
        return None
    if not all(is_scalar(plain(key)) for key in found):
        return None
    f.constant_name(node, found)
    return f.constant(node, {plain(key): value for key, value in found.items()}, "the table")


def item_of(node: ast.expr, f: Function) -> tuple[ir.Code, ir.Code, Chosen] | None:
    """The number of an item, read first and read again, and what the items are; None for any other expression."""
    if isinstance(node, ast.Name):
        binding = f.resolve(node)
        if not isinstance(binding, Chosen):
            return None
        return ir.Local(binding.slot), ir.Local(binding.slot), binding
    found = choice(node, f)
    if found is None:
        return None
    slot, local = f.temporary()
    return ir.Bind(slot, number(found, f)), local, Chosen(slot, found.objects, found.or_none)


def each(
    node: ast.expr, item: ast.expr, otherwise: Callable[[], ir.Code], made: Callable[[ast.expr], ast.expr], f: Function
) -> ir.Code | None:
    """What `made` makes of an item, for whichever it is; None when `item` is no item of a table.

    `otherwise` is what becomes of None.
    """
    taken = item_of(item, f)
    if taken is None:
        return None
    first, again, chosen = taken
    before = set(f.assigned)
    kind: Kind | None = None
    branches: list[ir.Code] = []
    for value in chosen.objects:
        f.scopes.append({_ITEM: Static(value)})
        try:
            part = made(ast.copy_location(ast.Name(_ITEM, ast.Load()), item))
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
        code = ir.Item(ir.Display("tuple", (first, code)), ir.Constant(-1))
    return code
