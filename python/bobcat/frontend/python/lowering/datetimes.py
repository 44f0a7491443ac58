"""Times of day and dates: `ctx.timestamp.time() < time(9)` and `ctx.timestamp.date() in HOLIDAYS`.

Python compares both field by field; the lowered code compares tuples of their fields.
"""

from __future__ import annotations

import ast
import datetime
from typing import Any

from bobcat.frontend.python.analysis.bindings import MISSING
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

_FIELDS: dict[str, tuple[str, ...]] = {
    "time": ("hour", "minute", "second", "microsecond"),
    "date": ("year", "month", "day"),
}
_CLASSES: dict[str, type] = {"time": datetime.time, "date": datetime.date}
_TABLES = (tuple, list, set, frozenset)


def part_of(node: ast.expr, f: Scope) -> tuple[str, ast.expr] | None:
    """Return the part (`time` or `date`) and the datetime of `x.time()` or `x.date()`; None for any other
    expression.
    """
    if isinstance(node, ast.Name):
        aliased = f.alias(node)
        return None if aliased is None else part_of(aliased, f)
    match node:
        case ast.Call(func=ast.Attribute(value=of, attr="time" | "date" as name), args=[], keywords=[]) if (
            f.kind(of) == "datetime"
        ):
            return name, of
        case _:
            return None


def compared(node: ast.Compare, operators: list[ir.CompareOperator], f: Scope) -> ir.Code | None:
    """Lower a comparison of parts of datetimes; None for any other comparison."""
    operands = [node.left, *node.comparators]
    found = [part_of(item, f) for item in operands]
    names = {part[0] for part in found if part is not None}
    if not names:
        return None
    if len(names) > 1 or "is" in operators or "is_not" in operators:
        raise f.error_at(node, "compares a time of day with a date", "compare times with times")
    name = names.pop()
    codes = [
        _operand(name, item, part, under_in=index > 0 and operators[index - 1] in ("in", "not_in"), f=f)
        for index, (item, part) in enumerate(zip(operands, found, strict=True))
    ]
    return ir.Compare(codes[0], tuple(operators), tuple(codes[1:]))


def field(node: ast.Attribute, f: Scope) -> ir.Code | None:
    """Lower `x.time().hour`; None for any other attribute."""
    part = part_of(node.value, f)
    if part is None or node.attr not in _FIELDS[part[0]]:
        return None
    return ir.Attribute(f.value(part[1]), node.attr)


def day_of_week(node: ast.Call, func: ast.Attribute, f: Scope) -> ir.Code | None:
    """Lower `x.date().weekday()`; None for any other call."""
    part = part_of(func.value, f)
    if part is None or part[0] != "date" or func.attr not in ("weekday", "isoweekday") or node.args or node.keywords:
        return None
    return ir.Method(f.value(part[1]), func.attr, ())


def _operand(name: str, item: ast.expr, part: tuple[str, ast.expr] | None, *, under_in: bool, f: Scope) -> ir.Code:
    if part is not None:
        return ir.Display("tuple", tuple(ir.Attribute(f.value(part[1]), key) for key in _FIELDS[name]))
    value = _constant(item, f)
    if under_in and type(value) in _TABLES and all(_is_class(name, each) for each in value):
        return f.constant(item, type(value)(_fields(name, each) for each in value), ast.unparse(item))
    if not under_in and _is_class(name, value):
        return f.constant(item, _fields(name, value), ast.unparse(item))
    raise f.error_at(
        item,
        f"compares a {'time of day' if name == 'time' else 'date'} with something else",
        f"compare it with a constant `datetime.{name}(...)` of the module",
    )


def _constant(item: ast.expr, f: Scope) -> Any:  # Any: every object
    """Resolve an object known at compile time, or constructed from numbers in the comparison."""
    match item:
        case ast.Call(func=func, args=args, keywords=[]) if f.static(func) in (datetime.time, datetime.date) and all(
            isinstance(arg, ast.Constant) and type(arg.value) is int for arg in args
        ):
            try:
                return f.static(func)(*(arg.value for arg in args if isinstance(arg, ast.Constant)))
            except (TypeError, ValueError) as error:
                raise f.error_at(item, f"has a time that Python rejects: {error}", "correct the numbers") from error
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return tuple(_constant(each, f) for each in items)
        case ast.Name() | ast.Attribute():
            return f.static(item)
        case _:
            return MISSING


def _is_class(name: str, value: object) -> bool:
    return type(value) is _CLASSES[name] and getattr(value, "tzinfo", None) is None


def _fields(name: str, value: object) -> tuple[int, ...]:
    return tuple(getattr(value, key) for key in _FIELDS[name])
