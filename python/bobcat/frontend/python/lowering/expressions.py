"""Expressions: one node of Python to one node of code."""

from __future__ import annotations

import ast
import enum
import operator as operators_of
from collections.abc import Callable
from functools import partial, reduce
from itertools import groupby
from typing import Any

from bobcat.frontend.python.analysis.bindings import (
    MISSING,
    Alias,
    DispatchedObject,
    Parameter,
    SlotBinding,
    Static,
)
from bobcat.frontend.python.analysis.enum_values import enum_value, is_scalar, is_value_enum
from bobcat.frontend.python.analysis.kinds import DATETIME_FIELDS, FIELDS, OBJECTS, InferredKind
from bobcat.frontend.python.analysis.scope import Nested, Scope
from bobcat.frontend.python.lowering import (
    calls,
    comprehensions,
    datetimes,
    dispatch_tables,
    exact_types,
    facets,
    formats,
    memory,
    origins,
    patterns,
    texts,
)
from bobcat.frontend.python.lowering.operators import BINARY, binary
from bobcat.frontend.python.lowering.raising import SUPPORTED, no_attribute
from bobcat.frontend.suggest import closest
from bobcat.ir import code as ir

_COMPARE: dict[type[ast.cmpop], ir.CompareOperator] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.In: "in", ast.NotIn: "not_in", ast.Is: "is", ast.IsNot: "is_not",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], ir.UnaryOperator] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_SPECIFIC: dict[type[ast.AST], tuple[str, str]] = {
    ast.Await: (
        "uses `await` in a rule, which is synchronous",
        "read what it needs before the call, into `context.extra`",
    ),
    ast.Yield: ("yields", "return a decision, or None"),
    ast.YieldFrom: ("yields", "return a decision, or None"),
    ast.Lambda: ("keeps a function as a value", "name it with `def` and call it by that name"),
    ast.GeneratorExp: ("keeps a generator", "pass it to `any`, `all`, `sum` or `list` at once, or write a list"),
    ast.Starred: ("unpacks with `*` here", "write out the parts"),
}


def lower(node: ast.expr, f: Scope) -> ir.Code:
    """Lower an expression."""
    match node:
        case ast.Constant(value=value):
            return f.constant(node, value, "the constant")
        case ast.Name():
            return _name(node, f)
        case ast.Attribute():
            return _attribute(node, f)
        case ast.Subscript():
            return _subscript(node, f)
        case ast.Call():
            return calls.lower(node, f)
        case ast.Compare():
            return _compare(node, f)
        case ast.BoolOp(op=op, values=values):
            return _connective(isinstance(op, ast.And), values, f)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ir.NotTrue(f.raw(operand))
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(node, _UNARY[type(op)], operand, f)
        case ast.BinOp() if f.kind(node) == "origin":
            return origins.truth(node, f)
        case ast.BinOp() if (number := folded(node)) is not None:
            return f.constant(node, number, "the constant")
        case ast.BinOp(left=left, op=ast.Mod()) if (text := patterns.text_of(left, f)) is not None:
            return formats.of_operator(node, text, f)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.Sub() as op, right=right) if (
            _are_keys(left, f) or _are_keys(right, f)
        ):
            # These operators treat keys as a set, and convert the other operand to one.
            return ir.Binary(BINARY[type(op)], _as_set(left, f), _as_set(right, f))
        case ast.BinOp(left=left, op=op, right=right):
            return binary(node, op, (left, f.value(left)), right, f)
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            return _conditional(test, then, otherwise, f)
        case ast.Tuple(elts=items):
            return _display("tuple", items, f)
        case ast.List(elts=items):
            return _display("list", items, f)
        case ast.Set(elts=items):
            return _display("set", items, f)
        case ast.Dict(keys=keys, values=values):
            return ir.Mapping(
                tuple(
                    (None if key is None else f.value(key), f.value(value))
                    for key, value in zip(keys, values, strict=True)
                )
            )
        case ast.JoinedStr():
            return texts.lower(node, f)
        case ast.NamedExpr(target=target, value=value):
            return bind(target, value, f)
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return comprehensions.lower(node, f)
        case _:
            raise f.error_at(
                node, *_SPECIFIC.get(type(node), ("holds an expression that has no lowered form", SUPPORTED))
            )


def _name(node: ast.Name, f: Scope) -> ir.Code:
    match f.resolve(node):
        case SlotBinding(slot):
            if f.kind(node) == "mixed":
                raise f.error_at(
                    node, f"reads `{node.id}`, which is an object of the call on some paths only", "use two names"
                )
            owned = node.id in f.own and not any(node.id in scope for scope in f.scopes)
            if not f.is_certain(node.id) and (not owned or f.scopes or len(f.session.stack) > 1):
                raise f.error_at(node, f"reads `{node.id}`, which may be unassigned here", "assign it on every path")
            return ir.Local(slot)
        case DispatchedObject(slot):
            return ir.Local(slot)
        case Parameter(code):
            return code
        case Static(value):
            return f.constant(node, value, node.id)
        case Alias():
            raise f.error_at(node, f"uses `{node.id}` as a value", "call it, or compare it, where its value is needed")
        case Nested():
            raise f.error_at(node, f"keeps the function `{node.id}` as a value", "call it where its value is needed")


def _attribute(node: ast.Attribute, f: Scope) -> ir.Code:
    value = f.static(node)
    if value is not MISSING:
        return f.constant(node, value, ast.unparse(node))
    part = facets.part(node, f)
    if part is not None:
        return part
    kind = f.kind(node.value)
    found = (
        dispatch_tables.each(node, node.value, no_attribute, lambda item: ast.Attribute(item, node.attr, ast.Load()), f)
        if kind == "choice"
        else datetimes.field(node, f)
    )
    if found is not None:
        return found
    if kind in OBJECTS:
        if node.attr.startswith("_"):
            raise f.error_at(node, f"reads the private name `{node.attr}`", "use the fields of a request")
        memory.check_read(node, kind, f)
        if kind in FIELDS and node.attr not in FIELDS[kind]:
            f.warn_at(node, f"reads `{node.attr}`, which is not a field that {_OWNERS[kind]}", _field(kind, node.attr))
        return ir.Attribute(f.raw(node.value), node.attr)
    if node.attr in DATETIME_FIELDS:
        return ir.Attribute(f.value(node.value), node.attr)
    f.value(node.value)  # the object of the attribute may give a better reason
    instead = "values of a request have no attributes; write `x[...]` or `x.get(...)`"
    if kind == "datetime":
        instead = "use year, month, day, hour, minute, second, microsecond, weekday(), isoweekday() or timestamp()"
    raise f.error_at(node, f"reads the attribute `{node.attr}`", instead)


_OWNERS: dict[InferredKind, str] = {
    "request": "a request has", "context": "a context has", "declared": "a tool declares",
    "principal": "a principal has",
}  # fmt: skip
_FIELD_SYNONYMS: dict[tuple[InferredKind, str], str] = {
    ("context", "user"): "context.principal.id", ("context", "user_id"): "context.principal.id",
    ("context", "env"): "context.environment", ("context", "tool"): "request.tool", ("context", "now"):
    "context.timestamp", ("context", "time"): "context.timestamp", ("request", "name"): "request.tool",
    ("request", "tool_name"): "request.tool", ("request", "arguments"): "request.args", ("request", "params"):
    "request.args", ("request", "kwargs"): "request.args", ("request", "principal"): "context.principal",
    ("request", "environment"): "context.environment", ("request", "user"): "context.principal.id",
    ("request", "metadata"): "request.declared", ("principal", "role"): 'context.extra["role"]',
    ("principal", "roles"): 'context.extra["roles"]', ("principal", "email"): 'context.extra["email"]',
}  # fmt: skip
"""Common wrong field names, and the path of the value that they refer to."""


def _field(kind: InferredKind, name: str) -> str:
    intended = _FIELD_SYNONYMS.get((kind, name)) or closest(name, FIELDS[kind])
    if intended is not None:
        return f"write `{intended}`" if "." in intended else f"did you mean `{intended}`?"
    where = ", or read an argument: `request.args.get(...)`" if kind == "request" else ""
    where = ", or provide it there: `context.extra.get(...)`" if kind == "context" else where
    return f"its fields are {', '.join(FIELDS[kind])}{where}"


def _subscript(node: ast.Subscript, f: Scope) -> ir.Code:
    value = f.static(node)
    if value is not MISSING:
        return f.constant(node, value, ast.unparse(node))
    chosen = dispatch_tables.dispatch_table(node, f)
    if chosen is not None:
        return dispatch_tables.number(chosen, f)
    of = dispatch_tables.looked_up(node.value, f) or f.value(node.value)
    if isinstance(node.slice, ast.Slice):
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        start, stop, step = (None if bound is None else f.value(bound) for bound in bounds)
        return ir.Slice(of, start, stop, step)
    return ir.Item(of, f.value(node.slice))


def _compare(node: ast.Compare, f: Scope) -> ir.Code:
    operands = [node.left, *node.comparators]
    operators = [_COMPARE[type(op)] for op in node.ops]
    if any(f.kind(operand) == "origin" for operand in operands):
        return origins.compared(node, f)
    asked = exact_types.lower(node, f)
    if asked is not None:
        return asked
    moment = datetimes.compared(node, operators, f)
    if moment is not None:
        return moment
    with_none = [False] * len(operands)
    for index, operator in enumerate(operators):
        if operator in ("is", "is_not"):
            pair = operands[index : index + 2]
            if not any(isinstance(item, ast.Constant) and _is_singleton(item.value) for item in pair):
                raise f.error_at(node, "compares by identity", "write `==`; `is` is for None, True and False")
            with_none[index] = with_none[index + 1] = True
    lowered = []
    for index, item in enumerate(operands):
        identity = with_none[index] and all(
            operators[at] in ("is", "is_not") for at in (index - 1, index) if 0 <= at < len(operators)
        )
        under_in = index > 0 and operators[index - 1] in ("in", "not_in")
        members = _members(item, f) if under_in else None
        if members is not None:
            lowered.append(members)
        else:
            lowered.append(
                f.raw(item) if identity else f.iterable(item) if under_in else _operand(node, item, operands, f)
            )
    return ir.Compare(lowered[0], tuple(operators), tuple(lowered[1:]))


def _is_singleton(value: object) -> bool:
    return value is None or value is True or value is False


def _operand(node: ast.Compare, item: ast.expr, operands: list[ast.expr], f: Scope) -> ir.Code:
    """Lower an operand of a comparison: a member of a string or integer enumeration compares as its value."""
    value = f.static(item) if isinstance(item, ast.Attribute | ast.Name) else MISSING
    if is_value_enum(value):
        return f.constant(item, enum_value(value), ast.unparse(item))
    if f.kind(item) == "view":
        if any(f.kind(other) == "set" for other in operands if other is not item):
            return ir.CallFunction("set", (f.raw(item),))
        raise f.error_at(item, "compares a view of a dict", "compare `set(...)` of the dict")
    return f.value(item)


def _members(item: ast.expr, f: Scope) -> ir.Code | None:
    """Lower a table of enumeration members after `in` to a table of their values; None for any other operand."""
    match item:
        case ast.Tuple(elts=[*items]) | ast.List(elts=[*items]) | ast.Set(elts=[*items]) if items:
            found = [f.static(part) if isinstance(part, ast.Attribute) else MISSING for part in items]
            if not all(isinstance(part, enum.Enum) for part in found):
                return None
            table: Any = set(found) if isinstance(item, ast.Set) else tuple(found)
        case ast.Name() | ast.Attribute():
            table = f.static(item)
            if (numbered := dispatch_tables.numbered(item, f)) is not None:
                return numbered
        case _:
            return None
    if type(table) not in (tuple, list, set, frozenset) or not any(isinstance(part, enum.Enum) for part in table):
        return None
    if not all(is_value_enum(part) or is_scalar(part) for part in table):
        return None
    return f.constant(item, type(table)(enum_value(part) for part in table), ast.unparse(item))


def _connective(is_and: bool, values: list[ast.expr], f: Scope) -> ir.Code:
    lowered = [f.raw(values[0])]
    known = set(f.assigned)
    lowered.extend(f.raw(value) for value in values[1:])
    f.assigned = known  # names that later operands bind may be unbound
    return ir.And(tuple(lowered)) if is_and else ir.Or(tuple(lowered))


def _conditional(test: ast.expr, then: ast.expr, otherwise: ast.expr, f: Scope) -> ir.Code:
    condition, known = lower_test(test, f)
    before = set(f.assigned)
    f.assigned |= known
    first = f.raw(then)
    f.assigned = set(before)
    second = f.raw(otherwise)
    f.assigned = before
    return ir.IfElse(condition, first, second)


def lower_test(node: ast.expr, f: Scope) -> tuple[ir.Code, set[str]]:
    """Lower a condition; return it with the names that are assigned when it is true."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        f.count(node)
        before: set[str] | None = None
        items = []
        known: set[str] = set()
        for value in node.values:
            item, names = lower_test(value, f)
            items.append(item)
            known |= names | f.assigned
            before = set(f.assigned) if before is None else before
            f.assigned |= known
        f.assigned = before or set()
        return ir.And(tuple(items)), known
    return f.raw(node), set(f.assigned)


def _unary(node: ast.expr, operator: ir.UnaryOperator, operand: ast.expr, f: Scope) -> ir.Code:
    if isinstance(operand, ast.Constant) and type(operand.value) in (int, float) and operator == "neg":
        return f.constant(node, -operand.value, "the constant")  # type: ignore[operator]  # a number, just above
    return ir.Unary(operator, f.value(operand))


_FOLDED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operators_of.add, ast.Sub: operators_of.sub, ast.Mult: operators_of.mul, ast.BitOr: operators_of.or_,
    ast.BitAnd: operators_of.and_, ast.Pow: operators_of.pow, ast.LShift: operators_of.lshift,
    ast.RShift: operators_of.rshift,
}  # fmt: skip
_MOST = 1024


def folded(node: ast.expr) -> int | None:
    """Evaluate literal integer arithmetic; None for any other expression, or for a large result."""
    match node:
        case ast.Constant(value=int() as number) if type(number) is int:
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FOLDED:
            one, other = folded(left), folded(right)
            if one is None or other is None or one.bit_length() > _MOST or other.bit_length() > _MOST:
                return None
            if isinstance(op, ast.Pow | ast.LShift | ast.RShift) and not 0 <= other <= _MOST:
                return None
            result = _FOLDED[type(op)](one, other)
            return result if result.bit_length() <= _MOST else None
        case _:
            return None


def _are_keys(node: ast.expr, f: Scope) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="keys"), args=[], keywords=[]):
            return f.kind(node) == "view"
        case _:
            return False


def _as_set(node: ast.expr, f: Scope) -> ir.Code:
    return f.value(node) if f.kind(node) == "set" else ir.CallFunction("set", (f.iterable(node),))


def _display(kind: Any, items: list[ast.expr], f: Scope) -> ir.Code:  # Any: a literal
    if not any(isinstance(item, ast.Starred) for item in items):
        return ir.Display(kind, tuple(f.value(item) for item in items))
    part_kind: Any = "set" if kind == "set" else "list"  # Any: a literal
    spread = f.iterable if kind == "set" else f.ordered
    parts: list[ir.Code] = []
    for starred, group in groupby(items, lambda item: isinstance(item, ast.Starred)):
        if starred:
            values = [item.value for item in group if isinstance(item, ast.Starred)]
            parts += [ir.CallFunction(part_kind, (spread(value),)) for value in values]
        else:
            parts.append(ir.Display(part_kind, tuple(f.value(item) for item in group)))
    joined = reduce(partial(ir.Binary, "or" if kind == "set" else "add"), parts)
    return ir.CallFunction("tuple", (joined,)) if kind == "tuple" else joined


def bind(target: ast.Name, value: ast.expr, f: Scope) -> ir.Code:
    """Lower `(name := value)`; in a comprehension the name belongs to the function."""
    chosen = dispatch_tables.dispatch_table(value, f) if target.id in f.once else None
    if chosen is not None:
        return ir.Bind(choose(target, chosen, f), dispatch_tables.number(chosen, f))
    lowered = f.value(value)
    binding = f.local(target.id)
    if not isinstance(binding, SlotBinding):
        raise f.error_at(target, f"gives `{target.id}` a second value", "use another name")
    f.assigned.add(target.id)  # until the end of an enclosing comprehension
    return ir.Bind(binding.slot, lowered)


def choose(target: ast.Name, chosen: dispatch_tables.DispatchTable, f: Scope) -> int:
    """Return the slot of a name for a table item."""
    slot = f.session.new_slot(target.id)
    f.bindings[target.id] = DispatchedObject(slot, chosen.objects, chosen.or_none)
    f.assigned.add(target.id)
    return slot
