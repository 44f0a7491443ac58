"""Expressions: one node of Python to one node of code."""

from __future__ import annotations

import ast
import enum
import operator as operators_of
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules import calls, choices, comprehensions, exact_types, formats, moments, patterns, texts
from bobcat.frontend.pyrules.bindings import MISSING, Alias, Chosen, Nested, Parameter, Slot, Static
from bobcat.frontend.pyrules.kinds import DATETIME_FIELDS, FIELDS, OBJECTS, Kind
from bobcat.frontend.pyrules.plain import has_value, is_scalar, plain
from bobcat.frontend.suggest import closest
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_COMPARE: dict[type[ast.cmpop], ir.CompareOperator] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.In: "in", ast.NotIn: "not_in", ast.Is: "is", ast.IsNot: "is_not",
}  # fmt: skip
BINARY: dict[type[ast.operator], ir.BinaryOperator] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], ir.UnaryOperator] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_SPECIFIC: dict[type[ast.AST], tuple[str, str]] = {
    ast.Await: ("awaits, and a decision is not awaited", "read what it needs before the call, into `context.extra`"),
    ast.Yield: ("yields", "return a decision, or None"),
    ast.YieldFrom: ("yields", "return a decision, or None"),
    ast.Lambda: ("keeps a function as a value", "give it a name with `def` and call it by that name"),
    ast.GeneratorExp: ("keeps a generator", "hand it to `any`, `all`, `sum` or `list` at once, or write a list"),
    ast.Starred: ("unpacks with `*` here", "name the parts"),
}


def lower(node: ast.expr, f: Function) -> ir.Code:
    """The code of an expression."""
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
        case ast.BinOp() if (number := folded(node)) is not None:
            return f.constant(node, number, "the constant")
        case ast.BinOp(left=left, op=ast.Mod()) if (text := patterns.text_of(left, f)) is not None:
            return formats.of_operator(node, text, f)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.Sub() as op, right=right) if (
            _are_keys(left, f) or _are_keys(right, f)
        ):
            # Keys are a set to these, and what stands beside them is made one.
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
            problem = _SPECIFIC.get(
                type(node), ("holds an expression that has no lowered form", "write it in the subset")
            )
            raise f.cannot(node, *problem)


def _name(node: ast.Name, f: Function) -> ir.Code:
    match f.resolve(node):
        case Slot(slot):
            if f.kind(node) == "mixed":
                raise f.cannot(node, f"reads `{node.id}`, which may be an object of the call or not", "use two names")
            owned = node.id in f.own and not any(node.id in scope for scope in f.scopes)
            if not f.is_certain(node.id) and (not owned or f.scopes or f.session.stack_depth > 1):
                raise f.cannot(
                    node, f"reads `{node.id}`, which may have no value here", "give it a value before, on every way"
                )
            return ir.Local(slot)
        case Chosen(slot):
            return ir.Local(slot)
        case Parameter(code):
            return code
        case Static(value):
            return f.constant(node, value, node.id)
        case Alias():
            raise f.cannot(node, f"uses `{node.id}` as a value", "call it, or compare it, where its value is needed")
        case Nested():
            raise f.cannot(node, f"keeps the function `{node.id}` as a value", "call it where its value is needed")


def _attribute(node: ast.Attribute, f: Function) -> ir.Code:
    value = f.static(node)
    if value is not MISSING:
        return f.constant(node, value, ast.unparse(node))
    kind = f.kind(node.value)
    found = (
        choices.each(node, node.value, no_attribute, lambda item: ast.Attribute(item, node.attr, ast.Load()), f)
        if kind == "choice"
        else moments.field(node, f)
    )
    if found is not None:
        return found
    if kind in OBJECTS:
        if node.attr.startswith("_"):
            raise f.cannot(node, f"reads the private name `{node.attr}`", "use the fields of a request")
        if kind in FIELDS and node.attr not in FIELDS[kind]:
            f.mistake(node, f"reads `{node.attr}`, which is nothing that {_OWNERS[kind]}", _field(kind, node.attr))
        return ir.Attribute(f.raw(node.value), node.attr)
    if node.attr in DATETIME_FIELDS:
        return ir.Attribute(f.value(node.value), node.attr)
    f.value(node.value)  # what it is an attribute of may be the better reason
    instead = "values of a request have no attributes; write `x[...]` or `x.get(...)`"
    if kind == "datetime":
        instead = "use year, month, day, hour, minute, second, microsecond, weekday(), isoweekday() or timestamp()"
    raise f.cannot(node, f"reads the attribute `{node.attr}`", instead)


_OWNERS: dict[Kind, str] = {
    "request": "a request has", "context": "a context has", "declared": "a tool declares",
    "principal": "a principal has",
}  # fmt: skip
_ELSEWHERE: dict[tuple[Kind, str], str] = {
    ("context", "user"): "context.principal.id", ("context", "user_id"): "context.principal.id",
    ("context", "env"): "context.environment", ("context", "tool"): "request.tool", ("context", "now"):
    "context.timestamp", ("context", "time"): "context.timestamp", ("request", "name"): "request.tool",
    ("request", "tool_name"): "request.tool", ("request", "arguments"): "request.args", ("request", "params"):
    "request.args", ("request", "kwargs"): "request.args", ("request", "principal"): "context.principal",
    ("request", "environment"): "context.environment", ("request", "user"): "context.principal.id",
    ("request", "metadata"): "request.declared", ("principal", "role"): 'context.extra["role"]',
    ("principal", "roles"): 'context.extra["roles"]', ("principal", "email"): 'context.extra["email"]',
}  # fmt: skip
"""Names that people guess, and where that is which they mean."""


def _field(kind: Kind, name: str) -> str:
    meant = _ELSEWHERE.get((kind, name)) or closest(name, FIELDS[kind])
    if meant is not None:
        return f"write `{meant}`" if "." in meant else f"did you mean `{meant}`?"
    where = ", or read an argument: `request.args.get(...)`" if kind == "request" else ""
    where = ", or put it there: `context.extra.get(...)`" if kind == "context" else where
    return f"its fields are {', '.join(FIELDS[kind])}{where}"


def no_attribute() -> ir.Code:
    """What Python answers to an attribute of None."""
    return ir.Method(ir.Constant(None), "lower", ())


def _subscript(node: ast.Subscript, f: Function) -> ir.Code:
    value = f.static(node)
    if value is not MISSING:
        return f.constant(node, value, ast.unparse(node))
    chosen = choices.choice(node, f)
    if chosen is not None:
        return choices.number(chosen, f)
    of = choices.looked_up(node.value, f) or f.value(node.value)
    if isinstance(node.slice, ast.Slice):
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        start, stop, step = (None if bound is None else f.value(bound) for bound in bounds)
        return ir.Slice(of, start, stop, step)
    return ir.Item(of, f.value(node.slice))


def _compare(node: ast.Compare, f: Function) -> ir.Code:
    operands = [node.left, *node.comparators]
    operators = [_COMPARE[type(op)] for op in node.ops]
    asked = exact_types.lower(node, f)
    if asked is not None:
        return asked
    moment = moments.compared(node, operators, f)
    if moment is not None:
        return moment
    with_none = [False] * len(operands)
    for index, operator in enumerate(operators):
        if operator in ("is", "is_not"):
            pair = operands[index : index + 2]
            if not any(isinstance(item, ast.Constant) and _is_singleton(item.value) for item in pair):
                raise f.cannot(node, "compares by identity", "write `==`; `is` is for None, True and False")
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


def _operand(node: ast.Compare, item: ast.expr, operands: list[ast.expr], f: Function) -> ir.Code:
    """An operand of a comparison: a member of an enumeration of strings or integers compares as its value."""
    value = f.static(item) if isinstance(item, ast.Attribute | ast.Name) else MISSING
    if has_value(value):
        return f.constant(item, plain(value), ast.unparse(item))
    if f.kind(item) == "view":
        if any(f.kind(other) == "set" for other in operands if other is not item):
            return ir.Call("set", (f.raw(item),))
        raise f.cannot(item, "compares a view of a dict", "compare `set(...)` of the dict")
    return f.value(item)


def _members(item: ast.expr, f: Function) -> ir.Code | None:
    """A table of members of enumerations, behind `in`: of their values; None for any other."""
    match item:
        case ast.Tuple(elts=[*items]) | ast.List(elts=[*items]) | ast.Set(elts=[*items]) if items:
            found = [f.static(part) if isinstance(part, ast.Attribute) else MISSING for part in items]
            if not all(isinstance(part, enum.Enum) for part in found):
                return None
            table: Any = set(found) if isinstance(item, ast.Set) else tuple(found)
        case ast.Name() | ast.Attribute():
            table = f.static(item)
            if (numbered := choices.numbered(item, f)) is not None:
                return numbered
        case _:
            return None
    if type(table) not in (tuple, list, set, frozenset) or not any(isinstance(part, enum.Enum) for part in table):
        return None
    if not all(has_value(part) or is_scalar(part) for part in table):
        return None
    return f.constant(item, type(table)(plain(part) for part in table), ast.unparse(item))


def _connective(is_and: bool, values: list[ast.expr], f: Function) -> ir.Code:
    lowered = [f.raw(values[0])]
    known = set(f.assigned)
    lowered.extend(f.raw(value) for value in values[1:])
    f.assigned = known  # what the later operands bind, they may not have bound
    return ir.And(tuple(lowered)) if is_and else ir.Or(tuple(lowered))


def _conditional(test: ast.expr, then: ast.expr, otherwise: ast.expr, f: Function) -> ir.Code:
    condition, known = lower_test(test, f)
    before = set(f.assigned)
    f.assigned |= known
    first = f.raw(then)
    f.assigned = set(before)
    second = f.raw(otherwise)
    f.assigned = before
    return ir.IfElse(condition, first, second)


def lower_test(node: ast.expr, f: Function) -> tuple[ir.Code, set[str]]:
    """A condition, and the names that have a value when it is true."""
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


def _unary(node: ast.expr, operator: ir.UnaryOperator, operand: ast.expr, f: Function) -> ir.Code:
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
    """The value of arithmetic with integers that are written out; None for anything else, or a large result."""
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


def binary(node: ast.AST, op: ast.operator, left: tuple[ast.expr, ir.Code], right: ast.expr, f: Function) -> ir.Code:
    """`left op right`, of which the left one is lowered already."""
    if type(op) not in BINARY:
        instead = {ast.LShift: "write `x * 2**n`", ast.RShift: "write `x // 2**n`"}
        raise f.cannot(
            node,
            "uses an operator that has no lowered form",
            instead.get(type(op), "write arithmetic with + - * / // % **"),
        )
    kinds: tuple[Kind, Kind] = (f.kind(left[0]), f.kind(right))
    if "datetime" in kinds:
        raise f.cannot(
            node, "calculates with points in time", "compare `context.timestamp.timestamp()` with a number of seconds"
        )
    if isinstance(op, ast.Mod) and "num" not in kinds:
        if kinds[0] == "str":
            raise f.cannot(node, "formats text with `%`", "write an f-string")
        raise f.cannot(node, "applies `%` to something that may be a string", "write `int(...) % n`")
    if isinstance(op, ast.Mod) and kinds[0] in ("str", "bytes"):
        raise f.cannot(node, "formats text with `%`", "write an f-string")
    return ir.Binary(BINARY[type(op)], left[1], f.value(right))


def _are_keys(node: ast.expr, f: Function) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="keys"), args=[], keywords=[]):
            return f.kind(node) == "view"
        case _:
            return False


def _as_set(node: ast.expr, f: Function) -> ir.Code:
    return f.value(node) if f.kind(node) == "set" else ir.Call("set", (f.iterable(node),))


def _display(kind: Any, items: list[ast.expr], f: Function) -> ir.Code:  # Any: a literal
    if not any(isinstance(item, ast.Starred) for item in items):
        return ir.Display(kind, tuple(f.value(item) for item in items))
    made: ir.Code | None = None
    plain: list[ir.Code] = []
    operator: ir.BinaryOperator = "or" if kind == "set" else "add"
    part_kind: Any = "set" if kind == "set" else "list"  # Any: a literal

    def add(part: ir.Code) -> None:
        nonlocal made
        made = part if made is None else ir.Binary(operator, made, part)

    for item in items:
        if not isinstance(item, ast.Starred):
            plain.append(f.value(item))
            continue
        if plain:
            add(ir.Display(part_kind, tuple(plain)))
            plain = []
        part = f.iterable(item.value) if kind == "set" else f.ordered(item.value)
        add(ir.Call(part_kind, (part,)))
    if plain:
        add(ir.Display(part_kind, tuple(plain)))
    assert made is not None
    return ir.Call("tuple", (made,)) if kind == "tuple" else made


def bind(target: ast.Name, value: ast.expr, f: Function) -> ir.Code:
    """`(name := value)`; in a comprehension the name is the function's."""
    chosen = choices.choice(value, f) if target.id in f.once else None
    if chosen is not None:
        return ir.Bind(choose(target, chosen, f), choices.number(chosen, f))
    lowered = f.value(value)
    binding = f.local(target.id)
    if not isinstance(binding, Slot):
        raise f.cannot(target, f"gives `{target.id}` a second value", "use another name")
    f.assigned.add(target.id)  # until the end of the comprehension, when it stands in one
    return ir.Bind(binding.slot, lowered)


def choose(target: ast.Name, chosen: choices.Choice, f: Function) -> int:
    """The slot of a name for an item of a table."""
    slot = f.session.new_slot(target.id)
    f.bindings[target.id] = Chosen(slot, chosen.objects, chosen.or_none)
    f.assigned.add(target.id)
    return slot
